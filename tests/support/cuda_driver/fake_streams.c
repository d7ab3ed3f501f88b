/* SPDX-License-Identifier: MIT
 *
 * fake_streams.c - the streams and events of fake_cuda.c. Each stream has a thread that carries out
 * its steps. A call that enqueues waits for its step, so that a test sees the effects at once.
 * After fake_asynchronous(1) it returns before, and each step begins after a random delay. The
 * steps of a stream that is captured go to its graph; fake_launch() enqueues them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define INVALID 1
#define NOT_IN_A_CAPTURE 900
#define CAPTURE_INVALID 901
#define DELAY_US 300
#define SLEEP_US 20

struct event {
    uint32_t recorded, passed; /* atomic: numbers of the last record enqueued, and carried out */
};

enum kind { COPY, WRITE, WAIT, RECORD, WAIT_EVENT, KERNEL };
struct step {
    struct step *next;
    enum kind kind;
    uintptr_t to, from;
    size_t bytes;
    uint32_t number;
    struct event *event;
    const char *name; /* KERNEL, of `number` blocks */
    char parameters[80];
};

/* A graph: its steps, and the object that it releases. */
struct object {
    struct object *next;
    void (*destroy)(void *);
    void *argument;
};
struct graph {
    struct step *first, **last;
    struct object *objects;
};

struct stream {
    pthread_t thread;
    struct graph *graph; /* NULL: the stream is not captured */
    struct step *first, **last;
    uint64_t enqueued, done; /* steps */
    bool ends;
};

/* The lock and the signal of all streams. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct stream *default_stream;
static bool is_asynchronous;
static int captures; /* streams that are captured, so that a thread may not allocate */
static bool invalid; /* a thread has tried to allocate, or to free, during these captures */
static _Thread_local int capture_mode;

/* For tests: 1: calls that enqueue return before the step is carried out. */
void fake_asynchronous(int yes)
{
    is_asynchronous = yes != 0;
}

/* Runs a kernel on the emulator, one at a time (direct_kernel.cu). */
void fake_direct_kernel(const char *name, unsigned blocks, const void *parameters);
static pthread_mutex_t kernels = PTHREAD_MUTEX_INITIALIZER;

static void carry_out(const struct step *step)
{
    switch (step->kind) {
    case COPY:
        memmove((void *)step->to, (const void *)step->from, step->bytes);
        return;
    case WRITE:
        __atomic_store_n((uint32_t *)step->to, step->number, __ATOMIC_RELEASE);
        return;
    case WAIT:
        while ((int32_t)(__atomic_load_n((uint32_t *)step->to, __ATOMIC_ACQUIRE) - step->number) <
               0) {
            usleep(SLEEP_US);
        }
        return;
    case KERNEL:
        pthread_mutex_lock(&kernels);
        fake_direct_kernel(step->name, step->number, step->parameters);
        pthread_mutex_unlock(&kernels);
        return;
    case RECORD:
        __atomic_store_n(&step->event->passed, step->number, __ATOMIC_RELEASE);
        return;
    case WAIT_EVENT:
        while ((int32_t)(__atomic_load_n(&step->event->passed, __ATOMIC_ACQUIRE) - step->number) <
               0) {
            usleep(SLEEP_US);
        }
        return;
    }
}

