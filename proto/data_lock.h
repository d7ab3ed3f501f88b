/* SPDX-License-Identifier: MIT
 *
 * data_lock.h - the lock of a data directory.
 *
 * A process that uses a data directory holds two locks until it ends. The first is on the directory
 * itself (flock), so that removing a file does not remove it. The second is on its file `lock`
 * (F_OFD_SETLK), which names the holder. It also works where directories cannot be locked (NFS),
 * and it is the only lock of earlier versions.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_PROTO_DATA_LOCK_H
#define SHERWOOD_PROTO_DATA_LOCK_H

#define SW_DATA_LOCK_NAME "lock"

/* Locks an open directory. Returns 0, also where its file system cannot lock directories; or -1
 * with errno. EAGAIN: another process has the lock. */
int sw_data_lock_directory(int fd);
/* Locks the open file `lock`. Returns 0, or -1 with errno. EAGAIN: another process has the lock. */
int sw_data_lock_file(int fd);

#endif
