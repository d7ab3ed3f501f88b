/* SPDX-License-Identifier: MIT
 *
 * status.h - status codes of the functions of a table.
 */
#ifndef SHERWOOD_TABLE_STATUS_H
#define SHERWOOD_TABLE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes: name, value, text. Negative values are errors; SW_PENDING is not. */
#define SW_STATUS_MAP(X)                                               \
    X(SW_OK, 0, "done")                                                \
    X(SW_PENDING, 1, "still running")                                  \
    X(SW_E_INVALID, -1, "invalid argument")                            \
    X(SW_E_NOMEM, -2, "not enough memory")                             \
    X(SW_E_FULL, -3, "refused: the table would pass its maximum load") \
    X(SW_E_NODEVICE, -4, "no usable CUDA device")                      \
    X(SW_E_NOTBUILT, -5, "this build has no such backend")             \
    X(SW_E_DEVICE, -6, "the device failed; the table is lost")         \
    X(SW_E_BUSY, -7, "too many batches in flight on this queue")       \
    X(SW_E_UNSUPPORTED, -8, "this engine has no such operation")

enum sw_status {
#define SW_STATUS_ENUM(name, value, text) name = value,
    SW_STATUS_MAP(SW_STATUS_ENUM)
#undef SW_STATUS_ENUM
};

/* The compiler warns where a caller drops the result of such a function. */
#ifdef __GNUC__
#define SW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SW_MUST_CHECK
#endif

/* Returns the text of a status: static storage. */
const char *sw_status_text(int status);

#ifdef __cplusplus
}
#endif

#endif
