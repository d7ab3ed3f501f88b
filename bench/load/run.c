/* SPDX-License-Identifier: MIT
 *
 * run.c - sets up connections and workers, and runs the phases (see run.h).
 */
#include "bench/load/run.h"

#include "bench/load/idle.h"
#include "bench/load/plan.h"
#include "bench/load/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define POLL_NS 50000000
/* How late the kernel may wake a thread that sleeps until a unit is due. */
#define TIMER_SLACK_NS 1000UL

/* Workers wait here until all threads of the phase have started. The main thread waits here, with a
 * time limit, until all have left. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    pthread_cond_t left;
    bool is_open;
    uint32_t finished;
};

struct thread_argument {
    struct sw_load_worker *worker;
    const struct sw_load_transport *transport;
    struct gate *gate;
};

struct run {
    const struct sw_load_options *options;
    const struct sw_load_transport *transport;
    struct sw_load_workload workload;
    struct sw_load_server server;
    struct sw_load_distribution distribution;
    struct sw_load_partition_setup partitions; /* only if the operation is MIX */
    struct sw_load_life life;      /* life of the keys, without a mix: since the last SET */
    struct sw_load_prefill frames; /* frames of every unit, if they are drawn beforehand */
    uint32_t workers_count;        /* workers with connections */
    struct sw_load_worker *workers;
    struct thread_argument *arguments;
    struct gate gate;
    struct sw_load_idle idle;
    struct sw_load_series *series; /* owned; NULL unless options->series */
};

static void run_fini(struct run *run)
{
    for (uint32_t i = 0; i < run->workers_count; i++) {
        run->transport->destroy(run->workers[i].connections);
        free(run->workers[i].latency);
        free(run->workers[i].series);
    }
    sw_load_prefill_fini(&run->frames);
    free(run->series);
    sw_load_idle_fini(&run->idle);
    free(run->workers);
    free(run->arguments);
    pthread_cond_destroy(&run->gate.left);
    pthread_cond_destroy(&run->gate.opened);
    pthread_mutex_destroy(&run->gate.mutex);
}

/* Returns the number of connections of worker i. */
static uint32_t connections_of(const struct sw_load_options *options, uint32_t i)
{
    return options->connections / options->threads + (i < options->connections % options->threads);
}

static int init_worker(struct run *run, uint32_t i, char *error)
{
    const struct sw_load_options *options = run->options;
    struct sw_load_worker *worker = &run->workers[i];
    worker->options = options;
    worker->workload = &run->workload;
    worker->random = options->seed * 0x9e3779b97f4a7c15ULL + ((uint64_t)(i + 1) << 56);
    worker->latency = calloc(1, sizeof(*worker->latency));
    worker->series = options->series ? calloc(1, sizeof(*worker->series)) : NULL;
    run->workers_count++;
    if (!worker->latency || (options->series && !worker->series)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory");
        return SW_LOAD_E_NOMEM;
    }
    return run->transport->connect(options, connections_of(options, i), &worker->connections,
                                   &run->server, error);
}

/* Gives every worker the facts about the keys, and allocates its buffers. */
static int prepare_workers(struct run *run, char *error)
{
    const struct sw_load_options *options = run->options;
    const bool is_mix = options->operation == SW_LOAD_MIX;
    int status = sw_load_plan_memory(options, &run->workload, error);
    if (status) {
        return status;
    }
    const bool is_prefilled = options->frames_prefilled == SW_LOAD_PREFILLED_ALL;
    if (is_prefilled && !sw_load_prefill_all(&run->frames, &run->workload, options->frame)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for the frames of all keys");
        return SW_LOAD_E_NOMEM;
    }
    const struct sw_load_setup setup = {
        .options = options,
        .workload = &run->workload,
        .partitions = is_mix ? &run->partitions : NULL,
        .distribution = &run->distribution,
        .frames = is_prefilled ? &run->frames : NULL,
    };
    status = is_mix ? sw_load_plan_partitions(options, &run->workload, &run->partitions, error)
                    : SW_LOAD_OK;
    uint32_t first = 0;
    for (uint32_t i = 0; i < options->threads && status == SW_LOAD_OK; i++) {
        status = run->transport->prepare(run->workers[i].connections, &setup, first, error);
        first += connections_of(options, i);
    }
    return status;
}

