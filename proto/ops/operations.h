/* SPDX-License-Identifier: MIT
 *
 * operations.h - the operations, one row each.
 *
 * C code for host and device expands every enum, mask and predicate of operations from these rows.
 * proto/ops/write generates the enums of files that are not C or that are installed alone.
 * proto/ops/README.md lists the steps to add an operation.
 */
#ifndef SHERWOOD_OPS_OPERATIONS_H
#define SHERWOOD_OPS_OPERATIONS_H

#include <stdint.h>

/* Verbs: what an operation does to a key. X(verb, operand, absent, effect, repeated)
 *
 * operand   NONE, VALUE (a value of the table), PAIR (two values), PART (part of a value), TIME.
 * absent    An absent key STAYS absent, or is BORN. A guard may keep it absent, never create it.
 * effect    READS, WRITES the value, REMOVES the key, RETIMES (changes the expiry time).
 * repeated  How table/change.h folds several operations on one key. SAME: they do not change the
 *           value. STATE: the result does not depend on the value before. ADDS and CLAMPS compose
 *           with each other. BITS composes with BITS. ORDER: the operations run one by one. */
/* clang-format off */
#define SW_VERB_MAP(X)                        \
    X(READ,     NONE,  STAYS, READS,   SAME)  \
    X(SET,      VALUE, BORN,  WRITES,  STATE) \
    X(FIND,     VALUE, BORN,  WRITES,  SAME)  \
    X(ADD,      VALUE, BORN,  WRITES,  ADDS)  \
    X(SUBTRACT, VALUE, BORN,  WRITES,  ADDS)  \
    X(MULTIPLY, VALUE, STAYS, WRITES,  ORDER) \
    X(MIN,      VALUE, BORN,  WRITES,  CLAMPS) \
    X(MAX,      VALUE, BORN,  WRITES,  CLAMPS) \
    X(ADD_ROW,  VALUE, BORN,  WRITES,  ORDER) \
    X(DELETE,   NONE,  STAYS, REMOVES, STATE) \
    X(USE,      NONE,  STAYS, WRITES,  SAME)  \
    X(EXPIRE,   TIME,  STAYS, RETIMES, ORDER) \
    X(PERSIST,  NONE,  STAYS, RETIMES, ORDER) \
    X(TTL,      NONE,  STAYS, READS,   SAME)  \
    X(OR,       VALUE, BORN,  WRITES,  BITS) \
    X(XOR,      VALUE, BORN,  WRITES,  BITS) \
    X(AND,      VALUE, STAYS, WRITES,  BITS) \
    X(ANDNOT,   VALUE, STAYS, WRITES,  BITS) \
    X(SWAP,     PAIR,  STAYS, WRITES,  ORDER) \
    X(SETRANGE, PART,  BORN,  WRITES,  ORDER) \
    X(GETRANGE, NONE,  STAYS, READS,   SAME)  \
    X(INCRBY,   VALUE, BORN,  WRITES,  ORDER) \
    X(INCRBYFLOAT, VALUE, BORN, WRITES, ORDER) \
    X(APPEND,   VALUE, BORN,  WRITES,  ORDER) \
    X(ADD_FITTING, VALUE, BORN, WRITES, ORDER) \
    X(SUBTRACT_FITTING, VALUE, STAYS, WRITES, ORDER) \
    X(ASSIGN,   NONE,  BORN,  WRITES,  SAME)

/* Guards: when the verb is applied. ALWAYS; if the key is ABSENT or PRESENT; if the result FITS the
 * width; if the value is EQUAL to the operand's first value; or by the current expiry time. An
 * operation whose guard fails changes nothing. */
#define SW_WHEN_MAP(X) \
    X(ALWAYS) X(ABSENT) X(PRESENT) X(FITS) X(EQUAL) X(NEVER) X(SOME) X(LATER) X(EARLIER) X(SHORTEN)

