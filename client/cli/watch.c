/* SPDX-License-Identifier: MIT
 *
 * watch.c - stat, latency and top: show a running server repeatedly, by STATS and PING.
 *
 * top draws with plain ANSI sequences: a full screen of lines needs no library, and one write a
 * second is little enough for a slow ssh. top draws on the terminal's alternate screen, and reads
 * the size of the terminal before every frame. It restores the terminal after q, Ctrl-C and
 * SIGTERM.
 */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/numbers.h"
#include "proto/plural.h"

#define SECOND_MS 1000
#define FIRST_S 0.25 /* from the first sample of top to its first frame */
#define HEADING_LINES 20
#define PING_PAUSE_MS 10
#define FIGURES_MAX 512
#define NAME_BYTES 64

/* The figures at one moment. */
struct sample {
    struct sherwood_stats stats;
    uint32_t count;
    char names[FIGURES_MAX][NAME_BYTES];
    uint64_t values[FIGURES_MAX];
    double at_s;
};

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
    (void)number;
    is_over = 1;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Requests the figures. Returns false with the reason printed. */
static bool take_sample(struct sw_cli *cli, struct sample *out)
{
    const char *name = NULL;
    if (sherwood_stats(cli->client, &out->stats, sizeof(out->stats)) != SHERWOOD_OK) {
        return sw_cli_library_error(cli);
    }
    out->at_s = now_s();
    for (out->count = 0; out->count < FIGURES_MAX &&
                         sherwood_figure(cli->client, out->count, &name, &out->values[out->count]);
         out->count++) {
        snprintf(out->names[out->count], NAME_BYTES, "%s", name);
    }
    return true;
}

/* Returns whether the server has sent that figure. */
static bool find(const struct sample *sample, const char *name, uint64_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < sample->count; i++) {
        if (strcmp(sample->names[i], name) == 0) {
            *value = sample->values[i];
            return true;
        }
    }
    return false;
}

static uint64_t figure(const struct sample *sample, const char *name)
{
    uint64_t value;
    (void)find(sample, name, &value);
    return value;
}

/* Returns the growth of a counter per second. */
static double rate(const struct sample *before, const struct sample *now, const char *name)
{
    double seconds = now->at_s - before->at_s;
    return seconds <= 0 ? 0 : (double)(figure(now, name) - figure(before, name)) / seconds;
}

static uint64_t operations(const struct sample *sample)
{
    const struct sherwood_stats *stats = &sample->stats;
    return stats->get.operations + stats->upsert.operations + stats->remove.operations;
}

static double operation_rate(const struct sample *before, const struct sample *now)
{
    double seconds = now->at_s - before->at_s;
    return seconds <= 0 ? 0 : (double)(operations(now) - operations(before)) / seconds;
}

/* Writes a number with a suffix: 12.3M. Returns `text`. */
static const char *brief(double number, char text[16])
{
    static const char suffixes[] = " KMGTPE";
    unsigned at = 0;
    while (number >= 9999.5 && at + 2 < sizeof(suffixes)) {
        number /= 1000;
        at++;
    }
    snprintf(text, 16, at == 0 ? "%.0f" : "%.1f%c", number, suffixes[at]);
    return text;
}

static double load_of(const struct sample *sample)
{
    return sample->stats.capacity_slots == 0
               ? 0
               : 100.0 * (double)sample->stats.occupied / (double)sample->stats.capacity_slots;
}

/* Returns whether the key ends the tool: q, Q and ^D do. */
static bool leaves(char key)
{
    return key == 'q' || key == 'Q' || key == 4;
}

/* Sleeps until a time or a signal. With `reads_keys` also until a key that ends the tool, or the
 * end of input: then it returns true. Other keys do not shorten the pause: rates of an interval of
 * a few microseconds have no meaning. */