static int run_init(struct run *run, const struct sw_load_options *options, char *error)
{
    *run = (struct run){
        .options = options,
        .life = options->ttl > 0 ? SW_LOAD_LIFE_UNKNOWN : SW_LOAD_LIFE_ENDLESS,
        .transport =
            options->protocol == SW_LOAD_BULK ? &sw_load_bulk_transport : &sw_load_resp_transport,
    };
    pthread_mutex_init(&run->gate.mutex, NULL);
    pthread_cond_init(&run->gate.opened, NULL);
    pthread_cond_init(&run->gate.left, NULL);
    run->workers = calloc(options->threads, sizeof(*run->workers));
    run->arguments = calloc(options->threads, sizeof(*run->arguments));
    if (!run->workers || !run->arguments) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "no memory for the threads (%u)", options->threads);
        return SW_LOAD_E_NOMEM;
    }
    int status = SW_LOAD_OK;
    for (uint32_t i = 0; i < options->threads && status == SW_LOAD_OK; i++) {
        status = init_worker(run, i, error);
    }
    if (status) {
        return status;
    }
    run->workload = (struct sw_load_workload){
        .seed = options->seed,
        .first = options->first,
        .keys = options->keys,
        .key_bytes = run->server.key_bytes,
        .value_bytes = run->server.value_bytes,
        .format = run->server.format,
        .content_bytes = run->server.content_bytes,
    };
    sw_load_distribution_init(&run->distribution, options->distribution, options->theta,
                              options->keys / (options->tables > 0 ? options->tables : 1));
    return prepare_workers(run, error);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

static void *worker_main(void *context)
{
    struct thread_argument *argument = context;
    struct sw_load_worker *worker = argument->worker;
    struct gate *gate = argument->gate;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->is_open) {
        pthread_cond_wait(&gate->opened, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
    worker->start_ns = sw_load_now_ns();
    if (worker->phase->rate) {
        worker->start_ns = worker->phase->start_ns;
        prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    }
    worker->end_ns = worker->start_ns;
    worker->status = argument->transport->run(worker);
    worker->cpu_ns = thread_cpu_ns();
    if (worker->status) {
        atomic_store_explicit(&worker->phase->stop, true, memory_order_relaxed);
    }
    pthread_mutex_lock(&gate->mutex);
    gate->finished++;
    pthread_cond_signal(&gate->left);
    pthread_mutex_unlock(&gate->mutex);
    return NULL;
}

/* Writes one row of the series from the counts of all workers. */
static void write_row(struct run *run, uint64_t done, uint64_t now_ns)
{
    for (uint32_t i = 0; i < run->workers_count; i++) {
        sw_load_series_add(run->series, run->workers[i].series);
    }
    sw_load_series_row(run->series, done, now_ns);
}

static uint64_t keys_done(const struct run *run)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < run->workers_count; i++) {
        done += atomic_load_explicit(&run->workers[i].keys_done, memory_order_relaxed);
    }
    return done;
}

/* Waits until all workers have finished, and prints the progress. */
static void follow(struct run *run, const struct sw_load_phase *phase)
{
    struct sw_load_progress progress;
    sw_load_progress_start(&progress, sw_load_operation_name(phase->operation),
                           phase->seconds > 0 ? 0 : run->workload.keys, phase->seconds,
                           run->options->quiet, sw_load_now_ns());
    if (run->series) {
        sw_load_series_start(run->series, sw_load_operation_name(phase->operation),
                             sw_load_now_ns());
    }
    pthread_mutex_lock(&run->gate.mutex);
    while (run->gate.finished < run->workers_count) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&run->gate.left, &run->gate.mutex, &until);
        uint64_t now = sw_load_now_ns(), done = keys_done(run);
        if (run->series && sw_load_series_is_due(run->series, now)) {
            write_row(run, done, now);
        }
        sw_load_progress_update(&progress, done, now);
    }
    pthread_mutex_unlock(&run->gate.mutex);
    if (run->series) {
        write_row(run, keys_done(run), sw_load_now_ns());
    }
    sw_load_progress_end(&progress);
}

/* Resets a worker for the phase and starts its thread, which waits at the gate. */
static int start_worker(struct run *run, struct sw_load_phase *phase, uint32_t i)
{
    struct sw_load_worker *worker = &run->workers[i];
    worker->phase = phase;
    worker->status = SW_LOAD_OK;
    worker->missing = worker->wrong = worker->expired = worker->hits = 0;
    worker->late = worker->late_max_ns = 0;
    memset(worker->operations, 0, sizeof(worker->operations));
    worker->example.is_set = false;
    atomic_store_explicit(&worker->keys_done, 0, memory_order_relaxed);
    sw_load_histogram_reset(worker->latency);
    worker->traffic = (struct sw_load_traffic){0};
    if (worker->series) {
        memset(worker->series, 0, sizeof(*worker->series));
    }
    run->arguments[i] =
        (struct thread_argument){.worker = worker, .transport = run->transport, .gate = &run->gate};
    return pthread_create(&worker->thread, NULL, worker_main, &run->arguments[i]);
}

