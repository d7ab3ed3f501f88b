/* SPDX-License-Identifier: MIT
 *
 * wal_fix.c - sherwood-cli log check --fix: repairs a log that a start refuses: it cuts the log
 * after the last readable record.
 *
 * A start refuses a log if durable writes cannot be read. Cutting the log gives these writes up:
 * the segments behind the gap, and the bytes behind the damage in its segment. Nothing is deleted:
 * the old files stay in the directory under names that start with cut-.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/wal.h"
#include "proto/plural.h"

#define NEW_NAME "new-cut"
#define NAME_BYTES 48
#define COPIES_MAX 100

/* What becomes of a segment. */
struct fate {
    enum { STAYS, IS_CUT, GOES_ASIDE } what;
    uint64_t at;                  /* zeros replace everything from this offset on */
    uint64_t records, operations; /* lost writes that the cut part still shows */
    uint64_t last;                /* the highest sequence of these writes */
};

struct fix {
    struct sw_cli_wal *wal;
    struct fate *fates;      /* one for each segment of wal->found */
    struct sw_wal_found *us; /* the segments of wal->found with valid headers, in order */
    size_t *places;          /* indices of `us` in wal->found */
    size_t count;
    uint64_t lost; /* sequence of the last lost write; 0: no write is lost */
    int dir;
};

/* --- what is lost ----------------------------------------------------------------------------- */

/* Returns false with a message for a segment of a later version or of another log: it is not
 * damaged, so it cannot be fixed. */
static bool is_ours(const struct fix *fix, const struct sw_wal_found *found)
{
    const struct sw_wal_segment *first = fix->count > 0 ? &fix->us[0].segment : &found->segment;
    char name[SW_WAL_NAME_BYTES];
    sw_wal_name(found->number, name);
    if (found->is_newer || found->run.is_unknown) {
        return sw_cli_wal_complain(
            fix->wal, name,
            "was written by a later version of sherwoodd: use the sherwood-cli of that version");
    }
    return memcmp(first->log_id, found->segment.log_id, sizeof(first->log_id)) == 0 ||
           sw_cli_wal_complain(fix->wal, name, "belongs to another log");
}

/* Marks the segments without a valid header to be set aside, and plans the recovery with the
 * others. */
static bool plan(struct fix *fix)
{
    struct sw_cli_wal *wal = fix->wal;
    char refusal[SW_WAL_REFUSAL_BYTES];
    for (size_t i = 0; i < wal->count; i++) {
        if (!wal->found[i].is_whole) {
            fix->fates[i].what = GOES_ASIDE;
            continue;
        }
        if (!is_ours(fix, &wal->found[i])) {
            return false;
        }
        fix->places[fix->count] = i;
        fix->us[fix->count++] = wal->found[i];
    }
    wal->plan.end = wal->base;
    (void)sw_wal_plan(&wal->plan, fix->us, fix->count, wal->base, wal->named, NULL, refusal);
    return true;
}

static bool contributes(const struct fix *fix, size_t us)
{
    for (size_t i = 0; i < fix->wal->plan.pieces; i++) {
        if (fix->wal->plan.piece[i].segment == us) {
            return true;
        }
    }
    return false;
}

/* Decides what becomes of the segments with valid headers. */
static void decide(struct fix *fix)
{
    const uint64_t end = fix->wal->plan.end;
    for (size_t i = 0; i < fix->count; i++) {
        const struct sw_wal_found *found = &fix->us[i];
        struct fate *fate = &fix->fates[fix->places[i]];
        const bool tells = found->run.evidence > end || fix->wal->plan.damaged == i + 1;
        if (found->is_alias) {
            continue;
        }
        if (contributes(fix, i) && tells) {
            *fate = (struct fate){.what = IS_CUT, .at = found->run.end};
        } else if (tells || found->is_passed) {
            *fate = (struct fate){.what = GOES_ASIDE, .at = SW_WAL_HEADER_BYTES};
        }
    }
}

/* Returns the offset of the SEAL that ends the records of a segment. */
static uint64_t find_seal(const uint8_t *bytes, uint64_t size, const struct sw_wal_found *found)
{
    struct sw_wal_reader reader;
    struct sw_wal_record record = {.units = 0};
    const uint8_t *columns;
    sw_wal_reader_init(&reader, bytes, size, &found->segment);
    while (sw_wal_reader_next(&reader, &record, &columns)) {
    }
    return reader.at - (uint64_t)record.units * SW_WAL_ALIGN;
}

