/* SPDX-License-Identifier: MIT
 *
 * test_options.c - the command line of sherwood-load.
 */
#include "bench/load/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 32

/* Parses "a b c" as arguments. The words must outlive `options`, so they are the caller's. */
static int parse(char *line, struct sw_load_options *options, char *text, size_t text_bytes)
{
    char *words[WORDS_MAX] = {"sherwood-load"};
    int count = 1;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        cr_assert_lt(count, WORDS_MAX);
        words[count++] = word;
    }
    return sw_load_options_parse(count, words, options, text, text_bytes);
}

Test(options, defaults)
{
    struct sw_load_options options;
    char line[] = "", text[256] = "";
    cr_assert_eq(parse(line, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.action, SW_LOAD_ACTION_RUN);
    cr_assert_str_eq(options.address, "127.0.0.1:7379");
    cr_assert_eq(options.protocol, SW_LOAD_BULK);
    cr_assert_eq(options.operation, SW_LOAD_SET_GET);
    cr_assert_eq(options.keys, 10000000);
    cr_assert_eq(options.frame, 65536);
    cr_assert_float_eq(options.seconds, 0, 0);
    cr_assert_eq(options.rate, 0);
    cr_assert_eq(options.distribution, SW_LOAD_UNIFORM);
    cr_assert_float_eq(options.hit_ratio, 1, 0);
    cr_assert_not(options.no_verify);
    cr_assert_not(options.no_found);
    cr_assert_gt(options.connections, 0);
    cr_assert_gt(options.depth, 0);
    cr_assert(options.threads >= 1 && options.threads <= options.connections);
}

Test(options, everything_given)
{
    struct sw_load_options options;
    char line[] = "-a unix:/tmp/x --protocol resp -o mget --mget 7 -n 3M -c 9 -t 20 -d 5 --seed 11 "
                  "--ttl 0.25",
         text[256] = "";
    cr_assert_eq(parse(line, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_str_eq(options.address, "unix:/tmp/x");
    cr_assert_eq(options.protocol, SW_LOAD_RESP);
    cr_assert_eq(options.operation, SW_LOAD_MGET);
    cr_assert_eq(options.mget, 7);
    cr_assert_eq(options.keys, 3000000);
    cr_assert_eq(options.connections, 9);
    cr_assert_eq(options.threads, 9, "no more threads than connections");
    cr_assert_eq(options.depth, 5);
    cr_assert_eq(options.seed, 11);
    cr_assert_eq(sw_load_ttl_ms(&options), 250);
    cr_assert_eq(options.key_bits, 64);
}

Test(options, mixes_and_rates)
{
    struct sw_load_options options;
    char text[256] = "";
    char preset[] = "--ycsb d --theta 0.5 --seconds 3 --hit-ratio 0.25";
    cr_assert_eq(parse(preset, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.operation, SW_LOAD_MIX);
    cr_assert_eq(options.distribution, SW_LOAD_LATEST);
    cr_assert_eq(options.mix.weights[SW_LOAD_MIX_INSERT], 5);
    cr_assert_float_eq(options.theta, 0.5, 0);
    cr_assert_float_eq(options.hit_ratio, 0.25, 0);
    /* A distribution that is given goes before that of the preset, wherever it stands. */
    char after[] = "--ycsb a --distribution uniform", before[] = "--distribution uniform --ycsb a";
    cr_assert_eq(parse(after, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.distribution, SW_LOAD_UNIFORM);
    cr_assert_eq(parse(before, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.distribution, SW_LOAD_UNIFORM);
    /* By bulk frames a rate keeps more frames in flight, and threads share connections. */
    char bulk[] = "-o get --rate 10M -c 7", resp[] = "--protocol resp -o get --rate 10k -d 1 -c 7";
    cr_assert_eq(parse(bulk, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.rate, 10000000);
    cr_assert(options.threads >= 1 && options.threads <= 7);
    cr_assert_eq(options.depth, 4);
    cr_assert_eq(parse(resp, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.rate, 10000);
}

Test(options, costs_and_surroundings)
{
    struct sw_load_options options;
    char text[256] = "";
    char line[] = "-o get --seconds 1 --frames-prefilled 3 --splice never --socket-buffer 1Mi "
                  "--idle-connections 10k --series /tmp/x";
    cr_assert_eq(parse(line, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.frames_prefilled, 3);
    cr_assert(options.no_verify, "prefilled frames are not verified");
    cr_assert_eq(options.splice, SW_LOAD_SPLICE_NEVER);
    cr_assert_eq(options.socket_buffer, 1U << 20);
    cr_assert_eq(options.idle_connections, 10000);
    cr_assert_str_eq(options.series, "/tmp/x");
    char all[] = "-o set-delete --frames-prefilled all --first 1M --seconds 0.25";
    cr_assert_eq(parse(all, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_eq(options.frames_prefilled, SW_LOAD_PREFILLED_ALL);
    cr_assert_eq(options.operation, SW_LOAD_SET_DELETE);
    cr_assert_eq(options.first, 1000000);
    cr_assert_float_eq(options.seconds, 0.25, 0);
    cr_assert(options.no_verify);
    char mix[] = "--mix get=1,delete=1 --frames-prefilled 9 --seconds 1 --frame-min 1 -f 5000 "
                 "--want-previous --value-bytes 60";
    cr_assert_eq(parse(mix, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert(options.frame_min == 1 && options.want_previous && options.value_bytes == 60);
    char bare[] = "-o set --no-found";
    cr_assert_eq(parse(bare, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert(options.no_found && !options.no_verify);
    char many[] = "-c 4096";
    cr_assert_eq(parse(many, &options, text, sizeof(text)), 0, "%s", text);
    cr_assert_geq(options.threads, 16, "enough threads for the connections");
}

struct refusal {
    const char *line, *says;
};

/* Each line is refused with these words. */
static void refuses(const struct refusal *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sw_load_options options;
        char line[128], text[256] = "";
        snprintf(line, sizeof(line), "%s", samples[i].line);
        cr_assert_eq(parse(line, &options, text, sizeof(text)), -1, "'%s' passed", samples[i].line);
        cr_assert(strstr(text, samples[i].says), "'%s': %s", samples[i].line, text);
    }
}

Test(options, what_is_wrong_is_said)
{
    static const struct refusal samples[] = {
        {"-n 0", "--keys 0: a number from 1"},
        {"-n ten", "--keys ten: a number"},
        {"-f 16777217", "--frame 16777217"},
        {"-c 4097", "--connections 4097"},
        {"--threads -1", "--threads -1"},
        {"-o put", "--operation put is not known"},
        {"--protocol http", "--protocol http is not known"},
        {"-o mget", "needs --protocol resp"},
        {"-d 1025", "--depth of bulk frames"},
        {"--key-bits 32", "--key-bits needs --protocol resp"},
        {"--protocol resp --key-bits 33", "32 or 64"},
        {"--protocol resp --key-bits 32 -n 4294967297", "2^32 keys"},
        {"--value-of 4294967296 --key-bits 32", "more than 32 bits"},
        {"--nonsense", "unknown option"},
        {"--port 7379",
         "--port: unknown option, or one without its argument; use -a HOST:PORT for the server"},
        {"--pass=s3cret", "--pass: unknown option"}, /* no abbreviation of --pass-file */
        {"--seed", "without its argument"},
        {"something", "no arguments besides options"},
        {"--distribution zipfian --seconds 1", "--distribution zipfian is not known"},
        {"--distribution zipf", "needs --seconds"},
        {"--theta 0.5 --seconds 1", "--theta needs"},
        {"--theta 0 --ycsb a", "--theta 0: a number from 0.01 to 10"},
        {"--theta nan --ycsb a", "--theta nan: a number"},
        {"--mix get=1,put=1", "--mix get=1,put=1: write NAME=WEIGHT"},
        {"--ycsb e", "--ycsb e: use a, b, c, d or f"},
        {"--ycsb a --mix get=1", "use only one of --mix and --ycsb"},
        {"--ycsb a -o get", "replace --operation"},
        {"-o mix", "--operation mix is not known"},
        {"--hit-ratio 0.5", "--hit-ratio needs a --mix with gets"},
        {"--mix set=1 --hit-ratio 0.5", "--hit-ratio needs a --mix with gets"},
        {"--mix get=1 --hit-ratio 1.5", "--hit-ratio 1.5: a number from 0 to 1"},
        {"--rate 0", "--rate 0: a number from 1"},
        {"-c 300 -t 1", "a thread has at most 256 connections"},
        {"--frames-prefilled 4", "--frames-prefilled N needs a phase"},
        {"--frames-prefilled 4 --seconds 1 --ycsb d", "no inserts and no misses"},
        {"--frames-prefilled 4 --seconds 1 --mix get=1 --hit-ratio 0.5",
         "no inserts and no misses"},
        {"--frames-prefilled all --seconds 1", "--frames-prefilled all needs"},
        {"--frames-prefilled all --mix set=1", "--frames-prefilled all needs"},
        {"--frames-prefilled 4 --seconds 1 -o set-delete", "otherwise use --frames-prefilled all"},
        {"-o delete --seconds 1", "deletes every key once"},
        {"-o set-delete --rate 10", "is in closed loop"},
        {"-o delete --protocol resp", "need bulk frames"},
        {"--protocol resp --want-previous", "--want-previous needs bulk"},
        {"--value-bytes 4097", "--value-bytes 4097: a number from 1 to 4096"},
        {"--seconds 0", "--seconds 0: a number from 0.01 to 86400"},
        {"--frame-min 4", "--frame-min needs a phase with --seconds"},
        {"--frame-min 4 --seconds 1 -f 3", "--frame-min must be at most --frame"},
        {"--protocol resp --key-bits 32 -n 4294967296 --first 1", "2^32 keys"},
        {"--frames-prefilled 4 --seconds 1 --protocol resp", "--frames-prefilled needs bulk"},
        {"--frames-prefilled 0", "--frames-prefilled 0: use a number from 1"},
        {"--splice always", "--splice needs --frames-prefilled"},
        {"--splice some", "--splice some is not known"},
        {"--protocol resp --socket-buffer 1Mi", "--socket-buffer needs bulk"},
        {"--protocol resp --no-found", "--no-found needs bulk"},
        {"--idle-connections 65537", "--idle-connections 65537"},
        {"--ttl 0", "--ttl 0: a number from 0.001"},
        {"--ttl 1 -o set-delete", "with --ttl use"},
        {"--ttl 1 -o delete", "with --ttl use"},
        {"--ttl 1 --region -a unix:/tmp/x", "leave out --ttl"},
    };
    refuses(samples, sizeof(samples) / sizeof(samples[0]));
}

Test(options, a_cluster_refuses_what_belongs_to_one_server)
{
    static const struct refusal samples[] = {
        {"--cluster --protocol resp", "--cluster needs bulk frames"},
        {"--cluster --region -a unix:/x", "leave out --cluster"},
        {"--cluster -o get --seconds 1 --frames-prefilled 4 --splice never", "leave out --splice"},
        {"--cluster --idle-connections 1", "leave out --cluster"},
        {"--cluster -c 300", "set --threads to --connections, at most 256"},
    };
    refuses(samples, sizeof(samples) / sizeof(samples[0]));
}

Test(options, several_tables_refuse_what_would_not_fill_their_frames)
{
    static const struct refusal samples[] = {
        {"--tables 65", "--tables 65"},
        {"--segments", "--segments needs --tables"},
        {"--tables 2 --protocol resp", "--tables needs bulk frames"},
        {"--tables 2 --cluster", "--tables needs bulk frames"},
        {"--tables 2 --ycsb b", "leave out --mix"},
        {"--tables 2 -o get --frames-prefilled all", "leave out --mix"},
        {"--tables 2 -o get --seconds 1 --frame-min 4", "leave out --mix"},
        {"--tables 3 -n 4Ki -f 1Ki", "make --keys a multiple"},
        {"--tables 2 -n 4Ki -f 1Ki --segments", "use --no-found"},
        {"--tables 2 -n 4Ki -f 1Ki --segments --no-found --region -a unix:/x",
         "leave out --region"},
        {"--tables 3 -n 3Ki -f 64 --segments --no-found", "a multiple of --tables"},
    };
    refuses(samples, sizeof(samples) / sizeof(samples[0]));
}

Test(options, numbers)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"64Ki", 65536},
        {"64k", 64000},
        {"10M", 10000000},
        {"2g", 2000000000},
        {"1Gi", 1 << 30},
        {"18446744073709551615", UINT64_MAX},
        {"1T", 1000000000000},
    };
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.5",
        "k",
        "1P",
        "1KiB",
        "1kk",
        "18446744073709551616",
        "18446744073709552K",
        "0x10",
    };
    uint64_t value;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_assert(sw_load_number_parse(good[i].text, UINT64_MAX, &value), "%s", good[i].text);
        cr_assert_eq(value, good[i].value, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_not(sw_load_number_parse(bad[i], UINT64_MAX, &value), "'%s' passed", bad[i]);
    }
    cr_assert_not(sw_load_number_parse("1001", 1000, &value));
}
