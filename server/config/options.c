/* SPDX-License-Identifier: MIT
 *
 * options.c - the table of options.
 */
#include "server/config/options.h"

#include <assert.h>
#include <string.h>

#include "server/observe/log.h"
#include "table/table.h"

#define SW_K (1ULL << 10)
#define SW_M (1ULL << 20)
#define SW_G (1ULL << 30)
#define SW_T (1ULL << 40)
#define SW_DAY_MS 86400000

static const struct sw_option_choice backends[] = {
    {"auto", SW_BACKEND_AUTO}, {"cpu", SW_BACKEND_CPU}, {"cuda", SW_BACKEND_CUDA}, {NULL, 0}};
static const struct sw_option_choice engines[] = {{"robin_hood", SW_ENGINE_ROBIN_HOOD},
                                                  {"cuckoo", SW_ENGINE_CUCKOO},
                                                  {"cache", SW_ENGINE_CACHE},
                                                  {NULL, 0}};
static const struct sw_option_choice functions[] = {{"2", 2}, {"3", 3}, {NULL, 0}};
static const struct sw_option_choice formats[] = {
    {"string", SW_VALUE_STRING}, {"fixed", SW_VALUE_FIXED}, {NULL, 0}};
static const struct sw_option_choice policies[] = {{"lru", SW_CACHE_LRU},
                                                   {"lfu", SW_CACHE_LFU},
                                                   {"epoch-lru", SW_CACHE_EPOCH_LRU},
                                                   {"epoch-lfu", SW_CACHE_EPOCH_LFU},
                                                   {"custom", SW_CACHE_CUSTOM},
                                                   {NULL, 0}};
static const struct sw_option_choice modes[] = {
    {"memory", SW_CACHE_MEMORY}, {"throughput", SW_CACHE_THROUGHPUT}, {NULL, 0}};
static const struct sw_option_choice levels[] = {
    {"error", SW_LOG_ERROR}, {"warning", SW_LOG_WARNING}, {"notice", SW_LOG_NOTICE},
    {"info", SW_LOG_INFO},   {"debug", SW_LOG_DEBUG},     {NULL, 0}};
static const struct sw_option_choice widths[] = {{"32", 32}, {"64", 64}, {NULL, 0}};

#define SW_FIELD(field) offsetof(struct sw_config, field), sizeof(((struct sw_config *)0)->field)
#define SW_WHOLE(section, name, type, field, min, max, standard, metavar, help)             \
    {                                                                                       \
        name, section, type, SW_FIELD(field), 0, 0, min, max, NULL, standard, metavar, help \
    }
#define SW_STRING(section, name, type, field, standard, metavar, help) \
    SW_WHOLE(section, name, type, field, 0, 0, standard, metavar, help)
#define SW_CHOICE(section, name, field, choices, standard, metavar, help)                         \
    {                                                                                             \
        name, section, SW_OPTION_CHOICE, SW_FIELD(field), 0, 0, 0, 0, choices, standard, metavar, \
            help                                                                                  \
    }