/* Cuts the SEAL off the newest segment, because it announces another segment. */
static bool cut_last_seal(struct fix *fix)
{
    for (size_t i = fix->count; i-- > 0;) {
        const struct sw_wal_found *found = &fix->us[i];
        struct fate *fate = &fix->fates[fix->places[i]];
        if (found->is_alias || fate->what == GOES_ASIDE) {
            continue;
        }
        if (found->run.is_sealed) {
            uint64_t size = 0;
            uint8_t *bytes = sw_cli_wal_load(fix->wal, found->number, &size);
            if (bytes == NULL) {
                return false;
            }
            *fate = (struct fate){.what = IS_CUT, .at = find_seal(bytes, size, found)};
            free(bytes);
        }
        break;
    }
    return true;
}

/* Counts the lost writes that can still be read. */
static bool count_lost(struct fix *fix, const struct sw_wal_found *found, struct fate *fate)
{
    struct sw_wal_record record;
    uint64_t size = 0;
    uint8_t *bytes = sw_cli_wal_load(fix->wal, found->number, &size);
    if (bytes == NULL) {
        return false;
    }
    for (uint64_t at = fate->at; at + SW_WAL_RECORD_BYTES <= size; at += SW_WAL_ALIGN) {
        if (sw_wal_record_decode(bytes + at, found->segment.salt, &record) &&
            sw_wal_is_write(&record) && record.sequence > fix->wal->plan.end) {
            fate->records++;
            fate->operations += record.count;
            fate->last = fate->last < record.sequence ? record.sequence : fate->last;
        }
    }
    free(bytes);
    return true;
}

static bool judge(struct fix *fix)
{
    struct sw_cli_wal *wal = fix->wal;
    if (!plan(fix)) {
        return false;
    }
    decide(fix);
    if (!cut_last_seal(fix)) {
        return false;
    }
    fix->lost = wal->plan.evidence > wal->plan.end ? wal->plan.evidence
                : wal->plan.damaged != 0           ? wal->plan.end + 1
                                                   : 0;
    for (size_t i = 0; i < wal->count; i++) {
        struct fate *fate = &fix->fates[i];
        if (fate->what == STAYS || !wal->found[i].is_whole) {
            continue;
        }
        if (!count_lost(fix, &wal->found[i], fate)) {
            return false;
        }
        fix->lost = fate->last > fix->lost ? fate->last : fix->lost;
    }
    return true;
}

/* Returns whether a snapshot is set aside: it is damaged, and claims durable writes that neither
 * the log nor an older snapshot has. */
static bool goes_aside(const struct fix *fix, uint64_t snapshot)
{
    return snapshot > fix->wal->base && snapshot > fix->wal->plan.end;
}

/* Prints the changes that the fix makes. Returns whether it makes any. */
static bool print_changes(const struct fix *fix)
{
    const struct sw_cli_wal *wal = fix->wal;
    FILE *out = wal->cli->out;
    char name[SW_WAL_NAME_BYTES];
    bool any = false;
    for (size_t i = 0; i < wal->count; i++) {
        const struct fate *fate = &fix->fates[i];
        sw_wal_name(wal->found[i].number, name);
        any |= fate->what != STAYS;
        if (fate->what == IS_CUT) {
            fprintf(out, "%s/%s: is cut at byte %" PRIu64, wal->path, name, fate->at);
        } else if (fate->what == GOES_ASIDE && wal->found[i].is_whole) {
            fprintf(out, "%s/%s: is set aside", wal->path, name);
        } else if (fate->what == GOES_ASIDE) {
            fprintf(out, "%s/%s: is set aside; its header is damaged, so it cannot be read\n",
                    wal->path, name);
            continue;
        }
        if (fate->what != STAYS) {
            fprintf(out, "; this loses %" PRIu64 " readable write%s, %" PRIu64 " operation%s\n",
                    fate->records, sw_plural_s(fate->records), fate->operations,
                    sw_plural_s(fate->operations));
        }
    }
    for (size_t i = 0; i < wal->snapshot_count; i++) {
        if (goes_aside(fix, wal->snapshots[i])) {
            fprintf(out,
                    "%s/" SW_CLI_SNAPSHOT_KIND "-%016" PRIx64 ": is set aside; it is damaged\n",
                    wal->path, wal->snapshots[i]);
            any = true;
        }
    }
    if (wal->plan.is_first_gone) {
        sw_wal_name(wal->plan.gone, name);
        fprintf(out,
                "%s/%s: is missing, and so is every newer segment; " SW_WAL_FIRST_NAME
                " is set aside, and their writes are lost\n",
                wal->path, name);
        any = true;
    } else if (wal->plan.gone != 0) {
        sw_wal_name(wal->plan.gone, name);
        fprintf(out, "%s/%s: is missing; an empty segment replaces it, and its writes are lost\n",
                wal->path, name);
        any = true;
    }
    if (fix->lost > 0) {
        fprintf(out,
                "%s: writes %" PRIu64 " to %" PRIu64 " are lost: those up to %" PRIu64
                " were durable%s; writes up to %" PRIu64 " stay\n",
                wal->path, wal->plan.end + 1, fix->lost, wal->plan.evidence,
                wal->plan.damaged != 0 ? ", and others may have been acknowledged" : "",
                wal->plan.end);
    } else if (wal->plan.gone != 0) {
        fprintf(out, "%s: nothing shows how many writes are lost; those up to %" PRIu64 " stay\n",
                wal->path, wal->plan.end);
    } else if (any) {
        fprintf(out, "%s: no write is known to be lost; writes up to %" PRIu64 " stay\n", wal->path,
                wal->plan.end);
    } else {
        fprintf(out, "%s: nothing to fix; the log has the writes up to %" PRIu64 "\n", wal->path,
                wal->plan.end);
    }
    return any;
}

