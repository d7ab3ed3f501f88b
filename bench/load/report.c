/* SPDX-License-Identifier: MIT
 *
 * report.c - text and JSON of a result (see report.h).
 */
#include "bench/load/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "proto/plural.h"

/* 26 digits and commas of a uint64_t. */
#define COUNT_BYTES 32

/* Formats digits in groups of three: 10,000,000. */
static const char *grouped(uint64_t value, char *out)
{
    char digits[COUNT_BYTES];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value), at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            out[at++] = ',';
        }
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static double rate(const struct sw_load_phase_result *phase)
{
    return phase->seconds > 0 ? (double)phase->keys / phase->seconds : 0;
}

static uint64_t payload_bytes(const struct sw_load_result *result,
                              const struct sw_load_phase_result *phase)
{
    return phase->keys * ((uint64_t)result->workload.key_bytes + result->workload.value_bytes);
}

static const char *unit_name(const struct sw_load_options *options)
{
    return options->protocol == SW_LOAD_BULK ? "frames" : "pipelines";
}

static double percentile_us(const struct sw_load_phase_result *phase, double percent)
{
    return (double)sw_load_histogram_percentile(&phase->latency, percent) / 1e3;
}

/* Prints over how many tables the keys are spread, and what a frame of gets reads. */
static void text_tables(FILE *out, const struct sw_load_options *options)
{
    if (options->tables > 0) {
        fprintf(out, "%u table%s, each frame %s\n", options->tables, sw_plural_s(options->tables),
                options->segments ? "of gets reads all of them" : "is for one of them");
    }
}

static void text_head(FILE *out, const struct sw_load_options *options,
                      const struct sw_load_result *result)
{
    char keys[COUNT_BYTES], frame[COUNT_BYTES];
    fprintf(out, "%s by %s", options->address, sw_load_protocol_name(options->protocol));
    if (result->server.version[0]) {
        fprintf(out, ", Sherwood %s on %s", result->server.version, result->server.backend);
    }
    if (result->workload.format == SW_LOAD_VALUES_INTEGER) {
        fprintf(out, ", u%u keys and u%u values\n", result->workload.key_bytes * 8,
                result->workload.value_bytes * 8);
    } else {
        fprintf(out, ", u%u keys and values of %u bytes\n", result->workload.key_bytes * 8,
                result->workload.content_bytes);
    }
    fprintf(out, "%s key%s, %u connection%s, %u thread%s, ", grouped(options->keys, keys),
            sw_plural_s(options->keys), options->connections, sw_plural_s(options->connections),
            options->threads, sw_plural_s(options->threads));
    if (options->protocol == SW_LOAD_BULK) {
        if (options->frame_min) {
            fprintf(out, "%s to ", grouped(options->frame_min, frame));
        }
        fprintf(out, "%s key%s a frame, %u frame%s in flight a connection\n",
                grouped(options->frame, frame), sw_plural_s(options->frame), options->depth,
                sw_plural_s(options->depth));
        text_tables(out, options);
    } else if (options->operation == SW_LOAD_MGET) {
        fprintf(out, "%u key%s a MGET, pipelines of %u\n", options->mget,
                sw_plural_s(options->mget), options->depth);
    } else {
        fprintf(out, "pipelines of %u\n", options->depth);
    }
}

/* Prints the distribution of keys and the mix, if keys are drawn. */
static void text_draws(FILE *out, const struct sw_load_options *options)
{
    const bool has_theta =
        options->distribution == SW_LOAD_ZIPF || options->distribution == SW_LOAD_LATEST;
    const bool is_mix = options->operation == SW_LOAD_MIX;
    if (!is_mix && options->distribution == SW_LOAD_UNIFORM) {
        return;
    }
    for (int o = 0; is_mix && o < SW_LOAD_MIX_OPERATIONS; o++) {
        if (options->mix.weights[o]) {
            fprintf(out, "%s=%u ", sw_load_mix_name((enum sw_load_mix_operation)o),
                    options->mix.weights[o]);
        }
    }
    fprintf(out, "%s keys", sw_load_distribution_name(options->distribution));
    if (has_theta) {
        fprintf(out, ", theta %g", options->theta);
    }
    if (is_mix && options->hit_ratio < 1) {
        fprintf(out, ", hit ratio %g", options->hit_ratio);
    }
    fputc('\n', out);
}