/* Operations on keys that the table executes: those that tables of integers have, and the others.
 * Code that runs for each operation on integers tests CORE first, and EXTRA behind its default.
 * X(name, number, op, verb, guard, element, on, use, times, device, acl, command, text)
 *
 * number    on the wire (sherwood.proto); never another.
 * op        number in the table and in the log; never changes.
 * element   of the row, in SW_ELEMENT_MAP. OWN: the table's own type.
 * on        tables that support it: INTEGERS, ROWS, PLAIN (both), CACHE, BLOBS (rows and caches),
 *           ANY, EXPIRY (tables whose keys expire), IDS (tables that number their keys).
 * use       USE if it counts as a use of a cache entry, otherwise NO_USE.
 * times     TIMES if a request may set an expiry time with it, otherwise NO_TIMES.
 * device    DEVICE if the table uses arrays in device memory where they lie. COPIES if the server
 *           copies them to its own memory and back, because others than the table use them.
 * acl       SAME: `command` does the same. LIKE: no command does the same; `command` is closest.
 * command   RESP command whose ACL right the operation requires.
 * text      one sentence for sherwood.proto and sherwood.h. */
#define SW_CORE_OPERATION_MAP(X) \
    X(GET, 1, 0, READ, ALWAYS, OWN, ANY, USE, NO_TIMES, DEVICE, SAME, "get", \
      "read") \
    X(SET, 2, 1, SET, ALWAYS, OWN, ANY, USE, TIMES, DEVICE, SAME, "set", \
      "insert or replace") \
    X(SUM, 3, 2, ADD, ALWAYS, OWN, INTEGERS, USE, TIMES, DEVICE, SAME, "sum", \
      "insert, or add modulo 2^width") \
    X(MIN, 4, 3, MIN, ALWAYS, OWN, INTEGERS, USE, TIMES, DEVICE, SAME, "min", \
      "insert, or keep the smaller value") \
    X(MAX, 5, 4, MAX, ALWAYS, OWN, INTEGERS, USE, TIMES, DEVICE, SAME, "max", \
      "insert, or keep the larger value") \
    X(SET_ABSENT, 6, 5, SET, ABSENT, OWN, ANY, NO_USE, TIMES, DEVICE, SAME, "setnx", \
      "insert if absent") \
    X(SET_PRESENT, 7, 6, SET, PRESENT, OWN, ANY, USE, TIMES, DEVICE, SAME, "set", \
      "replace if present") \
    X(INCREMENT, 8, 7, ADD, FITS, OWN, INTEGERS, USE, TIMES, DEVICE, SAME, "incrby", \
      "add; a key whose value would overflow keeps its value") \
    X(DECREMENT, 9, 8, SUBTRACT, FITS, OWN, INTEGERS, USE, NO_TIMES, DEVICE, SAME, "decrby", \
      "subtract; a key whose value would be negative keeps its value") \
    X(DELETE, 10, 9, DELETE, ALWAYS, OWN, ANY, NO_USE, NO_TIMES, DEVICE, SAME, "del", \
      "remove")
#define SW_EXTRA_OPERATION_MAP(X) \
    X(OR, 64, 33, OR, ALWAYS, OWN, PLAIN, NO_USE, NO_TIMES, DEVICE, SAME, "or", \
      "set the operand's bits; an absent key counts as 0, and is inserted") \
    X(XOR, 65, 34, XOR, ALWAYS, OWN, PLAIN, NO_USE, NO_TIMES, DEVICE, SAME, "xor", \
      "toggle the operand's bits; an absent key counts as 0, and is inserted") \
    X(AND, 66, 35, AND, PRESENT, OWN, PLAIN, NO_USE, NO_TIMES, DEVICE, SAME, "and", \
      "keep only the operand's bits; an absent key stays absent") \
    X(ANDNOT, 67, 36, ANDNOT, PRESENT, OWN, PLAIN, NO_USE, NO_TIMES, DEVICE, SAME, "andnot", \
      "clear the operand's bits; an absent key stays absent") \
    X(MUL, 73, 37, MULTIPLY, FITS, OWN, INTEGERS, USE, NO_TIMES, DEVICE, SAME, "mul", \
      "multiply a present key; one whose value would overflow keeps its value")
#define SW_INTEGER_OPERATION_MAP(X) SW_CORE_OPERATION_MAP(X) SW_EXTRA_OPERATION_MAP(X)
/* Operations with two operands, on integers and rows. The code for one operand does not load the
 * second one, so a batch that has such an operation takes paths of its own (SW_OPS_PAIR). */
