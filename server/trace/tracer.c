/* SPDX-License-Identifier: MIT
 *
 * tracer.c - the thread that exports spans.
 *
 * The thread has at most one batch of spans. Its text is `body`, which a call sends, or which waits
 * for the timer `again`. step() goes on to the next batch.
 */
#include "server/trace/tracer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <uv.h>

#include "server/http_client/http_client.h"
#include "server/limits.h"
#include "server/observe/log.h"
#include "server/trace/otlp.h"

#define ANSWER_BYTES_MAX (64 * 1024)
#define PATH "/v1/traces"
#define OK_FIRST 200
#define OK_LAST 299

struct sw_tracer {
    const struct sw_config *config;
    const char *instance;
    char url[SW_CONFIG_FILE_MAX + sizeof(PATH)];
    struct sw_span_queue *queues; /* one for each loop */
    uint32_t loops, next;         /* `next`: the queue that gives the first span of a batch */
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick;  /* looks for spans every SW_TRACE_EVERY_MS */
    uv_timer_t again; /* sends `body` again */
    uv_timer_t end;   /* the last moment of a stop */
    uv_thread_t thread;
    bool stop; /* atomic */
    bool is_stopping;
    struct sw_http_client *http;
    char *body; /* owned; NULL: no batch */
    uint32_t body_spans;
    unsigned attempts;              /* calls that have sent `body` */
    bool is_failing;                /* the log has reported that exports fail */
    struct sw_tracer_counts counts; /* atomic */
};

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* --- a batch ---------------------------------------------------------------------------------- */