static const struct sw_option options[] = {
    SW_STRING("server", "bind", SW_OPTION_ADDRESS, bind, "127.0.0.1", "ADDRESS",
              "Address that RESP clients and bulk clients connect to, IPv4 or IPv6. Empty: no TCP "
              "port. There is no password: an address that others can reach lets them read and "
              "write everything."),
    SW_WHOLE("server", "port", SW_OPTION_NUMBER, port, 0, 65535, "7379", "PORT",
             "Port for RESP and bulk frames; the first byte tells them apart. 0: the kernel picks "
             "a free one, shown in the start line."),
    SW_STRING("server", "unix-socket", SW_OPTION_TEXT, unix_socket, "", "PATH",
              "Unix socket for RESP and bulk frames, at most 107 bytes. Empty: none."),
    SW_WHOLE("server", "unix-socket-mode", SW_OPTION_OCTAL, unix_socket_mode, 0, 0777, "0660",
             "MODE", "Permissions of the Unix socket, octal."),
    SW_WHOLE("server", "unix-buffer-bytes", SW_OPTION_SIZE, unix_buffer_bytes, 0, SW_G, "1M",
             "BYTES",
             "Send buffer of a connection to the Unix socket: larger ones let bulk answers "
             "leave in fewer pieces. The kernel takes no more than net.core.wmem_max. 0: the "
             "kernel's default."),
    SW_WHOLE("server", "tcp-buffer-bytes", SW_OPTION_SIZE, tcp_buffer_bytes, 0, SW_G, "0", "BYTES",
             "Send and receive buffer of a TCP connection, at most net.core.wmem_max and "
             "rmem_max. 0: the kernel sizes them as it goes."),
    SW_STRING("server", "http-bind", SW_OPTION_ADDRESS, http_bind, "127.0.0.1", "ADDRESS",
              "Address of /metrics, /healthz and /readyz. Empty: no HTTP."),
    SW_WHOLE("server", "http-port", SW_OPTION_NUMBER, http_port, 0, 65535, "9379", "PORT",
             "Port of the same. 0: the kernel picks a free one, shown in the start line."),
    SW_WHOLE("server", "loops", SW_OPTION_NUMBER, loops, 0, 256, "0", "N",
             "I/O threads. 0: half the cores, at least one."),
    SW_WHOLE("server", "busy-poll-us", SW_OPTION_NUMBER, busy_poll_us, 0, 1000000, "0", "US",
             "How long an I/O thread looks for events without sleeping after it had one. Saves "
             "the time it takes to wake, where cores are free; costs up to that much processor "
             "time an event. 0: it sleeps as soon as nothing is in flight."),
    SW_CHOICE("server", "log-level", log_level, levels, "info", "LEVEL",
              "Least urgent messages to log: error, warning, notice, info or debug."),

    SW_CHOICE("table", "backend", backend, backends, "auto", "KIND",
              "Where the table lives: cuda (GPU memory), cpu (host memory), or auto: cuda if this "
              "build has it and a device answers, otherwise cpu. Asking for cuda where there is "
              "none is an error."),
    SW_WHOLE("table", "device", SW_OPTION_NUMBER, device, 0, 255, "0", "N", "CUDA device ordinal."),
    SW_CHOICE(
        "table", "engine", engine, engines, "robin_hood", "NAME",
        "What holds the entries. robin_hood: the general one, which has every command. cuckoo: "
        "look-ups of at most three places; no SCAN, RANDOMKEY or RESIZE, and it does not grow. "
        "cache: byte strings as values, and never full: where there is no room the entry with "
        "the lowest score leaves; no INCR, DECR or RESIZE."),
    SW_CHOICE(
        "table", "key-bits", key_bits, widths, "64", "BITS",
        "Width of keys, and of values but with the cache engine, 32 or 64. A slot takes twice "
        "that."),
    SW_WHOLE("table", "capacity", SW_OPTION_SIZE, capacity, 1, SW_T, "16M", "SLOTS",
             "Slots of the table at start: 8 bytes each with 32-bit keys, 16 with 64-bit keys; of "
             "the cuckoo engine twice that, of the cache engine 18 bytes and a value. All of them "
             "are allocated then."),
    SW_WHOLE("table", "max-capacity", SW_OPTION_SIZE, max_capacity, 0, SW_T, "0", "SLOTS",
             "Slots that the table may grow to. A write that would pass max-load first moves the "
             "table to more slots, twice as many if that is allowed and enough. Old and new slots "
             "need memory at once; where growth fails, or at max-capacity, the write is refused, "
             "and growth is tried again by a later write, at most once a second. 0: no more than "
             "capacity."),
    {"max-load", "table", SW_OPTION_RATIO, SW_FIELD(max_load), 0.01, 1.0, 0, 0, NULL, "0.85",
     "RATIO",
     "Part of the slots that may be filled. A write that would pass it makes the table grow, or, "
     "where it may not or cannot, is refused as out of memory. What is refused changes no key, "
     "but may have made the table grow."},
    SW_WHOLE("table", "max-probe", SW_OPTION_NUMBER, max_probe, 0, 65535, "0", "BUCKETS",
             "How far from its home bucket an entry may lie. 0: derived from max-load and "
             "capacity."),
    SW_WHOLE("table", "seed", SW_OPTION_NUMBER, seed, 0, UINT64_MAX, "0", "N",
             "Seed of the mixing function. 0: random at every start, so that clients cannot choose "
             "keys that collide. Equal seeds give equal layouts."),
    SW_WHOLE("table", "threads", SW_OPTION_NUMBER, threads, 0, 1024, "0", "N",
             "Threads of the CPU backend for large batches. 0: one a core."),
    SW_WHOLE("table", "stash", SW_OPTION_SIZE, stash, 64, SW_G, "64K", "SLOTS",
             "Slots for entries that meet max-probe. They are looked up and counted as any other."),
    SW_CHOICE("table", "hash-functions", hash_functions, functions, "3", "N",
              "Cuckoo engine: places where a key may lie, 2 or 3. With 2 a look-up is faster, and "
              "max-load is at most 0.45; with 3 at most 0.88."),
    SW_WHOLE("table", "value-bytes", SW_OPTION_NUMBER, value_bytes, 0, 1024, "0", "BYTES",
             "Cache engine: what a value may hold, a multiple of 4 from 4 to 1024; strings at most "
             "1020, for their length takes 4 more. 0: 60, or 64 if fixed."),
    SW_CHOICE(
        "table", "value-format", value_format, formats, "string", "FORMAT",
        "Cache engine: string: values of up to value-bytes; in bulk frames each is its length, "
        "4 bytes, little-endian, then value-bytes. fixed: values of exactly value-bytes, in "
        "bulk frames as they are."),
    SW_CHOICE(
        "table", "policy", policy, policies, "lru", "POLICY",
        "Cache engine: what an entry's score is. lru: the time of its last use; lfu: the number "
        "of its uses; epoch-lru and epoch-lfu: the same within an epoch, and a run of the daemon "
        "is one. (custom needs scores from clients, which no protocol here has.)"),
    SW_CHOICE(
        "table", "cache-mode", cache_mode, modes, "memory", "MODE",
        "Cache engine: memory: a key may lie in two buckets, so that nothing leaves before the "
        "cache is nearly full; throughput: in one, which is faster."),

    SW_WHOLE("limits", "connections-max", SW_OPTION_NUMBER, connections_max, 1, 1000000, "10000",
             "N", "Connections open at once. One more is answered with an error and closed."),
    SW_WHOLE("limits", "arena-bytes", SW_OPTION_SIZE, arena_bytes, SW_M, SW_T, "256M", "BYTES",
             "I/O memory of each loop, for requests and answers in flight. A connection is paused "
             "while there is none left for it."),
    SW_WHOLE("limits", "round-ops-max", SW_OPTION_SIZE, round_ops_max, 0, 16 * SW_M, "0", "N",
             "RESP operations that a loop gathers for one batch. 0: 128K, or where values are "
             "large as many as fit 32 MiB."),
    SW_WHOLE("limits", "frame-ops-max", SW_OPTION_SIZE, frame_ops_max, 0, 16 * SW_M, "0", "N",
             "Keys in one bulk frame, 64 at least. 0: 1M, or as many as half of arena-bytes holds "
             "with their values and the answer."),
    SW_WHOLE("limits", "frames-in-flight-max", SW_OPTION_NUMBER, frames_in_flight_max, 1, 65536,
             "64", "N",
             "Bulk frames of a connection that are not yet answered. Above it the "
             "connection is paused."),
    SW_WHOLE("limits", "output-bytes-max", SW_OPTION_SIZE, output_bytes_max, 64 * SW_K, SW_T, "64M",
             "BYTES",
             "Unsent answers of a RESP connection at which it is closed; no less than an MGET of "
             "resp-arguments-max may answer. Answers to bulk frames stay in arena-bytes."),
    SW_WHOLE("limits", "output-bytes-pause", SW_OPTION_SIZE, output_bytes_pause, 4 * SW_K, SW_T,
             "1M", "BYTES",
             "Unsent answers of a connection above which its input is paused. A bulk "
             "connection is paused only if that is more than 4 frames, too."),
    SW_WHOLE("limits", "resp-arguments-max", SW_OPTION_SIZE, resp_arguments_max, 0, 16 * SW_M, "0",
             "N",
             "Arguments of a RESP command, its name included; at least 8. 0: 128K, or as many as "
             "round-ops-max and output-bytes-max allow."),
    SW_WHOLE("limits", "resp-request-bytes-max", SW_OPTION_SIZE, resp_request_bytes_max, 64 * SW_K,
             SW_G, "4M", "BYTES", "Bytes of a RESP command as it arrives."),
    SW_WHOLE("limits", "request-timeout-ms", SW_OPTION_NUMBER, request_timeout_ms, 0, SW_DAY_MS,
             "30000", "MS",
             "Time from a request's first byte to its last, after which the connection is closed. "
             "0: none."),
    SW_WHOLE("limits", "write-timeout-ms", SW_OPTION_NUMBER, write_timeout_ms, 0, SW_DAY_MS,
             "60000", "MS",
             "Time without the client taking a byte of its answers, after which the connection is "
             "closed. 0: none."),
    SW_WHOLE("limits", "idle-timeout-ms", SW_OPTION_NUMBER, idle_timeout_ms, 0, SW_DAY_MS, "0",
             "MS", "Time without a request, after which the connection is closed. 0: none."),
};
#define SW_OPTION_COUNT (sizeof options / sizeof options[0])