#define SW_PAIR_OPERATION_MAP(X) \
    X(CAS, 68, 46, SWAP, EQUAL, OWN, PLAIN, NO_USE, NO_TIMES, COPIES, SAME, "cas", \
      "if the value equals the operand's first value, store the second")
#define SW_OTHER_OPERATION_MAP(X) \
    X(PEEK, 11, 10, READ, ALWAYS, OWN, CACHE, NO_USE, NO_TIMES, DEVICE, LIKE, "get", \
      "cache: read; does not count as a use") \
    X(FIND_OR_INSERT, 12, 11, FIND, ALWAYS, OWN, CACHE, USE, NO_TIMES, DEVICE, LIKE, "set", \
      "cache: insert if absent; otherwise read and count a use") \
    X(SET_SCORE, 13, 12, USE, ALWAYS, OWN, CACHE, USE, NO_TIMES, DEVICE, LIKE, "set", \
      "cache: if present, record a use with the request's score") \
    X(SET_VALUE, 14, 13, SET, PRESENT, OWN, CACHE, NO_USE, NO_TIMES, DEVICE, LIKE, "set", \
      "cache: replace if present; does not count as a use") \
    X(ADD_F32, 15, 14, ADD_ROW, ALWAYS, F32, BLOBS, USE, TIMES, DEVICE, SAME, "add", \
      "insert, or add number by number: 32-bit floats") \
    X(ADD_U32, 16, 15, ADD_ROW, ALWAYS, U32, BLOBS, USE, TIMES, DEVICE, SAME, "add", \
      "insert, or add number by number: 32-bit integers, modulo 2^32") \
    X(ADD_U64, 17, 16, ADD_ROW, ALWAYS, U64, BLOBS, USE, TIMES, DEVICE, SAME, "add", \
      "as ADD_U32, of u64 and i64; value_bytes is a multiple of 8") \
    X(ADD_PRESENT_F32, 18, 17, ADD_ROW, PRESENT, F32, BLOBS, USE, NO_TIMES, DEVICE, SAME, "add", \
      "add if present") \
    X(ADD_PRESENT_U32, 19, 18, ADD_ROW, PRESENT, U32, BLOBS, USE, NO_TIMES, DEVICE, SAME, "add", "") \
    X(ADD_PRESENT_U64, 20, 19, ADD_ROW, PRESENT, U64, BLOBS, USE, NO_TIMES, DEVICE, SAME, "add", "") \
    X(ADD_F16, 21, 20, ADD_ROW, ALWAYS, F16, ROWS, USE, TIMES, DEVICE, SAME, "add", \
      "rows: as ADD_F32, each sum rounded to 16 bits, IEEE 754") \
    X(ADD_BF16, 22, 21, ADD_ROW, ALWAYS, BF16, ROWS, USE, TIMES, DEVICE, SAME, "add", \
      "rows: as ADD_F16, in bfloat16: the high half of a 32-bit float") \
    X(ADD_PRESENT_F16, 23, 22, ADD_ROW, PRESENT, F16, ROWS, USE, NO_TIMES, DEVICE, SAME, "add", "") \
    X(ADD_PRESENT_BF16, 24, 23, ADD_ROW, PRESENT, BF16, ROWS, USE, NO_TIMES, DEVICE, SAME, "add", "") \
    X(EXPIRE, 25, 24, EXPIRE, ALWAYS, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "set the expiry time of a present key") \
    X(EXPIRE_NONE, 26, 25, EXPIRE, NEVER, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "as EXPIRE, if the key has no expiry time") \
    X(EXPIRE_SOME, 27, 26, EXPIRE, SOME, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "as EXPIRE, if the key has an expiry time") \
    X(EXPIRE_LATER, 28, 27, EXPIRE, LATER, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "as EXPIRE, if the key has an earlier expiry time") \
    X(EXPIRE_EARLIER, 29, 28, EXPIRE, EARLIER, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "as EXPIRE, if the key has a later expiry time or none") \
    X(EXPIRE_SHORTEN, 30, 29, EXPIRE, SHORTEN, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "expire", \
      "as EXPIRE, if the key has a later expiry time") \
    X(INCRBY, 77, 30, INCRBY, ALWAYS, STRING, ROWS, USE, TIMES, COPIES, SAME, "incrby", \
      "rows of strings: add an integer, a decimal text, as in redis") \
    X(INCRBYFLOAT, 78, 31, INCRBYFLOAT, ALWAYS, STRING, ROWS, USE, TIMES, COPIES, SAME, "incrbyfloat", \
      "rows of strings: add a decimal number; other values stay") \
    X(APPEND, 79, 32, APPEND, ALWAYS, STRING, ROWS, USE, TIMES, COPIES, SAME, "append", \
      "rows of strings: append; an absent key counts as empty") \
    X(SETRANGE, 69, 38, SETRANGE, ALWAYS, OWN, ROWS, NO_USE, NO_TIMES, COPIES, SAME, "setrange", \
      "rows: replace part; an absent key counts as zeros") \
    X(INCREMENT_F32, 80, 39, ADD_FITTING, ALWAYS, F32, ROWS, USE, TIMES, COPIES, LIKE, "incrbyfloat", \
      "rows of f32: add; a number stays if its sum is not finite") \
    X(INCREMENT_U64, 81, 40, ADD_FITTING, ALWAYS, U64, ROWS, USE, TIMES, COPIES, LIKE, "incrby", \
      "rows of u64: add; a number stays if its sum would overflow") \
    X(DECREMENT_U64, 82, 41, SUBTRACT_FITTING, ALWAYS, U64, ROWS, USE, NO_TIMES, COPIES, LIKE, "decrby", \
      "rows of u64: subtract if present; a smaller number stays") \
    X(INCREMENT_I64, 83, 42, ADD_FITTING, ALWAYS, I64, ROWS, USE, TIMES, COPIES, LIKE, "incrby", \
      "rows of i64: add; a number stays if its sum would overflow") \
    X(ADD_F64, 84, 43, ADD_ROW, ALWAYS, F64, ROWS, USE, TIMES, DEVICE, SAME, "add", \
      "rows: as ADD_F32, 64-bit floats; value_bytes is a multiple of 8") \
    X(ADD_PRESENT_F64, 85, 44, ADD_ROW, PRESENT, F64, ROWS, USE, NO_TIMES, DEVICE, SAME, "add", "") \
    X(INCREMENT_F64, 86, 45, ADD_FITTING, ALWAYS, F64, ROWS, USE, TIMES, COPIES, LIKE, "incrbyfloat", \
      "rows of f64: add; a number stays if its sum is not finite")