static bool pause_until(double until_s, bool reads_keys)
{
    struct pollfd input = {.fd = reads_keys ? STDIN_FILENO : -1, .events = POLLIN};
    for (;;) {
        const double left_s = until_s - now_s();
        char key = 0;
        if (left_s <= 0 || is_over != 0) {
            return false;
        }
        const int ready = poll(&input, 1, (int)(left_s * SECOND_MS) + 1);
        if (ready > 0 && (read(STDIN_FILENO, &key, 1) <= 0 || leaves(key))) {
            return true;
        }
    }
}

static void pause_ms(int milliseconds)
{
    (void)pause_until(now_s() + 1e-3 * milliseconds, false);
}

static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal; /* without SA_RESTART, so that a signal ends a pause */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* --- stat ------------------------------------------------------------------------------------- */

static int run_stat(struct sw_cli *cli, uint64_t lines)
{
    static struct sample samples[2];
    char text[5][16];
    if (!take_sample(cli, &samples[0])) {
        return 1;
    }
    for (uint64_t i = 0; (lines == 0 || i < lines) && is_over == 0; i++) {
        const struct sample *before = &samples[i % 2];
        struct sample *now = &samples[(i + 1) % 2];
        pause_ms(SECOND_MS);
        if (is_over != 0) {
            break;
        }
        if (!take_sample(cli, now)) {
            return 1;
        }
        if (i % HEADING_LINES == 0) {
            fprintf(cli->out, "%10s %6s %10s %10s %10s %10s %8s\n", "keys", "load", "ops/s",
                    "batches/s", "in B/s", "out B/s", "clients");
        }
        fprintf(cli->out, "%10s %5.1f%% %10s %10s %10s %10s %8" PRIu64 "\n",
                brief((double)now->stats.occupied, text[0]), load_of(now),
                brief(operation_rate(before, now), text[1]),
                brief(rate(before, now, "batches"), text[2]),
                brief(rate(before, now, "net_input_bytes"), text[3]),
                brief(rate(before, now, "net_output_bytes"), text[4]),
                figure(now, "connected_clients"));
        fflush(cli->out);
    }
    return 0;
}

/* --- latency ---------------------------------------------------------------------------------- */

/* Prints a line every `seconds` seconds with the round-trip times of PINGs. With `is_history` each
 * line begins with the time. */
static int run_latency(struct sw_cli *cli, uint64_t lines, uint64_t seconds, bool is_history)
{
    for (uint64_t i = 0; (lines == 0 || i < lines) && is_over == 0; i++) {
        double until = now_s() + (double)seconds, least = 1e9, most = 0, sum = 0;
        uint64_t count = 0;
        while (is_over == 0 && (now_s() < until || count == 0)) {
            double began = now_s();
            if (sherwood_ping(cli->client) != SHERWOOD_OK) {
                return sw_cli_library_error(cli) ? 0 : 1;
            }
            double took = 1e3 * (now_s() - began);
            least = took < least ? took : least;
            most = took > most ? took : most;
            sum += took;
            count++;
            pause_ms(PING_PAUSE_MS);
        }
        if (count > 0 && is_history) {
            char text[32];
            time_t wall = time(NULL);
            struct tm local;
            strftime(text, sizeof(text), "%F %T", localtime_r(&wall, &local));
            fprintf(cli->out, "%s  ", text);
        }
        if (count > 0) {
            fprintf(cli->out, "min %.3f ms, max %.3f ms, avg %.3f ms (%" PRIu64 " sample%s)\n",
                    least, most, sum / (double)count, count, sw_plural_s(count));
            fflush(cli->out);
        }
    }
    return 0;
}

/* --- top -------------------------------------------------------------------------------------- */

/* A frame as text, at most `rows` lines of `columns` bytes. */
struct frame {
    FILE *out;
    unsigned rows, columns, used;
    const char *end; /* of a line */
};

