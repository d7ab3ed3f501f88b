/* SPDX-License-Identifier: MIT
 *
 * attached.h - the handle of libsherwood-cuda.
 */
#ifndef SHERWOOD_CLIENT_CUDA_ATTACHED_H
#define SHERWOOD_CLIENT_CUDA_ATTACHED_H

#include <pthread.h>

#include "client/cuda/driver.h"
#include "client/sherwood-cuda.h"

/* The most registered allocations. One more unregisters the least recently used. */
#define SW_CUDA_ALLOCATIONS_MAX 32

/* Calls copy an array of a smaller allocation through a stage, unless it is registered: many such
 * allocations would use up the entries. */
#define SW_CUDA_SMALL_BYTES ((uint64_t)256 << 10)

/* A struct of a program with a larger size was not initialised. */
#define SW_CUDA_STRUCT_BYTES_MAX 4096

/* Room for the sentence of an error. */
#define SW_CUDA_TEXT_BYTES 512

/* An allocation that is registered with the server. */
struct sw_cuda_allocation {
    uintptr_t base;
    size_t bytes;
    uint64_t buffer; /* the driver's number of the allocation; a later one at this address has
                        another number */
    uint64_t used;   /* the handle's clock at the last use */
    struct sherwood_region *region; /* NULL: the entry is free */
};

/* The arrays of a call. */
enum sw_cuda_array {
    SW_CUDA_KEYS,
    SW_CUDA_VALUES,
    SW_CUDA_SCORES,
    SW_CUDA_TIMES,
    SW_CUDA_PREVIOUS, /* this one and the next ones receive answers */
    SW_CUDA_FOUND,
    SW_CUDA_NOT_ADMITTED,
    SW_CUDA_SCORES_OUT,
    SW_CUDA_EVICTED_KEYS, /* this one and the next ones have an element for each evicted entry */
    SW_CUDA_EVICTED_VALUES,
    SW_CUDA_EVICTED_SCORES,
    SW_CUDA_ARRAYS
};

/* A part of a call, with structs of its own. */
struct sw_cuda_part {
    struct sherwood_cuda_call call; /* its `cache` and `times` point to the next members */
    struct sherwood_cache cache;
    struct sherwood_times times;
};

/* A table that was opened, on the connection of the handle. */
struct sw_cuda_table {
    struct sherwood *client;
    uint32_t number; /* atomic; of struct sherwood_cuda_call; 0: calls are refused */
    uint32_t last;   /* the number, also after it is 0; the next table of the entry has another */
    uint32_t users;  /* atomic: number of calls in threads that use the entry */
};

/* The entry of a table in struct sherwood_cuda, by its number. */
#define SW_CUDA_TABLE_OF(number) (((number)-1) % SHERWOOD_CUDA_TABLES_MAX)

/* A call in stream order. A captured call goes from FLIES to WAITS, for the next replay. */
enum sw_cuda_ordered_state {
    SW_ORDERED_FREE,
    SW_ORDERED_TAKEN, /* the caller has not enqueued it on its stream yet */
    SW_ORDERED_WAITS, /* its stream has not reached it yet */
    SW_ORDERED_FLIES
};
struct sw_cuda_ordered {
    struct sherwood_cuda *cuda;
    struct sherwood_request request;
    struct sw_cuda_part part;
    uint32_t ticket; /* 1 of a captured call */
    enum sw_cuda_ordered_state state;
    bool captured;
    bool is_direct; /* kernels write its words (direct_call.h) */
    bool dropped;   /* its graph is gone, and a replay is in flight */
    bool is_second; /* the server refused the request, and the table's handle was renewed */
    /* memory that a captured call copies arrays through; stays with the entry; 0: none */
    uintptr_t memory;
    uint64_t memory_bytes;
};
/* Entries of calls, and behind them those of captured calls. */
#define SW_CUDA_ENTRIES (SHERWOOD_CUDA_ORDERED_MAX + SHERWOOD_CUDA_CAPTURED_MAX)