#define SW_DATA_OPERATION_MAP(X) \
    SW_INTEGER_OPERATION_MAP(X) SW_PAIR_OPERATION_MAP(X) SW_OTHER_OPERATION_MAP(X)
/* The largest `op` plus one. table/op.h checks it at compile time. */
#define SW_OPS_END 47

/* Operations on keys that the server makes of one operation of the table, `op`. The columns are the
 * same. */
#define SW_COMPOSED_OPERATION_MAP(X) \
    X(GETRANGE, 70, GET, GETRANGE, ALWAYS, OWN, BLOBS, USE, NO_TIMES, COPIES, SAME, "getrange", \
      "rows, also of a cache: read part of the value") \
    X(PERSIST, 71, EXPIRE, PERSIST, PRESENT, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "persist", \
      "remove the expiry time of a present key") \
    X(TTL, 72, GET, TTL, ALWAYS, OWN, EXPIRY, NO_USE, NO_TIMES, COPIES, SAME, "ttl", \
      "read the expiry time: 8 bytes; 0 if the key never expires or is absent") \
    X(ASSIGN, 87, FIND_OR_INSERT, ASSIGN, ALWAYS, OWN, IDS, NO_USE, NO_TIMES, DEVICE, SAME, "assign", \
      "ids: return the key's id; an absent key gets a free one")

/* Control operations. X(name, number, who, needs, effect, acl, command, text)
 *
 * who       The SERVER executes it, or the TABLE does, as a batch of the kind with the same name.
 * needs     DATA: the table must be loaded first. NOTHING: it runs at any time.
 * effect    WRITES: the log and replicas receive it. CHANGES: they do not (capacity). READS. */