__attribute__((format(printf, 2, 3))) static void line(struct frame *frame, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (frame->used == frame->rows) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(frame->out, "%s%.*s%s", frame->used > 0 ? "\n" : "", (int)frame->columns, text,
            frame->end);
    frame->used++;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static void draw_class(struct frame *frame, const char *name,
                       const struct sherwood_operation_stats *before,
                       const struct sherwood_operation_stats *now, double seconds)
{
    char text[16];
    uint64_t count = now->operations - before->operations;
    line(frame, "  %-8s %10s/s   hits %5.1f %%   probes/op %.2f", name,
         brief(seconds <= 0 ? 0 : (double)count / seconds, text),
         100 * ratio(now->hits - before->hits, count), ratio(now->probes - before->probes, count));
}

/* Draws the figures of the server's GPU; draws nothing without a GPU. */
static void draw_gpu(struct frame *frame, const struct sherwood_server *server,
                     const struct sample *now)
{
    char memory[64] = "", busy[64] = "";
    uint64_t used, total, percent;
    bool has_memory =
        find(now, "gpu_memory_used_bytes", &used) && find(now, "gpu_memory_total_bytes", &total);
    bool has_busy = find(now, "gpu_busy_percent", &percent);
    if (has_memory) {
        snprintf(memory, sizeof(memory), "%.1f of %.1f GiB in use", (double)used / (1 << 30),
                 (double)total / (1 << 30));
    }
    if (has_busy) {
        snprintf(busy, sizeof(busy), "%" PRIu64 " %% busy", percent);
    }
    if (has_memory || has_busy) {
        line(frame, "GPU      %s%s%s", memory, has_memory && has_busy ? ", " : "", busy);
    } else if (strcmp(server->backend, "cuda") == 0) {
        line(frame, "GPU      no figures, because NVML does not reply: see the server's log");
    }
}

static void draw(struct frame *frame, const struct sw_cli *cli, const struct sample *before,
                 const struct sample *now)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    const struct sherwood_stats *stats = &now->stats;
    const double seconds = now->at_s - before->at_s;
    char text[4][16];
    line(frame, "sherwood %s at %s: %s engine, %s; up %" PRIu64 " s", server->version,
         cli->options->address, server->engine, server->backend, stats->uptime_seconds);
    line(frame,
         "table    %s keys, %s slots, load %.1f %%, %.1f MiB; grew %" PRIu64 ", refused %" PRIu64,
         brief((double)stats->occupied, text[0]), brief((double)stats->capacity_slots, text[1]),
         load_of(now), (double)stats->table_bytes / (1 << 20), stats->growths, stats->refused);
    draw_gpu(frame, server, now);
    line(frame, "batches  %s/s of %.1f operations; %s commands/s, %s frames/s",
         brief(rate(before, now, "batches"), text[0]),
         ratio(figure(now, "batch_operations") - figure(before, "batch_operations"),
               figure(now, "batches") - figure(before, "batches")),
         brief(rate(before, now, "commands_processed"), text[1]),
         brief(seconds > 0 ? fmax(rate(before, now, "frames_processed") - 1 / seconds, 0) : 0,
               text[2])); /* minus the frame of this STATS */
    line(frame, "clients  %" PRIu64 " connected, %" PRIu64 " paused; %s B/s in, %s B/s out",
         figure(now, "connected_clients"), figure(now, "paused_clients"),
         brief(rate(before, now, "net_input_bytes"), text[0]),
         brief(rate(before, now, "net_output_bytes"), text[1]));
    line(frame, "operations");
    draw_class(frame, "get", &before->stats.get, &stats->get, seconds);
    draw_class(frame, "upsert", &before->stats.upsert, &stats->upsert, seconds);
    draw_class(frame, "remove", &before->stats.remove, &stats->remove, seconds);
    line(frame, "changing counters, per second");
    for (uint32_t i = 0; i < now->count; i++) {
        double moved = rate(before, now, now->names[i]);
        if (moved > 0 && strncmp(now->names[i], "uptime_", 7) != 0 && moved < 1e18) {
            line(frame, "  %-32s %10s", now->names[i], brief(moved, text[0]));
        }
    }
}