static void open_gate(struct gate *gate, struct sw_load_phase *phase)
{
    pthread_mutex_lock(&gate->mutex);
    phase->start_ns = sw_load_now_ns() + SW_LOAD_LEAD_NS;
    gate->is_open = true;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->mutex);
}

/* Runs the threads of a phase to their end. If one thread does not start, the others find the phase
 * stopped and leave. */
static int run_threads(struct run *run, struct sw_load_phase *phase, char *error)
{
    uint32_t started = 0;
    run->gate.is_open = false;
    run->gate.finished = 0;
    while (started < run->workers_count && start_worker(run, phase, started) == 0) {
        started++;
    }
    bool is_complete = started == run->workers_count;
    if (!is_complete) {
        atomic_store_explicit(&phase->stop, true, memory_order_relaxed);
    }
    open_gate(&run->gate, phase);
    if (is_complete) {
        follow(run, phase);
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(run->workers[i].thread, NULL);
    }
    if (!is_complete) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "cannot start all threads (%u)", run->workers_count);
        return SW_LOAD_E_NOMEM;
    }
    return SW_LOAD_OK;
}

static void add_traffic(struct sw_load_traffic *sum, const struct sw_load_traffic *traffic)
{
    sum->reads += traffic->reads;
    sum->writes += traffic->writes;
    sum->polls += traffic->polls;
    sum->options += traffic->options;
    sum->bytes_received += traffic->bytes_received;
    sum->bytes_sent += traffic->bytes_sent;
    sum->bytes_spliced += traffic->bytes_spliced;
    sum->ring_requests += traffic->ring_requests;
    sum->ring_bells += traffic->ring_bells;
}

/* Adds the counts of all workers to `result`. */
static void collect(struct run *run, const struct sw_load_phase *phase,
                    struct sw_load_phase_result *result)
{
    uint64_t start_ns = UINT64_MAX, end_ns = 0;
    result->operation = phase->operation;
    result->rate = phase->rate;
    for (uint32_t i = 0; i < run->workers_count; i++) {
        const struct sw_load_worker *worker = &run->workers[i];
        result->keys += atomic_load_explicit(&worker->keys_done, memory_order_relaxed);
        result->missing += worker->missing;
        result->wrong += worker->wrong;
        result->expired += worker->expired;
        result->hits += worker->hits;
        result->late += worker->late;
        if (worker->late_max_ns > result->late_max_ns) {
            result->late_max_ns = worker->late_max_ns;
        }
        for (int o = 0; o < SW_LOAD_MIX_OPERATIONS; o++) {
            result->operations[o] += worker->operations[o];
        }
        if (worker->example.is_set && !result->example.is_set) {
            result->example = worker->example;
        }
        add_traffic(&result->traffic, &worker->traffic);
        result->cpu_seconds += (double)worker->cpu_ns / 1e9;
        sw_load_histogram_merge(&result->latency, worker->latency);
        start_ns = worker->start_ns < start_ns ? worker->start_ns : start_ns;
        end_ns = worker->end_ns > end_ns ? worker->end_ns : end_ns;
    }
    if (phase->operation == SW_LOAD_SET && run->options->ttl > 0) {
        run->life = sw_load_life_of(sw_load_ttl_ms(run->options) * 1000000, start_ns, end_ns);
    }
    result->seconds += (double)(end_ns - start_ns) / 1e9;
    result->unsent = phase->rate ? sw_load_phase_due(phase) - result->latency.count : 0;
}

/* Runs one phase and adds it to `result`. Only the timed phase uses --seconds and --rate; the other
 * phases use every key once, in closed loop. */