#define SW_CONTROL_OPERATION_MAP(X) \
    X(HELLO, 32, SERVER, NOTHING, READS, LIKE, "hello", \
      "return a ServerInfo; log in if the request has a user or a password") \
    X(PING, 33, SERVER, NOTHING, READS, SAME, "ping", "") \
    X(STATS, 34, SERVER, NOTHING, READS, SAME, "info", \
      "return statistics: each has a name of 56 bytes and a uint64 (frame.h)") \
    X(CLEAR, 35, TABLE, DATA, WRITES, SAME, "flushall", "remove all keys") \
    X(SCAN, 36, TABLE, DATA, READS, SAME, "scan", \
      "return keys and values, and the cursor of the next SCAN") \
    X(RESIZE, 37, TABLE, DATA, CHANGES, SAME, "resize", \
      "resize the table to `capacity_slots` slots; the reply has the resulting number") \
    X(COUNT_SCORES, 38, TABLE, DATA, READS, LIKE, "scan", \
      "cache: count the keys with a score in the range; `matched` of the reply is their number") \
    X(ERASE_SCORES, 39, TABLE, DATA, WRITES, LIKE, "flushall", \
      "cache: remove the keys with a score in the range; `matched` of the reply is their number") \
    X(EPOCH, 40, TABLE, DATA, WRITES, LIKE, "config|set", \
      "cache policies with epochs: advance to `epoch` unless it is 0; the reply has the current epoch") \
    X(WAIT_DURABLE, 41, SERVER, DATA, READS, SAME, "waitaof", \
      "wait until a write survives a crash of the machine, at most `timeout_ms`") \
    X(ATTACH, 42, SERVER, NOTHING, READS, LIKE, "ping", \
      "Unix sockets: return the limits in `sharing`; from then on the server accepts descriptors") \
    X(REGION, 43, SERVER, NOTHING, READS, LIKE, "ping", \
      "register the ring or the memory that `region` describes") \
    X(RELEASE, 44, SERVER, NOTHING, READS, LIKE, "ping", \
      "unregister the memory of `region.index`; the server replies when no request uses it") \
    X(BELL, 45, SERVER, DATA, READS, LIKE, "", "wake the server to read the ring; no reply") \
    X(WAIT, 46, SERVER, DATA, READS, SAME, "wait", \
      "wait until `count` replicas have this connection's writes, at most `timeout_ms`; the reply has their number") \
    X(DIGEST, 47, SERVER, DATA, READS, SAME, "digest", \
      "return a Digest: checksums of all entries") \
    X(TABLE, 48, SERVER, DATA, CHANGES, SAME, "table", \
      "change or save tables: `words` are CREATE, ALTER, DROP, RENAME, SWAP or SAVE, as by RESP") \
    X(TABLES, 49, SERVER, NOTHING, READS, LIKE, "table|list", \
      "return at most `count` tables of the places from number `cursor` on (frame.h)") \
    X(TOPOLOGY, 90, SERVER, NOTHING, READS, LIKE, "ping", \
      "clusters: return at most `count` bytes of a Topology, from byte `cursor` on")

/* Elements of the values that are not integers. X(name, number, word, bytes, kind, adds)
 *
 * number    in frames, snapshots and the log (enum sw_value_type); never changes.
 * word      of --value-type.
 * bytes     of one number; 0: the value has no numbers.
 * kind      NONE, UNSIGNED, SIGNED or FLOAT.
 * adds      element of the ADD for these numbers; OWN: none. The sum modulo 2^64 of two signed
 *           numbers has the bits of the sum of two unsigned ones. */
#define SW_ELEMENT_MAP(X)                    \
    X(BYTES,  0, "bytes",  0, NONE,     OWN) \
    X(STRING, 1, "string", 0, NONE,     OWN) \
    X(U32,    2, "u32",    4, UNSIGNED, U32) \
    X(U64,    3, "u64",    8, UNSIGNED, U64) \
    X(F32,    4, "f32",    4, FLOAT,    F32) \
    X(F16,    5, "f16",    2, FLOAT,    F16) \
    X(BF16,   6, "bf16",   2, FLOAT,    BF16) \
    X(I64,    7, "i64",    8, SIGNED,   U64) \
    X(F64,    8, "f64",    8, FLOAT,    F64) \
    X(NONE,   9, "none",   0, NONE,     OWN)