static int run_top(struct sw_cli *cli, bool once)
{
    static struct sample samples[2];
    struct termios saved, plain;
    struct winsize size = {.ws_row = 0};
    bool is_terminal = !once && isatty(STDOUT_FILENO) == 1 && tcgetattr(STDIN_FILENO, &saved) == 0;
    int status = 0;
    if (!once && !is_terminal) {
        fprintf(cli->messages,
                "sherwood-cli: top needs a terminal: use top --once to print one frame\n");
        return 2;
    }
    if (!take_sample(cli, &samples[0])) {
        return 1;
    }
    if (is_terminal) {
        plain = saved;
        plain.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &plain);
        fprintf(cli->out, "\033[?1049h\033[?25l");
    }
    for (unsigned i = 0; is_over == 0; i++) {
        const double until_s = samples[i % 2].at_s + (i == 0 ? FIRST_S : 1.0);
        if (pause_until(until_s, is_terminal) || is_over != 0) {
            break;
        }
        if (!take_sample(cli, &samples[(i + 1) % 2])) {
            status = 1;
            break;
        }
        struct frame frame = {cli->out, once ? UINT32_MAX : 24, 200, 0,
                              is_terminal ? "\033[K" : ""};
        if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
            frame.rows = size.ws_row;
            frame.columns = size.ws_col;
        }
        fprintf(cli->out, "%s", is_terminal ? "\033[H" : "");
        draw(&frame, cli, &samples[i % 2], &samples[(i + 1) % 2]);
        fprintf(cli->out, "%s", is_terminal ? "\033[J" : "\n");
        fflush(cli->out);
        if (once) {
            break;
        }
    }
    if (is_terminal) {
        fprintf(cli->out, "\033[?25h\033[?1049l");
        fflush(cli->out);
        tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    }
    return status;
}

/* --- which ------------------------------------------------------------------------------------ */

struct watched {
    uint64_t lines;   /* 0: without a limit */
    uint64_t seconds; /* between two lines */
    bool is_history;
    bool once;
};

bool sw_cli_watches(const char *word)
{
    return strcasecmp(word, "stat") == 0 || strcasecmp(word, "latency") == 0 ||
           strcasecmp(word, "top") == 0;
}

/* Reads the words after the name. Returns false with a sentence printed. */
static bool read_words(struct sw_cli *cli, int count, char **words, struct watched *watched)
{
    bool top = strcasecmp(words[0], "top") == 0;
    int at = 1;
    *watched = (struct watched){.seconds = 1};
    if (top && count == 2 && strcmp(words[1], "--once") == 0) {
        watched->once = true;
        return true;
    }
    if (strcasecmp(words[0], "latency") == 0 && count > 2 && strcmp(words[1], "--history") == 0) {
        watched->is_history = true;
        if (!sw_cli_number(cli, "SECONDS", words[2], UINT32_MAX, &watched->seconds)) {
            return false;
        }
        at = 3;
    }
    if (count > at + 1 || (top && count > at) || watched->seconds == 0) {
        fprintf(cli->messages, "usage: sherwood-cli [options] %s\n",
                top                                    ? "top [--once]"
                : strcasecmp(words[0], "latency") == 0 ? "latency [--history SECONDS] [LINES]"
                                                       : "stat [LINES]");
        return false;
    }
    return count == at || sw_cli_number(cli, "LINES", words[at], UINT32_MAX, &watched->lines);
}

int sw_cli_watch(struct sw_cli *cli, int count, char **words)
{
    struct watched watched;
    if (!read_words(cli, count, words, &watched)) {
        return 2;
    }
    if (!sw_cli_connect(cli)) {
        return 1;
    }
    catch_signals();
    if (strcasecmp(words[0], "top") == 0) {
        return run_top(cli, watched.once);
    }
    return strcasecmp(words[0], "stat") == 0
               ? run_stat(cli, watched.lines)
               : run_latency(cli, watched.lines, watched.seconds, watched.is_history);
}