/* Prints details of a phase beside its row: shares of a mix, lateness of an open loop. */
static void text_details(FILE *out, const struct sw_load_options *options,
                         const struct sw_load_phase_result *phase)
{
    char asked[COUNT_BYTES], late[COUNT_BYTES], units[COUNT_BYTES];
    const char *separator = "";
    if (phase->operation == SW_LOAD_MIX && phase->keys) {
        fprintf(out, "mix: ");
        for (int o = 0; o < SW_LOAD_MIX_OPERATIONS; o++) {
            if (options->mix.weights[o]) {
                fprintf(out, "%s%s %.2f %%", separator,
                        sw_load_mix_name((enum sw_load_mix_operation)o),
                        100.0 * (double)phase->operations[o] / (double)phase->keys);
                separator = ", ";
            }
        }
        uint64_t gets = phase->operations[SW_LOAD_MIX_GET];
        if (gets) {
            fprintf(out, "; %.2f %% of the gets found their key",
                    100.0 * (double)phase->hits / (double)gets);
        }
        fputc('\n', out);
    }
    if (phase->rate) {
        fprintf(out,
                "%s: open loop of %s keys/s, latency from the time a unit was due; %s of %s %s "
                "sent more than %d ms late, the latest by %.1f us\n",
                sw_load_operation_name(phase->operation), grouped(phase->rate, asked),
                grouped(phase->late, late), grouped(phase->latency.count, units),
                unit_name(options), SW_LOAD_LATE_NS / 1000000, (double)phase->late_max_ns / 1e3);
    }
    if (options->protocol == SW_LOAD_BULK && phase->operation <= SW_LOAD_DELETE) {
        fprintf(out, "%s: %s of %s key%s %s there\n", sw_load_operation_name(phase->operation),
                grouped(phase->hits, late), grouped(phase->keys, units), sw_plural_s(phase->keys),
                sw_plural(phase->hits, "was", "were"));
    }
    if (phase->unsent) {
        fprintf(out, "%s: stopped behind schedule, %s %s due and not sent\n",
                sw_load_operation_name(phase->operation), grouped(phase->unsent, units),
                unit_name(options));
    }
}

/* Prints CPU time and system calls of the client. */
static void text_costs(FILE *out, const struct sw_load_options *options,
                       const struct sw_load_phase_result *phase)
{
    const struct sw_load_traffic *traffic = &phase->traffic;
    double units = phase->latency.count ? (double)phase->latency.count : 1;
    fprintf(out,
            "%s: %.2f s of the client's CPU; of %s: %.2f reads, %.2f writes, %.2f polls, "
            "%.2f socket options%s\n",
            sw_load_operation_name(phase->operation), phase->cpu_seconds, unit_name(options),
            (double)traffic->reads / units, (double)traffic->writes / units,
            (double)traffic->polls / units, (double)traffic->options / units,
            traffic->bytes_spliced   ? "; sent as pages, not copied"
            : traffic->ring_requests ? "; through a ring, in shared memory"
                                     : "");
}

/* Prints what was sent to each node of a cluster. */
static void text_nodes(FILE *out, const struct sw_load_nodes *nodes)
{
    char keys[COUNT_BYTES], frames[COUNT_BYTES], refusals[COUNT_BYTES];
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct sw_load_node *node = &nodes->each[i];
        fprintf(out, "node %s of shard %s, %u slot%s: %s key%s in %s frame%s sent, %s refused\n",
                node->address, node->name, node->slots, sw_plural_s(node->slots),
                grouped(node->keys, keys), sw_plural_s(node->keys), grouped(node->frames, frames),
                sw_plural_s(node->frames), grouped(node->refusals, refusals));
    }
    if (nodes->left_out) {
        fprintf(out, "more than %d nodes: %u counts are left out\n", SW_LOAD_NODES_MAX,
                nodes->left_out);
    }
}