/* clang-format on */

#define SW_OPERATION_MAP(X) \
    SW_DATA_OPERATION_MAP(X) SW_COMPOSED_OPERATION_MAP(X) SW_CONTROL_OPERATION_MAP(X)

/* --- the columns as constants ----------------------------------------------------------------- */

enum sw_operand {
    SW_OPERAND_NONE,
    SW_OPERAND_VALUE,
    SW_OPERAND_PAIR,
    SW_OPERAND_PART,
    SW_OPERAND_TIME
};
enum sw_absent { SW_ABSENT_STAYS, SW_ABSENT_BORN };
enum sw_does { SW_DOES_READS, SW_DOES_WRITES, SW_DOES_REMOVES, SW_DOES_RETIMES, SW_DOES_CHANGES };
enum sw_repeated {
    SW_REPEATED_SAME,
    SW_REPEATED_STATE,
    SW_REPEATED_ADDS,
    SW_REPEATED_CLAMPS,
    SW_REPEATED_BITS,
    SW_REPEATED_ORDER
};
enum sw_number_kind { SW_NUMBER_NONE, SW_NUMBER_UNSIGNED, SW_NUMBER_SIGNED, SW_NUMBER_FLOAT };
enum sw_element {
#define SW_ROW(name, number, ...) SW_ELEMENT_##name = (number),
    SW_ELEMENT_MAP(SW_ROW)
#undef SW_ROW
        SW_ELEMENT_COUNT,
    SW_ELEMENT_OWN = SW_ELEMENT_BYTES
};
/* The bytes of a number of each element as constants: SW_BYTES_OF_U32, .. */
enum sw_element_bytes {
#define SW_ROW(name, number, word, bytes, ...) SW_BYTES_OF_##name = (bytes),
    SW_ELEMENT_MAP(SW_ROW)
#undef SW_ROW
        SW_BYTES_OF_OWN = 0
};
enum sw_verb {
#define SW_ROW(verb, ...) SW_VERB_##verb,
    SW_VERB_MAP(SW_ROW)
#undef SW_ROW
        SW_VERB_COUNT
};
enum sw_when {
#define SW_ROW(guard) SW_WHEN_##guard,
    SW_WHEN_MAP(SW_ROW)
#undef SW_ROW
        SW_WHEN_COUNT
};
/* The columns of each verb as constants: SW_VERB_OPERAND_ADD, .. */
enum sw_verb_facts {
#define SW_ROW(verb, operand, absent, effect, repeated)                                        \
    SW_VERB_OPERAND_##verb = SW_OPERAND_##operand, SW_VERB_ABSENT_##verb = SW_ABSENT_##absent, \
    SW_VERB_DOES_##verb = SW_DOES_##effect, SW_VERB_REPEATED_##verb = SW_REPEATED_##repeated,
    SW_VERB_MAP(SW_ROW)
#undef SW_ROW
};
enum sw_on {
    SW_ON_INTEGERS = 1,
    SW_ON_ROWS = 2,
    SW_ON_PLAIN = 3,
    SW_ON_CACHE = 4,
    SW_ON_BLOBS = 6,
    SW_ON_ANY = 7,
    SW_ON_EXPIRY = 8,
    SW_ON_IDS = 16
};
enum sw_yes {
    SW_IS_NO_USE,
    SW_IS_NO_TIMES = 0,
    SW_IS_COPIES = 0,
    SW_IS_NOTHING = 0,
    SW_IS_USE,
    SW_IS_TIMES = 1,
    SW_IS_DEVICE = 1,
    SW_IS_DATA = 1
};