/* Two words of a call in stream order, in memory that stream and host see. */
struct sw_cuda_words {
    uint32_t ready; /* written by the stream: the keys of this ticket's call are in memory */
    uint32_t done;  /* written by the host: its answers are in memory */
    uint32_t unused[14];
};

/* Memory of the library. Calls copy those arrays through it that the server cannot map. */
struct sw_cuda_stage {
    pthread_mutex_t turn; /* locked while a call enqueues copies */
    uintptr_t memory;     /* 0: not allocated yet */
    void *stream;         /* stream of the last call */
    void *event;          /* recorded behind the copies of the last call; NULL: not created yet */
    uint64_t used;        /* the clock of the stages at the last use; 0: never */
};

struct sherwood_cuda {
    struct sw_driver driver;
    void *context; /* the primary context of the device */
    int ordinal;
    bool switches; /* the device works for this process and the server by turns */
    uint8_t uuid[16];

    /* The mutex `turn` protects the client handle and the allocations. */
    pthread_mutex_t turn;
    uint32_t wanted; /* atomic: number of threads that wait for `turn` */
    struct sherwood *client;
    struct sw_cuda_table tables[SHERWOOD_CUDA_TABLES_MAX];
    uint32_t table_count; /* only rises */
    uint64_t clock;
    struct sw_cuda_allocation allocations[SW_CUDA_ALLOCATIONS_MAX];

    /* Stages of calls in stream order, one per stream while there are enough, and the stage of
     * calls that wait. The mutex `staging` protects `used` and `stream` of each. It is the last to
     * be locked, and `turn` of a stage is the first. */
    pthread_mutex_t staging;
    struct sw_cuda_stage stages[SHERWOOD_CUDA_STAGES_MAX];
    struct sw_cuda_stage waiting;
    void *copies; /* stream of `waiting`; NULL: not created yet */
    uint64_t stage_clock;
    uint64_t stage_bytes;
    uint64_t staged_bytes; /* atomic: bytes copied through stages */

    struct sw_cuda_direct *direct; /* atomic; NULL: no direct reads */
    bool direct_begun;             /* atomic: they have begun, or a thread begins them */

    /* Calls in stream order, under `lock`, which is taken after `turn`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread;
    bool ends;
    /* The handle was closed and graphs still have calls: the thread ends each replay with a
     * failure, and frees the handle after the last graph. Also under `turn`. */
    bool outlived;
    bool closed;       /* with `outlived`: sherwood_cuda_close is over */
    uint32_t captured; /* number of captured calls */
    int failure;       /* status of the first failure since sherwood_cuda_check */
    char failure_text[256];
    uint32_t tickets;
    uint32_t under_way;
    struct sw_cuda_words *words; /* array of SW_CUDA_ENTRIES elements */
    uintptr_t words_address;     /* their address on the device */
    struct sw_cuda_ordered ordered[SW_CUDA_ENTRIES];
};

/* Stores the sentence of this thread and returns the status. */
int sw_cuda_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lock and unlock `turn`. Other threads that wait come before the thread of ordered.c. */
void sw_cuda_take_turn(struct sherwood_cuda *cuda);
void sw_cuda_give_turn(struct sherwood_cuda *cuda);

/* Do the same, and enter the context meanwhile (sw_driver_enter). sw_cuda_enter returns the mode
 * for sw_cuda_leave. */
int sw_cuda_enter(struct sherwood_cuda *cuda);
void sw_cuda_leave(struct sherwood_cuda *cuda, int mode);
/* Returns how many keys of a call the server takes in one frame. */
uint64_t sw_cuda_frame_keys(const struct sherwood_cuda *cuda,
                            const struct sherwood_cuda_call *call);
/* Runs a call whose arrays are registered, of any number of keys. Call it with `turn` locked. */
int sw_cuda_run_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);

/* allocations.c. Call these with `turn` locked and the context current. */

/* Registers the allocation of `bytes` bytes at the pointer, unless it is registered. Ignores NULL.
 * If calls have to copy the memory, sets *staged. If `staged` is NULL, refuses such memory. */
