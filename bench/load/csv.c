/* SPDX-License-Identifier: MIT
 *
 * csv.c - a row for each phase of a result (see report.h).
 */
#include "bench/load/report.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] =
    "phase,protocol,distribution,keys,connections,threads,depth,frame,rate,done_keys,seconds,"
    "keys_per_second,units,min_us,mean_us,p50_us,p90_us,p99_us,p99_9_us,max_us,late,late_max_us,"
    "unsent,missing,wrong\n";

static void put_us(FILE *out, double ns)
{
    fprintf(out, ",%.3f", ns / 1e3);
}

static void put_phase(FILE *out, const struct sw_load_options *options,
                      const struct sw_load_phase_result *phase)
{
    static const double percents[] = {50, 90, 99, 99.9};
    const struct sw_load_histogram *latency = &phase->latency;
    const bool bulk = options->protocol == SW_LOAD_BULK;
    fprintf(out, "%s,%s,%s,%" PRIu64 ",%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%.6f,%.0f,%" PRIu64,
            sw_load_operation_name(phase->operation), sw_load_protocol_name(options->protocol),
            sw_load_distribution_name(options->distribution), options->keys, options->connections,
            options->threads, options->depth, bulk ? options->frame : 0, phase->rate, phase->keys,
            phase->seconds, phase->seconds > 0 ? (double)phase->keys / phase->seconds : 0,
            latency->count);
    put_us(out, (double)latency->min);
    put_us(out, sw_load_histogram_mean(latency));
    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        put_us(out, (double)sw_load_histogram_percentile(latency, percents[i]));
    }
    put_us(out, (double)latency->max);
    fprintf(out, ",%" PRIu64, phase->late);
    put_us(out, (double)phase->late_max_ns);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", phase->unsent, phase->missing,
            phase->wrong);
}

int sw_load_report_csv(FILE *out, const struct sw_load_options *options,
                       const struct sw_load_result *result)
{
    struct stat facts;
    const bool is_file = fstat(fileno(out), &facts) == 0 && S_ISREG(facts.st_mode);
    if (is_file && facts.st_size == 0) {
        fputs(head, out);
    }
    for (uint32_t i = 0; i < result->phases_count; i++) {
        put_phase(out, options, &result->phases[i]);
    }
    bool written = fflush(out) == 0 && !ferror(out);
    int error = errno;
    if (!written && is_file) { /* a part of a row would spoil the other rows */
        (void)!ftruncate(fileno(out), facts.st_size);
    }
    if (fclose(out) && written) {
        written = false;
        error = errno;
    }
    errno = error;
    return written ? 0 : -1;
}