/* Prints which replies were verified. */
static void text_verified(FILE *out, const struct sw_load_options *options,
                          const struct sw_load_result *result)
{
    char keys[COUNT_BYTES], missing[COUNT_BYTES], wrong[COUNT_BYTES];
    const struct sw_load_phase_result *last = &result->phases[result->phases_count - 1];
    if (options->no_verify) {
        fprintf(out, "\nno answer was verified (--no-verify)\n");
    } else if (options->operation == SW_LOAD_MIX) {
        uint64_t bad[2] = {0, 0}, answers = 0;
        for (uint32_t i = 0; i < result->phases_count; i++) {
            bad[0] += result->phases[i].missing;
            bad[1] += result->phases[i].wrong;
            answers += result->phases[i].operation == SW_LOAD_FILL ? 0 : result->phases[i].keys;
        }
        fprintf(out, "\n%s answer%s verified against the model: %s missing, %s wrong\n",
                grouped(answers, keys), sw_plural_s(answers), grouped(bad[0], missing),
                grouped(bad[1], wrong));
    } else if (last->operation == SW_LOAD_DELETE) {
        const struct sw_load_phase_result *sets = &result->phases[0];
        fprintf(out, "\n%s deleted key%s verified: %s missing, %s present before the set\n",
                grouped(last->keys, keys), sw_plural_s(last->keys), grouped(last->missing, missing),
                grouped(sets->wrong, wrong));
    } else if (last->operation != SW_LOAD_SET) {
        fprintf(out, "\n%s value%s verified: %s missing, %s wrong\n", grouped(last->keys, keys),
                sw_plural_s(last->keys), grouped(last->missing, missing),
                grouped(last->wrong, wrong));
    }
    if (options->ttl > 0 && !options->no_verify) {
        uint64_t expired = 0;
        for (uint32_t i = 0; i < result->phases_count; i++) {
            expired += result->phases[i].expired;
        }
        fprintf(out, "%s time%s a key was absent because its %g s had or may have ended (--ttl)\n",
                grouped(expired, keys), sw_plural_s(expired), options->ttl);
    }
    if (options->no_found) {
        fprintf(out, "the replies had no found bitmaps (--no-found)\n");
    }
}

void sw_load_report_text(FILE *out, const struct sw_load_options *options,
                         const struct sw_load_result *result)
{
    char keys[COUNT_BYTES], per_second[COUNT_BYTES], units[COUNT_BYTES];
    text_head(out, options, result);
    text_draws(out, options);
    fprintf(out, "\n%-5s %14s %15s %9s %9s %11s | latency us: %9s %9s %9s %9s %9s\n", "phase",
            "keys", "keys/s", "MB/s", "seconds", unit_name(options), "p50", "p90", "p99", "p99.9",
            "max");
    for (uint32_t i = 0; i < result->phases_count; i++) {
        const struct sw_load_phase_result *phase = &result->phases[i];
        double mega =
            phase->seconds > 0 ? (double)payload_bytes(result, phase) / phase->seconds / 1e6 : 0;
        fprintf(out, "%-5s %14s %15s %9.1f %9.3f %11s | %21.1f %9.1f %9.1f %9.1f %9.1f\n",
                sw_load_operation_name(phase->operation), grouped(phase->keys, keys),
                grouped((uint64_t)rate(phase), per_second), mega, phase->seconds,
                grouped(phase->latency.count, units), percentile_us(phase, 50),
                percentile_us(phase, 90), percentile_us(phase, 99), percentile_us(phase, 99.9),
                (double)phase->latency.max / 1e3);
    }
    for (uint32_t i = 0; i < result->phases_count; i++) {
        text_details(out, options, &result->phases[i]);
        text_costs(out, options, &result->phases[i]);
    }
    if (options->idle_connections) {
        fprintf(out, "%u of %u idle connection%s %s still open\n", result->idle_alive,
                options->idle_connections, sw_plural_s(options->idle_connections),
                sw_plural(result->idle_alive, "is", "are"));
    }
    text_nodes(out, &result->nodes);
    text_verified(out, options, result);
}