int sw_cuda_share(struct sherwood_cuda *cuda, const void *pointer, uint64_t bytes, const char *what,
                  bool *staged);
/* tables.c */

/* Keeps the table of a call open until sw_cuda_table_leave. Refuses a number of no open table. */
int sw_cuda_table_enter(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
void sw_cuda_table_leave(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
void sw_cuda_close_tables(struct sherwood_cuda *cuda);

/* arrays.c. `array` is of enum sw_cuda_array. */

/* Returns the handle of the table of a call that has entered it, or is in stream order. */
struct sherwood *sw_cuda_client_of(const struct sherwood_cuda *cuda,
                                   const struct sherwood_cuda_call *call);
/* Returns the address of an array of a call; 0: the call has no such array. */
uintptr_t sw_cuda_array_at(const struct sherwood_cuda_call *call, uint32_t array);
/* Returns the name of an array, for errors. */
const char *sw_cuda_array_name(const struct sherwood_cuda_call *call, uint32_t array);
/* Returns the size of an array of a call with this number of keys. */
uint64_t sw_cuda_array_bytes(const struct sherwood_cuda *cuda,
                             const struct sherwood_cuda_call *call, uint32_t array, uint64_t count);
/* Makes a part of `count` keys with these arrays. */
void sw_cuda_part_of(const struct sherwood_cuda_call *call, const uintptr_t arrays[SW_CUDA_ARRAYS],
                     uint64_t count, struct sw_cuda_part *part);
/* Makes the part of `count` keys from key `at` on. The arrays of evicted entries begin behind those
 * of earlier parts. */
void sw_cuda_part_at(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                     uint64_t at, uint64_t count, struct sw_cuda_part *part);
/* Clears the counts of a call that is about to begin. */
void sw_cuda_clear_counts(const struct sherwood_cuda_call *call);
/* Adds the counts of a part that was carried out to those of its call. */
void sw_cuda_add_counts(const struct sw_cuda_part *part);
/* Fills the request of a part of at most frame_ops_max keys, which borrows the part. */
void sw_cuda_request_of(const struct sw_cuda_part *part, struct sherwood_request *request);

/* allocations.c */

/* Registers the arrays of a call. *staged receives a bit of enum sw_cuda_array for each array that
 * the call has to copy. If `staged` is NULL, refuses such arrays. */
int sw_cuda_share_all(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                      uint32_t *staged);
/* Does that and runs the call, unless it has to copy arrays. */
int sw_cuda_share_and_run(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                          uint32_t *staged);
int sw_cuda_unshare(struct sherwood_cuda *cuda, const void *pointer);

/* staging.c. Carry out a call with these arrays copied through a stage: on the host, or in the
 * order of its stream with the context current. Call them without `turn`. */
int sw_cuda_run_staged(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                       uint32_t staged);
int sw_cuda_enqueue_staged(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                           uint32_t staged);
/* Carries out a call by `run` with these arrays copied through memory: runs it between the copies
 * in and the copies out, which are steps of its stream. */
int sw_cuda_with_copies(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                        uint32_t staged, uintptr_t memory,
                        int (*run)(struct sherwood_cuda *, const struct sherwood_cuda_call *,
                                   void *argument),
                        void *argument);
/* Returns the bytes of memory that all copies of a call need. */
uint64_t sw_cuda_copied_bytes(const struct sherwood_cuda *cuda,
                              const struct sherwood_cuda_call *call, uint32_t staged);
/* Rounds up to the unit of the driver's allocations: exported memory of other sizes is slow. */
uint64_t sw_cuda_unit_bytes(uint64_t bytes);
/* Waits for the copies of earlier calls in stream order, with the context current. */
void sw_cuda_wait_for_stages(struct sherwood_cuda *cuda);
void sw_cuda_stages_open(struct sherwood_cuda *cuda);
/* Frees the stages. The server no longer maps them. */
void sw_cuda_stages_close(struct sherwood_cuda *cuda);

/* replies.c. Ends a call in stream order with this status, and a sentence about it. */
void sw_cuda_ordered_finish(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered, int status,
                            const char *text);
/* Finishes the requests whose replies have arrived. Returns whether any has. Call it with `turn`
 * locked. */
bool sw_cuda_ordered_receive(struct sherwood_cuda *cuda);

/* ordered.c. Enqueues a call on its stream, with the context current. Its arrays are registered. */
int sw_cuda_enqueue(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
/* The end of a call, which its stream has not got yet. */
struct sw_cuda_pending {
    void *stream;
    uintptr_t done; /* address of the word on the device */
    uint32_t ticket;
};
/* Do the same in two steps: the stream begins the call, and waits for its answers. */
int sw_cuda_enqueue_begin(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                          struct sw_cuda_pending *pending);
int sw_cuda_enqueue_end(struct sherwood_cuda *cuda, const struct sw_cuda_pending *pending);
/* Returns the first failure since the last check, and clears it. `waits`: first waits for all
 * calls.
 */
int sw_cuda_ordered_check(struct sherwood_cuda *cuda, bool waits);
/* Takes an entry, which may have to wait for a call to end. Too many captured calls are a failure.
 */
int sw_cuda_ordered_take(struct sherwood_cuda *cuda, bool captured, struct sw_cuda_ordered **entry);
/* The entry of a captured call is ready for replays. */
void sw_cuda_ordered_begin(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry);
/* Frees the entry of a captured call. */
void sw_cuda_ordered_release(struct sherwood_cuda *cuda, struct sw_cuda_ordered *entry);
/* Returns whether a call in stream order, or a graph, has this number of a table. */
bool sw_cuda_ordered_uses(struct sherwood_cuda *cuda, uint32_t table);
/* Returns the address of the words of an entry on the device. */
uintptr_t sw_cuda_words_of(const struct sherwood_cuda *cuda, const struct sw_cuda_ordered *entry);
/* Waits for the calls in flight, and ends the thread. Returns false if graphs still have calls:
 * then the thread frees the handle after sw_cuda_ordered_closed. */
bool sw_cuda_ordered_close(struct sherwood_cuda *cuda);
void sw_cuda_ordered_closed(struct sherwood_cuda *cuda);

/* direct.c. Returns whether kernels of this process try a call first. */
bool sw_cuda_direct_takes(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
/* Enqueues the attempts of a call on its stream. They store the entry's ticket in `done` or `ready`
 * of its words, which lie at this address. Returns an error of the driver. */
int sw_cuda_direct_enqueue(struct sherwood_cuda *cuda, const struct sw_cuda_ordered *entry,
                           uintptr_t words, const struct sherwood_cuda_call *call);
/* Carries out a call that waits: after the work of its stream, if it has one. Returns false if the
 * server has to answer it. With the context current, and without `turn`. */
bool sw_cuda_direct_read(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
/* The server answers a call that the kernels could not. */
void sw_cuda_direct_missed(struct sherwood_cuda *cuda);
/* Ends direct reads; kernels of graphs may still run, and find no table. */
void sw_cuda_direct_close(struct sherwood_cuda *cuda);
/* The image of the kernel, which the Makefile makes; empty in a build without nvcc. */
extern const char sw_cuda_direct_image[];
/* Frees what such kernels use, with the context current. */
void sw_cuda_direct_free(struct sherwood_cuda *cuda);

/* calls.c */

/* Copies the call of a program that was compiled with this version, an earlier or a later one. */
int sw_cuda_read_call(const struct sherwood_cuda_call *given, struct sherwood_cuda_call *call);
/* Waits for the work of a stream, with the context current. Refuses a stream that is captured. */
int sw_cuda_wait_for_stream(const struct sherwood_cuda *cuda, void *stream);
/* Carries out a call that has keys and keeps its table open. */
int sw_cuda_carry_out(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);

/* captured.c. Captures a call into the graph of its stream, with the context current. */
int sw_cuda_capture(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
/* free.c. Frees what remains of a handle: words, context, driver. */
void sw_cuda_free(struct sherwood_cuda *cuda);

#endif