/* --- doing it --------------------------------------------------------------------------------- */

/* Gives the file a second name, cut-NAME or cut-NAME.1, .. */
static int keep_copy(const struct fix *fix, const char *name)
{
    char copy[NAME_BYTES];
    int status = -1;
    errno = EEXIST;
    for (int i = 0; status != 0 && errno == EEXIST && i < COPIES_MAX; i++) {
        snprintf(copy, sizeof(copy), i == 0 ? "cut-%s" : "cut-%s.%d", name, i);
        status = linkat(fix->dir, name, fix->dir, copy, 0);
    }
    return status;
}

static int put_aside(const struct fix *fix, const char *name)
{
    return keep_copy(fix, name) != 0 ? -1 : unlinkat(fix->dir, name, 0);
}

static int write_all(int fd, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        ssize_t put = write(fd, bytes + done, size - done);
        if (put < 0 && errno != EINTR) {
            return -1;
        }
        done += put > 0 ? (uint64_t)put : 0;
    }
    return 0;
}

/* Gives the file the owner and the mode of another one, so that the daemon can read it, whichever
 * user runs this program. */
static int make_alike(int fd, const struct fix *fix, const char *name)
{
    struct stat status;
    return fstatat(fix->dir, name, &status, 0) != 0 ||
                   fchown(fd, status.st_uid, status.st_gid) != 0 ||
                   fchmod(fd, status.st_mode & 07777) != 0
               ? -1
               : 0;
}

/* Replaces the segment by these bytes, and keeps a copy of the old file. */
static int replace(const struct fix *fix, const char *name, const uint8_t *bytes, uint64_t size)
{
    unlinkat(fix->dir, NEW_NAME, 0);
    int fd = openat(fix->dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -1;
    }
    int status = make_alike(fd, fix, name) != 0 || write_all(fd, bytes, size) != 0 ? -1 : fsync(fd);
    int error = errno;
    if (close(fd) != 0 || status != 0) {
        errno = status != 0 ? error : errno;
        return -1;
    }
    return keep_copy(fix, name) != 0 ? -1 : renameat(fix->dir, NEW_NAME, fix->dir, name);
}

/* Replaces the bytes of a segment from `at` on by zeros. Its header then claims no lost write as
 * durable. */
static int cut(const struct fix *fix, const struct sw_wal_found *found, uint64_t at,
               const char *name)
{
    struct sw_wal_segment segment = found->segment;
    uint64_t size = 0;
    uint8_t *bytes = sw_cli_wal_load(fix->wal, found->number, &size);
    if (bytes == NULL) {
        return -1;
    }
    if (segment.through > fix->wal->plan.end || segment.bytes > size) {
        segment.through =
            segment.through > fix->wal->plan.end ? fix->wal->plan.end : segment.through;
        segment.bytes = segment.bytes > size ? size : segment.bytes;
        sw_wal_segment_encode(&segment, bytes);
    }
    memset(bytes + at, 0, size - at);
    int status = replace(fix, name, bytes, size);
    free(bytes);
    return status;
}

/* Makes an empty segment in the place of the missing one, with a new salt. Its log id, owner and
 * mode are those of the first segment. */
