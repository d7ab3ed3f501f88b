/* SPDX-License-Identifier: MIT
 *
 * attach_clients.cuh - for test_attach_gpu.cu: clients in processes of their own, which wait, work
 * and are killed.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_CLIENTS_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_CLIENTS_CUH

#include "tests/gpu/attach.cuh"

namespace
{

/* Looks keys up for `milliseconds`, or until it is killed. Prints the number of batches. */
int be_client(const char *where, const char *way, int milliseconds, int device)
{
    address = where;
    struct sherwood_cuda *cuda = attach(device);
    struct arrays<uint32_t> a;
    const size_t count = 1U << 20;
    cudaStream_t stream;
    open_arrays(&a, count);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    fill<uint32_t><<<64, 256>>>(a.keys, a.values, count, 40, 1, 0);
    good(cudaDeviceSynchronize(), "filling");
    unsigned long batches = 0;
    same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, count, a.answers, a.found), 0);
    printf("ready\n");
    fflush(stdout);
    char go;
    if (read(0, &go, 1) != 1) {
        return 1;
    }
    const double end = now_us() + milliseconds * 1e3;
    while (milliseconds < 0 || now_us() < end) {
        if (strcmp(way, "ordered") == 0) {
            same("SET", sherwood_cuda_set(cuda, a.keys, a.values, count, stream), 0);
            same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
        } else {
            enum sherwood_operation operation =
                strcmp(way, "set") == 0 ? SHERWOOD_SET : SHERWOOD_GET;
            same("a call",
                 sherwood_cuda_run(cuda, operation, a.keys, a.values, count, NULL, a.found), 0);
        }
        batches++;
    }
    (void)!sherwood_cuda_check(cuda, true);
    printf("%lu\n", batches);
    fflush(stdout);
    sherwood_cuda_close(cuda);
    return 0;
}

struct child {
    pid_t process;
    int to;
    FILE *from;
};

struct child start_client(const char *way, int milliseconds, int device = -1)
{
    struct child child;
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) {
        stop_all(1);
    }
    const std::string time = std::to_string(milliseconds), number = std::to_string(device);
    child.process = fork();
    if (child.process == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", self, "--client", address.c_str(), way, time.c_str(),
              number.c_str(), (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    child.to = to[1];
    child.from = fdopen(from[0], "r");
    return child;
}

void wait_ready(struct child *child)
{
    char line[256] = "";
    expect(fgets(line, sizeof(line), child->from) != NULL && strcmp(line, "ready\n") == 0, line, 0,
           1);
}

void go(struct child *child)
{
    same("a start", write(child->to, "g", 1), 1);
}

unsigned long end_client(struct child *child)
{
    char line[256] = "0";
    (void)!fgets(line, sizeof(line), child->from);
    close(child->to);
    fclose(child->from);
    waitpid(child->process, NULL, 0);
    return strtoul(line, NULL, 10);
}

/* Kills `at_once` clients of the handle's device in each round, while the daemon's kernels use
 * their memory. */
void clients_that_die(struct sherwood_cuda *cuda, size_t at_once)
{
    static const char *const ways[] = {"get", "set", "ordered", "set", "ordered", "get"};
    for (const char *way : ways) {
        std::vector<struct child> children(at_once);
        for (struct child &child : children) {
            child = start_client(way, -1, sherwood_cuda_device(cuda));
        }
        for (struct child &child : children) {
            wait_ready(&child);
        }
        for (struct child &child : children) {
            go(&child);
        }
        for (struct child &child : children) {
            usleep(30000 + rand() % 60000);
            kill(child.process, SIGKILL);
            end_client(&child);
            answers<uint32_t>(cuda, 5000, 50);
        }
    }
    const double begin = now_us();
    while (figure("rings") > 2 && now_us() - begin < 10e6) {
        usleep(10000);
    }
    expect(figure("rings") <= 2, "rings of the dead", (long long)figure("rings"), 2);
    printf("     %zu clients\n", at_once * (sizeof(ways) / sizeof(ways[0])));
    ok("clients that are killed");
}

} // namespace

#endif