void sw_load_report_mismatches(FILE *out, const struct sw_load_result *result)
{
    for (uint32_t i = 0; i < result->phases_count; i++) {
        const struct sw_load_phase_result *phase = &result->phases[i];
        const struct sw_load_example *example = &phase->example;
        if (!example->is_set && !phase->missing && !phase->wrong) {
            continue;
        }
        fprintf(out, "sherwood-load: %s: %" PRIu64 " key%s missing, %" PRIu64 " value%s wrong",
                sw_load_operation_name(phase->operation), phase->missing,
                sw_plural_s(phase->missing), phase->wrong, sw_plural_s(phase->wrong));
        if (!example->is_set) { /* the heads of replies without a bitmap gave only a count */
            fprintf(out, "\n");
            continue;
        }
        fprintf(out, "; first: key %" PRIu64, example->key);
        if (example->surplus) {
            fprintf(out, " should not be there\n");
            continue;
        }
        fprintf(out, " should have %" PRIu64, example->expected);
        if (example->missing) {
            fprintf(out, " and is missing\n");
        } else {
            fprintf(out, " and has %" PRIu64 "\n", example->found);
        }
    }
}

static json_t *json_traffic(const struct sw_load_traffic *traffic)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "reads", (json_int_t)traffic->reads,
        "writes", (json_int_t)traffic->writes, "polls", (json_int_t)traffic->polls,
        "socket_options", (json_int_t)traffic->options, "bytes_received",
        (json_int_t)traffic->bytes_received, "bytes_sent", (json_int_t)traffic->bytes_sent,
        "bytes_spliced", (json_int_t)traffic->bytes_spliced, "ring_requests",
        (json_int_t)traffic->ring_requests, "ring_bells", (json_int_t)traffic->ring_bells);
}

static json_t *json_phase(const struct sw_load_options *options,
                          const struct sw_load_result *result,
                          const struct sw_load_phase_result *phase)
{
    const uint64_t bytes = payload_bytes(result, phase);
    json_t *out = json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f}}",
        "operation", sw_load_operation_name(phase->operation), "keys", (json_int_t)phase->keys,
        "seconds", phase->seconds, "keys_per_second", rate(phase), "bytes_per_second",
        phase->seconds > 0 ? (double)bytes / phase->seconds : 0.0, "units",
        (json_int_t)phase->latency.count, "missing", (json_int_t)phase->missing, "wrong",
        (json_int_t)phase->wrong, "latency_us", "min", (double)phase->latency.min / 1e3, "mean",
        sw_load_histogram_mean(&phase->latency) / 1e3, "p50", percentile_us(phase, 50), "p90",
        percentile_us(phase, 90), "p99", percentile_us(phase, 99), "p99_9",
        percentile_us(phase, 99.9), "max", (double)phase->latency.max / 1e3);
    if (phase->operation == SW_LOAD_MIX) {
        json_t *operations = json_object();
        for (int o = 0; o < SW_LOAD_MIX_OPERATIONS; o++) {
            json_object_set_new(operations, sw_load_mix_name((enum sw_load_mix_operation)o),
                                json_integer((json_int_t)phase->operations[o]));
        }
        json_object_set_new(out, "operations", operations);
    }
    if (phase->operation == SW_LOAD_MIX || options->protocol == SW_LOAD_BULK) {
        json_object_set_new(out, "hits", json_integer((json_int_t)phase->hits));
    }
    if (options->ttl > 0) {
        json_object_set_new(out, "expired", json_integer((json_int_t)phase->expired));
    }
    json_object_set_new(out, "cpu_seconds", json_real(phase->cpu_seconds));
    json_object_set_new(out, "system_calls", json_traffic(&phase->traffic));
    if (phase->rate) {
        json_object_set_new(out, "rate", json_integer((json_int_t)phase->rate));
        json_object_set_new(out, "late", json_integer((json_int_t)phase->late));
        json_object_set_new(out, "unsent", json_integer((json_int_t)phase->unsent));
        json_object_set_new(out, "late_max_us", json_real((double)phase->late_max_ns / 1e3));
    }
    return out;
}

