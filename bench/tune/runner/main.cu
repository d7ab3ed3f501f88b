/* SPDX-License-Identifier: MIT
 *
 * main.cu - runner: loads a variant of a CUDA kernel, and answers the search's questions about it.
 */
#include <dlfcn.h>

#include "bench/tune/runner/stand.cuh"

#define SLOTS_DEFAULT (1ULL << 27)
#define SLOTS_MIN (1ULL << 20)
#define SLOTS_MAX (1ULL << 28)

struct options {
    const char *variant;
    uint64_t slots;
    int device;
};

static int fail(const char *kind, const char *text)
{
    printf("%s %s\n", kind, text);
    return EXIT_FAILURE;
}

static void print_help(const char *program)
{
    printf("usage: %s VARIANT.so [--slots N] [--device N]\n"
           "\n"
           "Runs a variant that bench/tune/search has built, and answers its questions on stdin:\n"
           "bench/tune/README.md. --slots: of the table, 2^20..2^28 (2^27). --device: CUDA device\n"
           "(0). Exit status: 0; 1 if the variant cannot be run: the last line says why.\n",
           program);
}

/* A number, or 2^N. */
static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char point[64];
    double number = 0;
    snprintf(point, sizeof(point), "N=%s", text);
    if (!sw_serve_number(point, "N", &number) || number < (double)min || number > (double)max) {
        return false;
    }
    *out = (uint64_t)number;
    return true;
}

static bool parse(struct options *options, int argc, char **argv, char why[SW_SERVE_TEXT_MAX])
{
    for (int i = 1; i < argc; i++) {
        uint64_t number = 0;
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--slots") == 0 && has_value &&
            parse_number(argv[i + 1], SLOTS_MIN, SLOTS_MAX, &number)) {
            options->slots = number;
            i++;
        } else if (strcmp(argv[i], "--device") == 0 && has_value &&
                   parse_number(argv[i + 1], 0, 1023, &number)) {
            options->device = (int)number;
            i++;
        } else if (argv[i][0] != '-' && options->variant == NULL) {
            options->variant = argv[i];
        } else {
            snprintf(why, SW_SERVE_TEXT_MAX, "the runner cannot take the argument %s", argv[i]);
            return false;
        }
    }
    if (options->variant == NULL) {
        snprintf(why, SW_SERVE_TEXT_MAX, "the runner needs a variant; see --help");
    }
    return options->variant != NULL;
}

/* NULL with a sentence if it cannot be loaded, or is of other sources than this program. */
static const struct sw_tune_cuda_variant *load(const char *path, char why[SW_SERVE_TEXT_MAX])
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct sw_tune_cuda_variant *variant =
        object == NULL ? NULL
                       : (const struct sw_tune_cuda_variant *)dlsym(object, "sw_tune_variant");
    if (variant == NULL) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s", dlerror());
        return NULL;
    }
    if (variant->layout != SW_TUNE_LAYOUT ||
        (variant->slot_bits != 64 && variant->slot_bits != 128)) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s and the runner are of different sources: build both",
                 path);
        return NULL;
    }
    return variant;
}

/* The device's name and architecture. */
static bool describe(int device, char arch[32], char name[SW_SERVE_TEXT_MAX],
                     char why[SW_SERVE_TEXT_MAX])
{
    struct cudaDeviceProp properties;
    cudaError_t error = cudaSetDevice(device);
    if (error == cudaSuccess) {
        error = cudaGetDeviceProperties(&properties, device);
    }
    if (error != cudaSuccess) {
        snprintf(why, SW_SERVE_TEXT_MAX,
                 "no GPU to run variants on: CUDA device %d does not answer (%s); build with "
                 "--build-only here and run with --no-build where there is one",
                 device, cudaGetErrorString(error));
        return false;
    }
    snprintf(arch, 32, "sm_%d%d", properties.major, properties.minor);
    snprintf(name, SW_SERVE_TEXT_MAX, "%.200s", properties.name);
    return true;
}

template <int BITS>
static int run(const struct sw_tune_cuda_variant *variant, const struct options *options,
               const char *arch, const char *name)
{
    static struct sw_tune_stand<BITS> stand;
    char why[SW_SERVE_TEXT_MAX] = "";
    if (!sw_tune_stand_open<BITS>(&stand, variant, options->slots, options->device, why)) {
        return fail("error", why);
    }
    struct sw_serve serve = {};
    serve.arch = arch;
    serve.device = name;
    serve.context = &stand;
    serve.setup = sw_tune_setup<BITS>;
    serve.check = sw_tune_check<BITS>;
    serve.time = sw_tune_time<BITS>;
    return sw_serve(&serve); /* the process ends now: its memory is given back with it */
}

int main(int argc, char **argv)
{
    struct options options = {NULL, SLOTS_DEFAULT, 0};
    char why[SW_SERVE_TEXT_MAX] = "";
    char arch[32];
    char name[SW_SERVE_TEXT_MAX];
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_help(argv[0]);
        return EXIT_SUCCESS;
    }
    if (!parse(&options, argc, argv, why)) {
        return fail("error", why);
    }
    const struct sw_tune_cuda_variant *variant = load(options.variant, why);
    if (variant == NULL) {
        return fail("error", why);
    }
    if (!describe(options.device, arch, name, why)) {
        return fail("no-device", why);
    }
    return variant->slot_bits == 64 ? run<64>(variant, &options, arch, name)
                                    : run<128>(variant, &options, arch, name);
}