static int add_phase(struct run *run, enum sw_load_operation operation, bool is_timed,
                     struct sw_load_phase_result *result, char *error)
{
    struct sw_load_phase phase = {
        .operation = operation,
        .unit_keys = sw_load_unit_keys(run->options, operation),
        .is_fresh = operation == SW_LOAD_SET && run->options->operation == SW_LOAD_SET_DELETE,
        .seconds = is_timed ? run->options->seconds : 0,
        .rate = is_timed ? run->options->rate : 0,
        .distribution = &run->distribution,
        .life = run->life,
    };
    phase.unit_keys_min =
        is_timed && run->options->frame_min ? run->options->frame_min : phase.unit_keys;
    phase.units = (run->workload.keys + phase.unit_keys - 1) / phase.unit_keys;
    atomic_init(&phase.next, 0);
    atomic_init(&phase.stop, false);
    int status = run_threads(run, &phase, error);
    if (status) {
        return status;
    }
    for (uint32_t i = 0; i < run->workers_count; i++) {
        if (run->workers[i].status) {
            memcpy(error, run->workers[i].error, SW_LOAD_ERROR_BYTES);
            return run->workers[i].status;
        }
    }
    collect(run, &phase, result);
    return result->missing || result->wrong ? SW_LOAD_E_MISMATCH : SW_LOAD_OK;
}

/* Returns the result of the next phase. */
static struct sw_load_phase_result *next_result(struct sw_load_result *out)
{
    struct sw_load_phase_result *result = &out->phases[out->phases_count++];
    memset(result, 0, sizeof(*result));
    return result;
}

static int run_phase(struct run *run, enum sw_load_operation operation, bool is_timed,
                     struct sw_load_result *out, char *error)
{
    return add_phase(run, operation, is_timed, next_result(out), error);
}

/* Writes every key, deletes every key, and so on until the seconds are over. */
static int run_turns(struct run *run, struct sw_load_result *out, char *error)
{
    struct sw_load_phase_result *sets = next_result(out), *deletes = next_result(out);
    const double limit = run->options->seconds;
    sets->operation = SW_LOAD_SET;
    deletes->operation = SW_LOAD_DELETE;
    int status = SW_LOAD_OK;
    do {
        status = add_phase(run, SW_LOAD_SET, false, sets, error);
        if (status == SW_LOAD_OK) {
            status = add_phase(run, SW_LOAD_DELETE, false, deletes, error);
        }
    } while (status == SW_LOAD_OK && sets->seconds + deletes->seconds < limit);
    return status;
}

static int run_phases(struct run *run, struct sw_load_result *out, char *error)
{
    const struct sw_load_options *options = run->options;
    int status = SW_LOAD_OK;
    switch (options->operation) {
    case SW_LOAD_SET_GET:
        status = run_phase(run, SW_LOAD_SET, false, out, error);
        return status ? status : run_phase(run, SW_LOAD_GET, true, out, error);
    case SW_LOAD_MIX:
        status = run_phase(run, SW_LOAD_FILL, false, out, error);
        if (status == SW_LOAD_OK) {
            status = run_phase(run, SW_LOAD_MIX, true, out, error);
        }
        if (status == SW_LOAD_OK && !options->no_verify) {
            status = run_phase(run, SW_LOAD_CHECK, false, out, error);
        }
        return status;
    case SW_LOAD_SET_DELETE:
        return run_turns(run, out, error);
    default:
        return run_phase(run, options->operation, true, out, error);
    }
}

/* Opens the resources that last for all phases: idle connections and the file of the series. */
static int surround(struct run *run, char *error)
{
    const struct sw_load_options *options = run->options;
    int status = sw_load_idle_open(&run->idle, options->address, options->idle_connections, error);
    if (status || !options->series) {
        return status;
    }
    run->series = calloc(1, sizeof(*run->series));
    if (!run->series) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory");
        return SW_LOAD_E_NOMEM;
    }
    if (!sw_load_series_open(run->series, options->series)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "%s: %s", options->series, strerror(errno));
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}

static void count_nodes(const struct run *run, struct sw_load_nodes *nodes)
{
    nodes->epoch = 0;
    nodes->count = nodes->left_out = 0;
    for (uint32_t i = 0; run->transport->count && i < run->workers_count; i++) {
        run->transport->count(run->workers[i].connections, nodes);
    }
}

int sw_load_run(const struct sw_load_options *options, struct sw_load_result *out, char *error)
{
    struct run run;
    error[0] = '\0';
    int status = sw_load_plan_memory(options, NULL, error);
    if (status) {
        return status;
    }
    status = run_init(&run, options, error);
    if (status == SW_LOAD_OK) {
        status = surround(&run, error);
    }
    if (status == SW_LOAD_OK) {
        out->server = run.server;
        out->workload = run.workload;
        out->phases_count = 0;
        status = run_phases(&run, out, error);
        out->idle_alive = sw_load_idle_alive(&run.idle);
        count_nodes(&run, &out->nodes);
    }
    if (run.series && !sw_load_series_close(run.series)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "%s: %s", options->series, strerror(errno));
        status = SW_LOAD_E_USAGE;
    }
    run_fini(&run);
    return status;
}