static void *run(void *argument)
{
    struct stream *stream = argument;
    unsigned seed = (unsigned)(uintptr_t)stream;
    pthread_mutex_lock(&lock);
    while (stream->first != NULL || !stream->ends) {
        struct step *step = stream->first;
        if (step == NULL) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        const bool late = is_asynchronous;
        pthread_mutex_unlock(&lock);
        if (late) {
            usleep((useconds_t)(rand_r(&seed) % DELAY_US));
        }
        carry_out(step);
        pthread_mutex_lock(&lock);
        stream->first = step->next;
        if (stream->first == NULL) {
            stream->last = &stream->first;
        }
        stream->done++;
        free(step);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int cuStreamCreate(void **made, unsigned flags)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    (void)flags;
    if (stream == NULL) {
        return INVALID;
    }
    stream->last = &stream->first;
    *made = stream;
    return pthread_create(&stream->thread, NULL, run, stream) == 0 ? 0 : INVALID;
}

/* Finds a stream. 0, 1 and 2 are the default streams. Call it with `lock` locked. */
static struct stream *stream_of(void *handle)
{
    if ((uintptr_t)handle > 2) {
        return (uintptr_t)handle > 4096 ? handle : NULL;
    }
    if (default_stream == NULL) {
        void *made = NULL;
        default_stream = cuStreamCreate(&made, 0) == 0 ? made : NULL;
    }
    return default_stream;
}

static void wait_until(const struct stream *stream, uint64_t done)
{
    while (stream->done < done) {
        pthread_cond_wait(&changed, &lock);
    }
}

static void append(struct step ***last, struct step step)
{
    struct step *copy = malloc(sizeof(*copy));
    *copy = step;
    copy->next = NULL;
    **last = copy;
    *last = &copy->next;
}

static int enqueue(void *handle, struct step step)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = stream_of(handle);
    if (stream == NULL || stream->graph != NULL) {
        if (stream != NULL) {
            append(&stream->graph->last, step);
        }
        pthread_mutex_unlock(&lock);
        return stream != NULL ? 0 : INVALID;
    }
    if (step.kind == RECORD) {
        step.number = ++step.event->recorded;
    } else if (step.kind == WAIT_EVENT) {
        step.number = step.event->recorded;
    }
    append(&stream->last, step);
    const uint64_t number = ++stream->enqueued;
    pthread_cond_broadcast(&changed);
    if (!is_asynchronous) {
        wait_until(stream, number);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuStreamSynchronize(void *handle)
{
    pthread_mutex_lock(&lock);
    const struct stream *stream = stream_of(handle);
    const bool valid = stream != NULL && stream->graph == NULL;
    if (valid) {
        wait_until(stream, stream->enqueued);
    }
    invalid |= stream != NULL && !valid;
    pthread_mutex_unlock(&lock);
    return valid ? 0 : stream != NULL ? NOT_IN_A_CAPTURE : INVALID;
}
int cuStreamDestroy_v2(void *handle)
{
    struct stream *stream = handle;
    pthread_mutex_lock(&lock);
    stream->ends = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(stream->thread, NULL);
    free(stream);
    return 0;
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* Returns whether this thread may allocate and free now. If not, the captures are invalid. */
bool fake_may_allocate(void)
{
    pthread_mutex_lock(&lock);
    const bool may = captures == 0 || capture_mode == 2;
    invalid |= !may;
    pthread_mutex_unlock(&lock);
    return may;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    const int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}
int cuStreamBeginCapture_v2(void *handle, int mode)
{
    struct graph *graph = calloc(1, sizeof(*graph));
    pthread_mutex_lock(&lock);
    struct stream *stream = stream_of(handle);
    graph->last = &graph->first;
    stream->graph = graph;
    captures++;
    pthread_mutex_unlock(&lock);
    return mode == 0 ? 0 : INVALID;
}
int cuStreamEndCapture(void *handle, void **graph)
{
    pthread_mutex_lock(&lock);
    struct stream *stream = stream_of(handle);
    *graph = stream->graph;
    stream->graph = NULL;
    captures--;
    const int error = invalid ? CAPTURE_INVALID : 0;
    invalid &= captures > 0;
    pthread_mutex_unlock(&lock);
    return error;
}
int cuStreamGetCaptureInfo_v2(void *handle, int *status, uint64_t *id, void **graph,
                              const void **nodes, size_t *count)
{
    (void)nodes;
    (void)count;
    pthread_mutex_lock(&lock);
    const struct stream *stream = stream_of(handle);
    *graph = stream != NULL ? stream->graph : NULL;
    *status = *graph != NULL;
    *id = 0;
    pthread_mutex_unlock(&lock);
    return stream != NULL ? 0 : INVALID;
}
int cuStreamIsCapturing(void *stream, int *status)
{
    uint64_t id;
    void *graph;
    return cuStreamGetCaptureInfo_v2(stream, status, &id, &graph, NULL, NULL);
}

int cuUserObjectCreate(void **made, void *argument, void (*destroy)(void *), unsigned references,
                       unsigned flags)
{
    struct object *object = calloc(1, sizeof(*object));
    object->destroy = destroy;
    object->argument = argument;
    *made = object;
    return references == 1 && flags == 1 ? 0 : INVALID;
}
int cuUserObjectRelease(void *handle, unsigned references)
{
    struct object *object = handle;
    object->destroy(object->argument);
    free(object);
    return references == 1 ? 0 : INVALID;
}
int cuGraphRetainUserObject(void *handle, void *retained, unsigned references, unsigned flags)
{
    struct graph *graph = handle;
    struct object *object = retained;
    object->next = graph->objects;
    graph->objects = object;
    return references == 1 && flags == 1 ? 0 : INVALID;
}
int cuGraphDestroy(void *handle)
{
    struct graph *graph = handle;
    while (graph->first != NULL) {
        struct step *step = graph->first;
        graph->first = step->next;
        free(step);
    }
    while (graph->objects != NULL) {
        struct object *object = graph->objects;
        graph->objects = object->next;
        (void)cuUserObjectRelease(object, 1);
    }
    free(graph);
    return 0;
}
/* For tests: enqueues the steps of a graph on a stream. */
int fake_launch(void *handle, void *stream)
{
    const struct graph *graph = handle;
    int error = 0;
    for (const struct step *step = graph->first; step != NULL; step = step->next) {
        error |= enqueue(stream, *step);
    }
    return error;
}

/* --- steps ------------------------------------------------------------------------------------ */

int cuStreamWriteValue32_v2(void *stream, uintptr_t address, uint32_t value, unsigned flags)
{
    return flags != 0
               ? INVALID
               : enqueue(stream, (struct step){.kind = WRITE, .to = address, .number = value});
}
int cuStreamWaitValue32_v2(void *stream, uintptr_t address, uint32_t value, unsigned flags)
{
    return flags != 0
               ? INVALID
               : enqueue(stream, (struct step){.kind = WAIT, .to = address, .number = value});
}
int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
    return enqueue(stream, (struct step){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

int cuEventCreate(void **made, unsigned flags)
{
    (void)flags;
    *made = calloc(1, sizeof(struct event));
    return *made != NULL ? 0 : INVALID;
}
int cuEventDestroy_v2(void *event)
{
    free(event);
    return 0;
}
int cuEventRecord(void *event, void *stream)
{
    return enqueue(stream, (struct step){.kind = RECORD, .event = event});
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    return flags != 0 ? INVALID
                      : enqueue(stream, (struct step){.kind = WAIT_EVENT, .event = event});
}
int cuEventSynchronize(void *handle)
{
    struct event *event = handle;
    pthread_mutex_lock(&lock);
    const uint32_t number = event->recorded;
    pthread_mutex_unlock(&lock);
    while ((int32_t)(__atomic_load_n(&event->passed, __ATOMIC_ACQUIRE) - number) < 0) {
        usleep(SLEEP_US);
    }
    return 0;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                   void **parameters, void **extra)
{
    struct step step = {.kind = KERNEL, .number = x, .name = function};
    memcpy(step.parameters, parameters[0], sizeof(step.parameters));
    return y == 1 && z == 1 && block_x == 256 && block_y == 1 && block_z == 1 && shared == 0 &&
                   extra == NULL
               ? enqueue(stream, step)
               : INVALID;
}