static int fill(const struct fix *fix)
{
    uint8_t bytes[SW_WAL_HEADER_BYTES];
    char name[NAME_BYTES], alike[NAME_BYTES];
    struct sw_wal_segment segment = fix->us[0].segment;
    segment.number = fix->wal->plan.gone;
    segment.through = fix->wal->base;
    segment.bytes = sizeof(bytes);
    segment.previous = 0;
    if (getrandom(&segment.salt, sizeof(segment.salt), 0) != (ssize_t)sizeof(segment.salt)) {
        return -1;
    }
    sw_wal_segment_encode(&segment, bytes);
    sw_wal_name(segment.number, name);
    sw_wal_name(fix->us[0].number, alike);
    unlinkat(fix->dir, NEW_NAME, 0);
    int fd = openat(fix->dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int status = fd < 0 || make_alike(fd, fix, alike) != 0 ||
                         write_all(fd, bytes, sizeof(bytes)) != 0 || fsync(fd) != 0
                     ? -1
                     : renameat(fix->dir, NEW_NAME, fix->dir, name);
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return status;
}

static bool alloc_parts(struct fix *fix)
{
    const struct sw_cli_wal *wal = fix->wal;
    fix->fates = calloc(wal->count + 1, sizeof(*fix->fates));
    fix->us = calloc(wal->count + 1, sizeof(*fix->us));
    fix->places = calloc(wal->count + 1, sizeof(*fix->places));
    return (fix->fates != NULL && fix->us != NULL && fix->places != NULL) ||
           sw_cli_wal_complain(wal, "", strerror(ENOMEM));
}

static void free_parts(struct fix *fix)
{
    free(fix->fates);
    free(fix->us);
    free(fix->places);
}

/* Repairs one missing segment that other segments, the snapshot or the file first-segment name.
 * Sets first-segment aside if that file names it; otherwise makes an empty segment. Returns 1, 0 if
 * no segment is missing, or -1 with the reason printed. */
static int fill_one(const struct fix *fix)
{
    struct sw_cli_wal now = {.cli = fix->wal->cli, .path = fix->wal->path};
    struct fix next = {.wal = &now, .dir = fix->dir};
    int filled = -1;
    if (sw_cli_wal_read(&now) && alloc_parts(&next) && plan(&next)) {
        filled = now.plan.gone == 0 ? 0 : 1;
        const bool is_first = now.plan.is_first_gone;
        if (filled == 1 && (is_first ? put_aside(&next, SW_WAL_FIRST_NAME) : fill(&next)) != 0) {
            sw_cli_wal_complain(&now, is_first ? SW_WAL_FIRST_NAME : NEW_NAME, strerror(errno));
            filled = -1;
        }
    }
    free_parts(&next);
    sw_cli_wal_free(&now);
    return filled;
}

static bool fill_all(const struct fix *fix)
{
    int filled;
    do {
        filled = fill_one(fix);
    } while (filled > 0);
    return filled == 0;
}

/* Sets damaged snapshots aside, then changes the segments from the newest to the oldest, then fills
 * gaps. So an interruption cannot bring the writes behind a gap back. */
static bool carry_out(const struct fix *fix)
{
    const struct sw_cli_wal *wal = fix->wal;
    char name[NAME_BYTES];
    for (size_t i = 0; i < wal->snapshot_count; i++) {
        snprintf(name, sizeof(name), SW_CLI_SNAPSHOT_KIND "-%016" PRIx64, wal->snapshots[i]);
        if (goes_aside(fix, wal->snapshots[i]) && put_aside(fix, name) != 0) {
            return sw_cli_wal_complain(wal, name, strerror(errno));
        }
    }
    for (size_t i = wal->count; i-- > 0;) {
        const struct fate *fate = &fix->fates[i];
        sw_wal_name(wal->found[i].number, name);
        if ((fate->what == GOES_ASIDE && put_aside(fix, name) != 0) ||
            (fate->what == IS_CUT && cut(fix, &wal->found[i], fate->at, name) != 0)) {
            return sw_cli_wal_complain(wal, name, strerror(errno));
        }
    }
    if (!fill_all(fix)) {
        return false;
    }
    if (fsync(fix->dir) != 0) {
        return sw_cli_wal_complain(wal, "", strerror(errno));
    }
    fprintf(wal->cli->out, "%s: done; the old files are in the directory as cut-*\n", wal->path);
    return true;
}

static bool fix_locked(struct fix *fix, bool yes)
{
    struct sw_cli_wal *wal = fix->wal;
    if (!sw_cli_wal_read(wal)) {
        return false;
    }
    if (!alloc_parts(fix) || !judge(fix)) {
        return false;
    }
    if (!print_changes(fix)) {
        return true;
    }
    if (!yes) {
        fprintf(wal->cli->out, "%s: nothing was changed: add --yes to do this\n", wal->path);
        return false;
    }
    return carry_out(fix);
}

bool sw_cli_wal_fix(struct sw_cli_wal *wal, bool yes)
{
    struct fix fix = {.wal = wal, .dir = sw_cli_wal_lock(wal)};
    bool good = fix.dir >= 0 && fix_locked(&fix, yes);
    if (fix.dir >= 0) {
        close(fix.dir);
    }
    free_parts(&fix);
    return good;
}