static json_t *json_nodes(const struct sw_load_nodes *nodes)
{
    json_t *each = json_array();
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct sw_load_node *node = &nodes->each[i];
        json_array_append_new(
            each,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "address", node->address, "shard",
                      node->name, "slots", (json_int_t)node->slots, "keys", (json_int_t)node->keys,
                      "frames", (json_int_t)node->frames, "refusals", (json_int_t)node->refusals));
    }
    return json_pack("{s:I, s:I, s:o}", "epoch", (json_int_t)nodes->epoch, "left_out",
                     (json_int_t)nodes->left_out, "nodes", each);
}

/* Returns how many frames were drawn beforehand: by each thread, or for all threads together. */
static json_int_t frames_prefilled(const struct sw_load_options *options)
{
    if (options->frames_prefilled == SW_LOAD_PREFILLED_ALL) {
        return (json_int_t)((options->keys + options->frame - 1) / options->frame);
    }
    return options->frames_prefilled;
}

int sw_load_report_json(FILE *out, const struct sw_load_options *options,
                        const struct sw_load_result *result)
{
    uint64_t bad = 0;
    json_t *phases = json_array();
    for (uint32_t i = 0; i < result->phases_count; i++) {
        bad += result->phases[i].missing + result->phases[i].wrong;
        json_array_append_new(phases, json_phase(options, result, &result->phases[i]));
    }
    /* The seed as text: jansson's integers are signed. */
    char seed[COUNT_BYTES];
    snprintf(seed, sizeof(seed), "%" PRIu64, options->seed);
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:s, s:s}, s:i, s:i, s:i, s:I, s:I, s:s, s:i, s:i, s:i, s:i, s:i, "
        "s:s, s:f, s:f, "
        "s:b, s:b, s:b, s:i, s:I, s:i, s:i, s:o, s:b}",
        "version", SHERWOOD_VERSION, "address", options->address, "protocol",
        sw_load_protocol_name(options->protocol), "server", "version", result->server.version,
        "backend", result->server.backend, "engine", result->server.engine, "key_bytes",
        (int)result->workload.key_bytes, "value_bytes", (int)result->workload.value_bytes,
        "content_bytes", (int)result->workload.content_bytes, "first", (json_int_t)options->first,
        "keys", (json_int_t)options->keys, "seed", seed, "connections", (int)options->connections,
        "threads", (int)options->threads, "depth", (int)options->depth, "frame",
        options->protocol == SW_LOAD_BULK ? (int)options->frame : 0, "mget",
        options->operation == SW_LOAD_MGET ? (int)options->mget : 0, "distribution",
        sw_load_distribution_name(options->distribution), "theta", options->theta, "hit_ratio",
        options->hit_ratio, "verified", !options->no_verify, "wants_found",
        options->protocol == SW_LOAD_BULK && !options->no_found, "wants_previous",
        options->want_previous, "frame_min", (int)options->frame_min, "frames_prefilled",
        frames_prefilled(options), "idle_connections", (int)options->idle_connections,
        "idle_connections_open", (int)result->idle_alive, "phases", phases, "ok", bad == 0);
    if (!root) {
        return -1;
    }
    int status =
        options->cluster ? json_object_set_new(root, "cluster", json_nodes(&result->nodes)) : 0;
    if (status == 0 && options->ttl > 0) {
        status = json_object_set_new(root, "ttl", json_real(options->ttl));
    }
    if (status == 0 && options->tables > 0) {
        status = json_object_set_new(root, "tables", json_integer(options->tables)) ||
                 json_object_set_new(root, "segments", json_boolean(options->segments));
    }
    status = status ? status : json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    fputc('\n', out);
    json_decref(root);
    return status;
}