/* What follows from a verb and a guard, as constant expressions. */
#define SW_INSERTS(verb, guard)                                                                 \
    ((int)SW_VERB_ABSENT_##verb == (int)SW_ABSENT_BORN && SW_WHEN_##guard != SW_WHEN_PRESENT && \
     SW_WHEN_##guard != SW_WHEN_EQUAL)
#define SW_HAS_OPERAND(verb)                                \
    ((int)SW_VERB_OPERAND_##verb != (int)SW_OPERAND_NONE && \
     (int)SW_VERB_OPERAND_##verb != (int)SW_OPERAND_TIME)

/* --- sets of the table's operations: bit 1 << op ---------------------------------------------- */

/* A test of one bit replaces a switch, a range comparison or a chain of ==. The preprocessor
 * computes every set from the rows. A set has 64 bits: 1U << op is too narrow for one. */
#define SW_OPS_ONE(op) ((uint64_t)1 << (op))
#define SW_OPS_HAS(set, op) (((set) >> (op)&1U) != 0)
#define SW_OP_BIT(op, condition) | (uint64_t)((condition) ? 1 : 0) << (op)
#ifdef __cppcheck__
/* cppcheck takes seconds a file to compute a set. In its place it reads a name that it does not
 * know. */
#define SW_OPS_OF(ROW) ROW##_SET
#else
#define SW_OPS_OF(ROW) ((uint64_t)0 SW_DATA_OPERATION_MAP(ROW))
#endif

#define SW_MASK_ROW_INTEGERS(n, w, op, v, g, e, on, ...) \
    SW_OP_BIT(op, (SW_ON_##on & SW_ON_INTEGERS) && (int)SW_VERB_OPERAND_##v != (int)SW_OPERAND_PAIR)
#define SW_MASK_ROW_ROWS(n, w, op, v, g, e, on, ...) SW_OP_BIT(op, SW_ON_##on &SW_ON_ROWS)
#define SW_MASK_ROW_CACHE(n, w, op, v, g, e, on, ...) SW_OP_BIT(op, SW_ON_##on &SW_ON_CACHE)
#define SW_MASK_ROW_EXPIRE(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_DOES_##v == (int)SW_DOES_RETIMES)
#define SW_MASK_ROW_READ(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_DOES_##v == (int)SW_DOES_READS)
#define SW_MASK_ROW_DELETE(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_DOES_##v == (int)SW_DOES_REMOVES)
#define SW_MASK_ROW_INSERT(n, w, op, v, g, ...) SW_OP_BIT(op, SW_INSERTS(v, g))
#define SW_MASK_ROW_PUT(n, w, op, v, g, ...)                                           \
    SW_OP_BIT(op, (int)SW_VERB_DOES_##v == (int)SW_DOES_WRITES && SW_HAS_OPERAND(v) && \
                      SW_VERB_##v != SW_VERB_FIND && SW_WHEN_##g != SW_WHEN_ABSENT)
#define SW_MASK_ROW_OPERAND(n, w, op, v, ...) SW_OP_BIT(op, SW_HAS_OPERAND(v))
#define SW_MASK_ROW_REFUSE(n, w, op, v, g, ...) SW_OP_BIT(op, SW_WHEN_##g == SW_WHEN_FITS)
#define SW_MASK_ROW_PRESENT(n, w, op, v, g, ...) SW_OP_BIT(op, SW_WHEN_##g == SW_WHEN_PRESENT)
#define SW_MASK_ROW_ABSENT(n, w, op, v, g, ...) \
    SW_OP_BIT(op, SW_WHEN_##g == SW_WHEN_ABSENT || SW_VERB_##v == SW_VERB_FIND)
#define SW_MASK_ROW_ADD(n, w, op, v, ...) SW_OP_BIT(op, SW_VERB_##v == SW_VERB_ADD_ROW)
#define SW_MASK_ROW_BITS(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_REPEATED_##v == (int)SW_REPEATED_BITS)
#define SW_MASK_ROW_USE(n, w, op, v, g, e, on, use, ...) SW_OP_BIT(op, SW_IS_##use)
#define SW_MASK_ROW_STRING(n, w, op, v, g, e, ...) \
    SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_STRING)
#define SW_MASK_ROW_PART(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_OPERAND_##v == (int)SW_OPERAND_PART)
#define SW_MASK_ROW_PAIR(n, w, op, v, ...) \
    SW_OP_BIT(op, (int)SW_VERB_OPERAND_##v == (int)SW_OPERAND_PAIR)
#define SW_MASK_ROW_FITTING(n, w, op, v, ...) \
    SW_OP_BIT(op, SW_VERB_##v == SW_VERB_ADD_FITTING || SW_VERB_##v == SW_VERB_SUBTRACT_FITTING)
#define SW_MASK_ROW_64_BITS(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_BYTES_OF_##e == 8)
#define SW_MASK_ROW_16_BITS(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_BYTES_OF_##e == 2)
#define SW_MASK_ROW_U32(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_U32)
#define SW_MASK_ROW_U64(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_U64)
#define SW_MASK_ROW_I64(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_I64)
#define SW_MASK_ROW_F64(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_F64)
#define SW_MASK_ROW_F32(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_F32)
#define SW_MASK_ROW_F16(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_F16)
#define SW_MASK_ROW_BF16(n, w, op, v, g, e, ...) SW_OP_BIT(op, SW_ELEMENT_##e == SW_ELEMENT_BF16)

/* Supported by tables of integers, with one operand. These tables also have SW_OPS_PAIR. */
#define SW_OPS_INTEGERS SW_OPS_OF(SW_MASK_ROW_INTEGERS)
#define SW_OPS_ROWS SW_OPS_OF(SW_MASK_ROW_ROWS)
#define SW_OPS_CACHE SW_OPS_OF(SW_MASK_ROW_CACHE)
#define SW_OPS_EXPIRE SW_OPS_OF(SW_MASK_ROW_EXPIRE)   /* change the expiry time alone */
#define SW_OPS_READ SW_OPS_OF(SW_MASK_ROW_READ)       /* change scores at most */
#define SW_OPS_DELETE SW_OPS_OF(SW_MASK_ROW_DELETE)   /* remove */
#define SW_OPS_INSERT SW_OPS_OF(SW_MASK_ROW_INSERT)   /* may insert an absent key */
#define SW_OPS_PUT SW_OPS_OF(SW_MASK_ROW_PUT)         /* may write the value of a present key */
#define SW_OPS_OPERAND SW_OPS_OF(SW_MASK_ROW_OPERAND) /* have operands */
#define SW_OPS_REFUSE SW_OPS_OF(SW_MASK_ROW_REFUSE)   /* refuse a result that does not fit */
#define SW_OPS_PRESENT SW_OPS_OF(SW_MASK_ROW_PRESENT) /* change present keys only */
#define SW_OPS_ABSENT SW_OPS_OF(SW_MASK_ROW_ABSENT)   /* do not change a present value */
#define SW_OPS_ADD SW_OPS_OF(SW_MASK_ROW_ADD)         /* add to rows, number by number */
#define SW_OPS_BITS SW_OPS_OF(SW_MASK_ROW_BITS)       /* bit by bit, on integers and rows */
#define SW_OPS_USE SW_OPS_OF(SW_MASK_ROW_USE)         /* count as uses of a cache entry */
#define SW_OPS_STRING SW_OPS_OF(SW_MASK_ROW_STRING)   /* work on rows that are strings */
#define SW_OPS_PART SW_OPS_OF(SW_MASK_ROW_PART)       /* replace part of a row: range_apply.h */
#define SW_OPS_PAIR SW_OPS_OF(SW_MASK_ROW_PAIR)       /* have two operands: expected, new */
#define SW_OPS_FITTING SW_OPS_OF(SW_MASK_ROW_FITTING) /* keep numbers whose result does not fit */
#define SW_OPS_64_BITS SW_OPS_OF(SW_MASK_ROW_64_BITS) /* on numbers of 8 bytes, two words each */
#define SW_OPS_16_BITS SW_OPS_OF(SW_MASK_ROW_16_BITS)
#define SW_OPS_U32 SW_OPS_OF(SW_MASK_ROW_U32) /* work on rows of this type: */
#define SW_OPS_U64 SW_OPS_OF(SW_MASK_ROW_U64)
#define SW_OPS_I64 SW_OPS_OF(SW_MASK_ROW_I64)
#define SW_OPS_F64 SW_OPS_OF(SW_MASK_ROW_F64)
#define SW_OPS_F32 SW_OPS_OF(SW_MASK_ROW_F32)
#define SW_OPS_F16 SW_OPS_OF(SW_MASK_ROW_F16)
#define SW_OPS_BF16 SW_OPS_OF(SW_MASK_ROW_BF16)

#endif