static int64_t ns_since_1970(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the next queue that has a span, or NULL. */
static struct sw_span_queue *next_queue(struct sw_tracer *tracer)
{
    for (uint32_t i = 0; i < tracer->loops; i++) {
        struct sw_span_queue *queue = &tracer->queues[tracer->next];
        tracer->next = (tracer->next + 1) % tracer->loops;
        if (sw_span_queue_oldest(queue) != NULL) {
            return queue;
        }
    }
    return NULL;
}

/* Moves at most SW_TRACE_BATCH_SPANS spans from the queues to `body`. If memory is short, spans
 * count as failed. */
static void take_batch(struct sw_tracer *tracer)
{
    const int64_t offset_ns = ns_since_1970() - (int64_t)uv_hrtime();
    uint8_t ids[SW_TRACE_BATCH_SPANS][SW_SPAN_ID_BYTES];
    struct sw_span_queue *queue;
    json_t *spans = json_array();
    uint32_t taken = 0;
    const bool has_ids = getrandom(ids, sizeof(ids), 0) == (ssize_t)sizeof(ids);
    for (; taken < SW_TRACE_BATCH_SPANS && (queue = next_queue(tracer)) != NULL; taken++) {
        if (has_ids) {
            (void)json_array_append_new(
                spans, sw_otlp_span(sw_span_queue_oldest(queue), ids[taken], offset_ns));
        }
        sw_span_queue_drop(queue);
    }
    tracer->body_spans = (uint32_t)json_array_size(spans);
    tracer->body =
        tracer->body_spans == 0 ? NULL : sw_otlp_export(json_incref(spans), tracer->instance);
    json_decref(spans);
    count(&tracer->counts.failed, tracer->body != NULL ? taken - tracer->body_spans : taken);
    tracer->attempts = 0;
}

static void end_batch(struct sw_tracer *tracer, uint32_t exported)
{
    count(&tracer->counts.exported, exported);
    count(&tracer->counts.failed, tracer->body_spans - exported);
    free(tracer->body);
    tracer->body = NULL;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_batch(struct sw_tracer *tracer);

static void on_again(uv_timer_t *timer)
{
    send_batch(timer->data);
}

/* Takes the next batch and sends it, unless the thread has a batch. */
static void step(struct sw_tracer *tracer)
{
    if (tracer->body == NULL) {
        take_batch(tracer);
        if (tracer->body != NULL) {
            send_batch(tracer);
        } else if (tracer->is_stopping) {
            uv_stop(&tracer->uv);
        }
    }
}

static void report_failure(struct sw_tracer *tracer, const char *cause)
{
    if (!tracer->is_failing) {
        sw_log_limited(SW_LOG_TRACE, SW_LOG_WARNING,
                       "otlp: cannot export spans to %s: %s; dropping spans until it works",
                       tracer->url, cause);
    }
    tracer->is_failing = true;
}

/* These statuses of HTTP ask for another attempt; others reject the batch. 0 is no answer. */
static bool is_retryable(long status)
{
    return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

/* Waits before the next attempt: SW_TRACE_RETRY_MS, then twice as long each time, or as long as the
 * endpoint asks, up to SW_TRACE_RETRY_MS_MAX. */
static void wait_and_send(struct sw_tracer *tracer, uint32_t retry_after_s)
{
    const uint64_t asked_ms = (uint64_t)retry_after_s * 1000;
    uint64_t wait_ms = (uint64_t)SW_TRACE_RETRY_MS << (tracer->attempts - 1);
    wait_ms = asked_ms > wait_ms ? asked_ms : wait_ms;
    wait_ms = wait_ms < SW_TRACE_RETRY_MS_MAX ? wait_ms : SW_TRACE_RETRY_MS_MAX;
    uv_timer_start(&tracer->again, on_again, wait_ms, 0);
}

static void on_answer(void *context, const struct sw_http_answer *answer)
{
    struct sw_tracer *tracer = context;
    char status[32];
    if (answer->status >= OK_FIRST && answer->status <= OK_LAST) {
        const uint64_t rejected = sw_otlp_rejected(answer->body, answer->body_bytes);
        const uint32_t lost =
            rejected < tracer->body_spans ? (uint32_t)rejected : tracer->body_spans;
        if (tracer->is_failing) {
            sw_log_limited(SW_LOG_TRACE, SW_LOG_NOTICE, "otlp: exporting spans to %s again",
                           tracer->url);
        }
        tracer->is_failing = false;
        end_batch(tracer, tracer->body_spans - lost);
        step(tracer);
        return;
    }
    snprintf(status, sizeof(status), "HTTP status %ld", answer->status);
    if (is_retryable(answer->status) && tracer->attempts < SW_TRACE_ATTEMPTS &&
        !tracer->is_stopping) {
        wait_and_send(tracer, answer->retry_after_s);
        return;
    }
    report_failure(tracer, answer->error != NULL ? answer->error : status);
    end_batch(tracer, 0);
    step(tracer);
}

static void send_batch(struct sw_tracer *tracer)
{
    const struct sw_http_request request = {.url = tracer->url,
                                            .body = tracer->body,
                                            .connect_limit_ms = SW_TRACE_CALL_MS / 2,
                                            .limit_ms = SW_TRACE_CALL_MS,
                                            .answer_bytes_max = ANSWER_BYTES_MAX,
                                            .tls_ca = tracer->config->otlp_tls_ca,
                                            .tls_cert = "",
                                            .tls_key = "",
                                            .done = on_answer,
                                            .context = tracer};
    tracer->attempts++;
    if (sw_http_post(tracer->http, &request) == NULL) {
        report_failure(tracer, "not enough memory");
        end_batch(tracer, 0);
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

static void on_end(uv_timer_t *timer)
{
    uv_stop(&((struct sw_tracer *)timer->data)->uv);
}

static void on_tick(uv_timer_t *timer)
{
    step(timer->data);
}

static void on_wake(uv_async_t *wake)
{
    struct sw_tracer *tracer = wake->data;
    if (__atomic_load_n(&tracer->stop, __ATOMIC_ACQUIRE) && !tracer->is_stopping) {
        tracer->is_stopping = true;
        uv_timer_start(&tracer->end, on_end, SW_TRACE_STOP_MS, 0);
        if (uv_is_active((uv_handle_t *)&tracer->again)) {
            uv_timer_stop(&tracer->again);
            send_batch(tracer);
        }
    }
    step(tracer);
}

static void run_tracer(void *argument)
{
    struct sw_tracer *tracer = argument;
    uv_timer_start(&tracer->tick, on_tick, SW_TRACE_EVERY_MS, SW_TRACE_EVERY_MS);
    uv_run(&tracer->uv, UV_RUN_DEFAULT);
}

static void close_loop(struct sw_tracer *tracer)
{
    sw_http_client_destroy(tracer->http);
    uv_close((uv_handle_t *)&tracer->wake, NULL);
    uv_close((uv_handle_t *)&tracer->tick, NULL);
    uv_close((uv_handle_t *)&tracer->again, NULL);
    uv_close((uv_handle_t *)&tracer->end, NULL);
    uv_run(&tracer->uv, UV_RUN_DEFAULT);
    uv_loop_close(&tracer->uv);
}

/* --- life ------------------------------------------------------------------------------------- */

static void free_tracer(struct sw_tracer *tracer)
{
    if (tracer != NULL) {
        for (uint32_t i = 0; i < tracer->loops; i++) {
            sw_span_queue_fini(&tracer->queues[i]);
        }
        free(tracer->queues);
        free(tracer->body);
        free(tracer);
    }
}

/* Allocates the queues, which share otlp-spans-max. */
static bool make_queues(struct sw_tracer *tracer, uint32_t loops)
{
    const uint32_t each = (tracer->config->otlp_spans_max + loops - 1) / loops;
    bool good = true;
    tracer->queues = aligned_alloc(64, loops * sizeof(*tracer->queues));
    for (; tracer->queues != NULL && tracer->loops < loops; tracer->loops++) {
        good &= sw_span_queue_init(&tracer->queues[tracer->loops], each) == 0;
    }
    return good && tracer->queues != NULL;
}

/* Ends the URL with the path of OTLP. */
static void make_url(struct sw_tracer *tracer)
{
    const char *endpoint = tracer->config->otlp_endpoint;
    size_t size = strlen(endpoint);
    while (endpoint[size - 1] == '/') {
        size--;
    }
    snprintf(tracer->url, sizeof(tracer->url), "%.*s" PATH, (int)size, endpoint);
}

/* Opens the libuv loop and starts the thread. Returns NULL, or an error text. */
static const char *start_thread(struct sw_tracer *tracer)
{
    uv_loop_init(&tracer->uv);
    uv_async_init(&tracer->uv, &tracer->wake, on_wake);
    uv_timer_init(&tracer->uv, &tracer->tick);
    uv_timer_init(&tracer->uv, &tracer->again);
    uv_timer_init(&tracer->uv, &tracer->end);
    tracer->wake.data = tracer->tick.data = tracer->again.data = tracer->end.data = tracer;
    tracer->http = sw_http_client_create(&tracer->uv);
    if (tracer->http != NULL && uv_thread_create(&tracer->thread, run_tracer, tracer) == 0) {
        return NULL;
    }
    const char *wrong = tracer->http == NULL
                            ? "not enough memory"
                            : "cannot start a thread: not enough memory for its stack";
    close_loop(tracer);
    return wrong;
}

int sw_tracer_start(const struct sw_config *config, const char *instance, struct sw_tracer **out)
{
    *out = NULL;
    if (config->otlp_endpoint[0] == '\0') {
        return 0;
    }
    if (!sw_http_client_is_built()) {
        sw_log(SW_LOG_ERROR, "otlp-endpoint: this server was built without libcurl: install "
                             "libcurl4-openssl-dev (Debian) and build it again");
        return -1;
    }
    struct sw_tracer *tracer = calloc(1, sizeof(*tracer));
    const char *wrong = "not enough memory";
    if (tracer != NULL) {
        tracer->config = config;
        tracer->instance = instance;
        make_url(tracer);
        wrong = make_queues(tracer, config->loops)
                    ? start_thread(tracer)
                    : "not enough memory for the spans: lower otlp-spans-max";
    }
    if (wrong != NULL) {
        sw_log(SW_LOG_ERROR, "otlp-endpoint: %s", wrong);
        free_tracer(tracer);
        return -1;
    }
    *out = tracer;
    return 0;
}

void sw_tracer_destroy(struct sw_tracer *tracer)
{
    if (tracer != NULL) {
        __atomic_store_n(&tracer->stop, true, __ATOMIC_RELEASE);
        uv_async_send(&tracer->wake);
        uv_thread_join(&tracer->thread);
        close_loop(tracer);
        free_tracer(tracer);
    }
}

struct sw_span_queue *sw_tracer_queue(struct sw_tracer *tracer, uint32_t loop)
{
    return tracer == NULL ? NULL : &tracer->queues[loop];
}

void sw_tracer_wake(struct sw_tracer *tracer)
{
    uv_async_send(&tracer->wake);
}

struct sw_tracer_counts sw_tracer_count(const struct sw_tracer *tracer)
{
    struct sw_tracer_counts counts = {0};
    if (tracer != NULL) {
        counts.exported = __atomic_load_n(&tracer->counts.exported, __ATOMIC_RELAXED);
        counts.failed = __atomic_load_n(&tracer->counts.failed, __ATOMIC_RELAXED);
    }
    return counts;
}