static const char *const sections[] = {"server", "table", "limits"};
#define SW_SECTION_COUNT (sizeof sections / sizeof sections[0])

size_t sw_option_count(void)
{
    return SW_OPTION_COUNT;
}

const struct sw_option *sw_option_at(size_t index)
{
    return index < SW_OPTION_COUNT ? &options[index] : NULL;
}

const struct sw_option *sw_option_find(const char *name)
{
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* Insertions, deletions and replacements that turn `a` into `b`; only the first 63 bytes count. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t a_size = strnlen(a, 63), b_size = strnlen(b, 63);
    size_t row[64];
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_size];
}

const struct sw_option *sw_option_nearest(const char *name)
{
    const struct sw_option *nearest = &options[0];
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        size_t distance = edit_distance(name, options[i].name);
        if (distance < least) {
            least = distance;
            nearest = &options[i];
        }
    }
    return nearest;
}

const char *sw_section_nearest(const char *name)
{
    const char *nearest = sections[0];
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < SW_SECTION_COUNT; i++) {
        size_t distance = edit_distance(name, sections[i]);
        if (distance < least) {
            least = distance;
            nearest = sections[i];
        }
    }
    return nearest;
}

bool sw_section_known(const char *name)
{
    for (size_t i = 0; i < SW_SECTION_COUNT; i++) {
        if (strcmp(name, sections[i]) == 0) {
            return true;
        }
    }
    return false;
}
