/* SPDX-License-Identifier: MIT
 *
 * report.c - text and JSON of a result (see report.h).
 */
#include "bench/load/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* 26 digits and commas of a uint64_t. */
#define COUNT_BYTES 32

/* Digits in groups of three: 10,000,000. */
static const char *grouped(uint64_t value, char *out)
{
    char digits[COUNT_BYTES];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, value), at = 0;
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
    return phase->keys * (result->workload.key_bytes + result->workload.value_bytes);
}

static const char *unit_name(const struct sw_load_options *options)
{
    return options->protocol == SW_LOAD_BULK ? "frames" : "pipelines";
}

static double percentile_us(const struct sw_load_phase_result *phase, double percent)
{
    return (double)sw_load_histogram_percentile(&phase->latency, percent) / 1e3;
}

static void text_head(FILE *out, const struct sw_load_options *options,
                      const struct sw_load_result *result)
{
    char keys[COUNT_BYTES], frame[COUNT_BYTES];
    fprintf(out, "%s by %s", options->address, sw_load_protocol_name(options->protocol));
    if (result->server.version[0]) {
        fprintf(out, ", Sherwood %s on %s", result->server.version, result->server.backend);
    }
    fprintf(out, ", u%u keys and u%u values\n", result->workload.key_bytes * 8,
            result->workload.value_bytes * 8);
    fprintf(out, "%s keys, %u connections, %u threads, ", grouped(options->keys, keys),
            options->connections, options->threads);
    if (options->protocol == SW_LOAD_BULK) {
        fprintf(out, "%s keys a frame, %u frames in flight a connection\n",
                grouped(options->frame, frame), options->depth);
    } else if (options->operation == SW_LOAD_MGET) {
        fprintf(out, "%u keys a MGET, pipelines of %u\n", options->mget, options->depth);
    } else {
        fprintf(out, "pipelines of %u\n", options->depth);
    }
}

void sw_load_report_text(FILE *out, const struct sw_load_options *options,
                         const struct sw_load_result *result)
{
    char keys[COUNT_BYTES], per_second[COUNT_BYTES], units[COUNT_BYTES];
    text_head(out, options, result);
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
    const struct sw_load_phase_result *last = &result->phases[result->phases_count - 1];
    if (last->operation != SW_LOAD_SET) {
        char missing[COUNT_BYTES], wrong[COUNT_BYTES];
        fprintf(out, "\n%s values verified: %s missing, %s wrong\n", grouped(last->keys, keys),
                grouped(last->missing, missing), grouped(last->wrong, wrong));
    }
}

void sw_load_report_mismatches(FILE *out, const struct sw_load_result *result)
{
    for (uint32_t i = 0; i < result->phases_count; i++) {
        const struct sw_load_phase_result *phase = &result->phases[i];
        const struct sw_load_example *example = &phase->example;
        if (!example->is_set) {
            continue;
        }
        fprintf(out,
                "sherwood-load: %s: %" PRIu64 " keys missing, %" PRIu64
                " values wrong; first: key %" PRIu64 " should have %" PRIu64,
                sw_load_operation_name(phase->operation), phase->missing, phase->wrong,
                example->key, example->expected);
        if (example->missing) {
            fprintf(out, " and is missing\n");
        } else {
            fprintf(out, " and has %" PRIu64 "\n", example->found);
        }
    }
}

static json_t *json_phase(const struct sw_load_result *result,
                          const struct sw_load_phase_result *phase)
{
    const uint64_t bytes = payload_bytes(result, phase);
    return json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f}}",
        "operation", sw_load_operation_name(phase->operation), "keys", (json_int_t)phase->keys,
        "seconds", phase->seconds, "keys_per_second", rate(phase), "bytes_per_second",
        phase->seconds > 0 ? (double)bytes / phase->seconds : 0.0, "units",
        (json_int_t)phase->latency.count, "missing", (json_int_t)phase->missing, "wrong",
        (json_int_t)phase->wrong, "latency_us", "min", (double)phase->latency.min / 1e3, "mean",
        sw_load_histogram_mean(&phase->latency) / 1e3, "p50", percentile_us(phase, 50), "p90",
        percentile_us(phase, 90), "p99", percentile_us(phase, 99), "p99_9",
        percentile_us(phase, 99.9), "max", (double)phase->latency.max / 1e3);
}

int sw_load_report_json(FILE *out, const struct sw_load_options *options,
                        const struct sw_load_result *result)
{
    uint64_t bad = 0;
    json_t *phases = json_array();
    for (uint32_t i = 0; i < result->phases_count; i++) {
        bad += result->phases[i].missing + result->phases[i].wrong;
        json_array_append_new(phases, json_phase(result, &result->phases[i]));
    }
    /* The seed as text: jansson's integers are signed. */
    char seed[COUNT_BYTES];
    snprintf(seed, sizeof seed, "%" PRIu64, options->seed);
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:{s:s, s:s}, s:i, s:i, s:I, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:b}",
        "version", SHERWOOD_VERSION, "address", options->address, "protocol",
        sw_load_protocol_name(options->protocol), "server", "version", result->server.version,
        "backend", result->server.backend, "key_bytes", (int)result->workload.key_bytes,
        "value_bytes", (int)result->workload.value_bytes, "keys", (json_int_t)options->keys, "seed",
        seed, "connections", (int)options->connections, "threads", (int)options->threads, "depth",
        (int)options->depth, "frame", options->protocol == SW_LOAD_BULK ? (int)options->frame : 0,
        "mget", options->operation == SW_LOAD_MGET ? (int)options->mget : 0, "phases", phases, "ok",
        bad == 0);
    if (!root) {
        return -1;
    }
    int status = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    fputc('\n', out);
    json_decref(root);
    return status;
}
