/* SPDX-License-Identifier: MIT
 *
 * ledger.c - accounts of memory.
 */
#include "server/tables/ledger.h"

#include "table/info.h"

static struct sw_account *account_of(struct sw_list *link)
{
    return SW_CONTAINER(link, struct sw_account, link);
}

/* The functions below are called with the lock held. */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* While the table grows, its old and its new arrays count: once, also between the moment at which
 * the table reports the new ones and `settled`. */
static uint64_t bytes_of(const struct sw_account *account, enum sw_growth_memory memory)
{
    const struct sw_account_memory *of = &account->memory[memory];
    const uint64_t bytes = __atomic_load_n(&account->growth.bytes[memory], __ATOMIC_RELAXED);
    return of->growing > 0 ? larger(bytes, of->before + of->growing) : bytes;
}

/* While a directory is loaded, its tables had their memory; a replica's tables take what they need
 * for the writes of its primary, which limits them. */
static bool ignores_limits(const struct sw_ledger *ledger)
{
    return __atomic_load_n(&ledger->loads, __ATOMIC_RELAXED) ||
           (ledger->follows != NULL && ledger->follows(ledger->owner));
}

/* Returns the bytes that count beside those of other tables. Nobody refused the memory for expiry
 * times that loaded tables, or those of the primary, took beyond the limit. */
static uint64_t counted_of(const struct sw_account *account, enum sw_growth_memory memory)
{
    const uint64_t bytes = bytes_of(account, memory);
    const uint64_t times = memory == SW_GROWTH_OF_TABLE && ignores_limits(account->ledger)
                               ? __atomic_load_n(&account->growth.times_bytes, __ATOMIC_RELAXED)
                               : 0;
    return bytes - (times < bytes ? times : bytes);
}

/* Returns the bytes that count for the table: its memory, or its memory-min. */
static uint64_t share_of(const struct sw_account *account, enum sw_growth_memory memory)
{
    const uint64_t bytes = account->leaves ? 0 : counted_of(account, memory);
    return memory == SW_GROWTH_OF_TABLE ? larger(bytes, account->bytes_min) : bytes;
}

static uint64_t sum_of_shares(const struct sw_ledger *ledger, enum sw_growth_memory memory)
{
    uint64_t all = 0;
    SW_LIST_EACH(&ledger->accounts, link)
    {
        all += share_of(account_of(link), memory);
    }
    return all;
}

/* Returns whether `share` of the account and those of the other tables, which are part of the sum
 * `all`, exceed `most`. Tables change their memory at any time. */
static bool exceeds(const struct sw_account *account, enum sw_growth_memory memory, uint64_t all,
                    uint64_t share, uint64_t most)
{
    const uint64_t own = sw_list_is_linked(&account->link) ? share_of(account, memory) : 0;
    return most != 0 && !__atomic_load_n(&account->ledger->passes, __ATOMIC_RELAXED) &&
           share + all - (own < all ? own : all) > most;
}

/* Returns the bytes that new arrays of `more` bytes need beside those that the account has. */
static uint64_t needed_of(const struct sw_account *account, uint64_t more)
{
    const uint64_t replaced = __atomic_load_n(&account->replaces, __ATOMIC_RELAXED)
                                  ? __atomic_load_n(&account->growth.arrays_bytes, __ATOMIC_RELAXED)
                                  : 0;
    return more - (replaced < more ? replaced : more);
}

/* Returns what refuses the account `more` bytes with these limits. `all`: the sum of shares. */
static enum sw_ledger_refusal check(const struct sw_account *account, uint64_t all, uint64_t more,
                                    uint64_t bytes_min, uint64_t bytes_max)
{
    const uint64_t own = counted_of(account, SW_GROWTH_OF_TABLE) + needed_of(account, more);
    if (bytes_max != 0 && bytes_of(account, SW_GROWTH_OF_TABLE) + more > bytes_max) {
        return SW_LEDGER_TABLE_MAX;
    }
    return exceeds(account, SW_GROWTH_OF_TABLE, all, larger(own, bytes_min),
                   account->ledger->bytes_max)
               ? SW_LEDGER_TABLES_MAX
               : SW_LEDGER_PERMITS;
}

static enum sw_ledger_refusal check_host(const struct sw_account *account, uint64_t all,
                                         uint64_t more)
{
    const uint64_t own = bytes_of(account, SW_GROWTH_ROWS_IN_HOST) + more;
    return exceeds(account, SW_GROWTH_ROWS_IN_HOST, all, own, account->ledger->host_max)
               ? SW_LEDGER_HOST_MAX
               : SW_LEDGER_PERMITS;
}

/* Returns what refuses a table arrays of `slots` slots, as sw_growth.permits. `all`: the sum of
 * shares of this memory. */
static enum sw_ledger_refusal refusal_of(const struct sw_account *account, uint64_t all,
                                         enum sw_growth_memory memory, uint64_t slots,
                                         uint64_t bytes)
{
    const uint64_t present = __atomic_load_n(&account->growth.slots, __ATOMIC_RELAXED);
    const bool ignores = ignores_limits(account->ledger);
    if (memory == SW_GROWTH_ROWS_IN_HOST) {
        return check_host(account, all, bytes);
    }
    if (slots != 0 && slots < present) {
        return SW_LEDGER_PERMITS;
    }
    if (!ignores && account->growth.slots_max != 0 && slots > account->growth.slots_max) {
        return SW_LEDGER_CAPACITY;
    }
    return check(account, all, bytes, account->bytes_min, ignores ? 0 : account->bytes_max);
}

static void set_refusal(struct sw_account *account, enum sw_ledger_refusal refusal)
{
    __atomic_store_n(&account->refusal, (int)refusal, __ATOMIC_RELAXED);
}

/* Limits, or the memory of a table, have changed: lets tables whose growth was refused ask again if
 * the ledger would permit it now. */
static void ease(struct sw_ledger *ledger)
{
    const uint64_t all[SW_GROWTH_MEMORIES] = {
        sum_of_shares(ledger, SW_GROWTH_OF_TABLE),
        sum_of_shares(ledger, SW_GROWTH_ROWS_IN_HOST),
    };
    SW_LIST_EACH(&ledger->accounts, link)
    {
        struct sw_account *account = account_of(link);
        const enum sw_growth_memory memory =
            account->refusal == SW_LEDGER_HOST_MAX ? SW_GROWTH_ROWS_IN_HOST : SW_GROWTH_OF_TABLE;
        if (account->refusal == SW_LEDGER_PERMITS) {
            continue;
        }
        set_refusal(account, refusal_of(account, all[memory], memory, account->refused_slots,
                                        account->memory[memory].refused));
        if (account->refusal == SW_LEDGER_PERMITS) {
            __atomic_store_n(&account->growth.is_eased, true, __ATOMIC_RELAXED);
        }
    }
}

/* --- growth ----------------------------------------------------------------------------------- */

static bool permits(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t slots,
                    uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    struct sw_account_memory *of = &account->memory[memory];
    pthread_mutex_lock(&account->ledger->lock);
    const enum sw_ledger_refusal refusal =
        refusal_of(account, sum_of_shares(account->ledger, memory), memory, slots, bytes);
    if (refusal == SW_LEDGER_PERMITS) {
        of->before = of->growing == 0 ? bytes_of(account, memory) : of->before;
        of->growing += bytes;
    }
    if (slots != 0 || memory == SW_GROWTH_ROWS_IN_HOST) {
        of->refused = bytes;
        account->refused_slots = slots;
        set_refusal(account, refusal);
        __atomic_store_n(&growth->is_eased, false, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&account->ledger->lock);
    return refusal == SW_LEDGER_PERMITS;
}

static void settled(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    struct sw_account_memory *of = &account->memory[memory];
    pthread_mutex_lock(&account->ledger->lock);
    of->growing -= bytes;
    of->before = __atomic_load_n(&growth->bytes[memory], __ATOMIC_RELAXED); /* of other moves */
    ease(account->ledger);
    pthread_mutex_unlock(&account->ledger->lock);
}

/* --- accounts --------------------------------------------------------------------------------- */

void sw_ledger_init(struct sw_ledger *ledger, uint64_t bytes_max, uint64_t host_max,
                    bool (*follows)(const void *owner), const void *owner)
{
    pthread_mutex_init(&ledger->lock, NULL);
    ledger->bytes_max = bytes_max;
    ledger->host_max = host_max;
    ledger->follows = follows;
    ledger->owner = owner;
    sw_list_init(&ledger->accounts);
}

void sw_ledger_fini(struct sw_ledger *ledger)
{
    pthread_mutex_destroy(&ledger->lock);
}

enum sw_ledger_refusal sw_account_open(struct sw_account *account, struct sw_ledger *ledger,
                                       uint64_t bytes, uint64_t bytes_min, uint64_t bytes_max)
{
    *account = (struct sw_account){.growth = {.permits = permits, .settled = settled},
                                   .ledger = ledger,
                                   .bytes_min = bytes_min,
                                   .bytes_max = bytes_max};
    sw_list_init(&account->link);
    const bool ignores = ignores_limits(ledger);
    pthread_mutex_lock(&ledger->lock);
    const enum sw_ledger_refusal refusal = check(account, sum_of_shares(ledger, SW_GROWTH_OF_TABLE),
                                                 bytes, bytes_min, ignores ? 0 : bytes_max);
    if (refusal == SW_LEDGER_PERMITS) {
        account->memory[SW_GROWTH_OF_TABLE].growing = bytes;
        sw_list_push(&ledger->accounts, &account->link);
    }
    pthread_mutex_unlock(&ledger->lock);
    return refusal;
}

enum sw_ledger_refusal sw_account_set_table(struct sw_account *account, uint64_t bytes,
                                            uint64_t host)
{
    if (account->ledger == NULL) {
        return SW_LEDGER_PERMITS;
    }
    struct sw_ledger *ledger = account->ledger;
    const bool ignores = ignores_limits(ledger);
    pthread_mutex_lock(&ledger->lock);
    account->memory[SW_GROWTH_OF_TABLE].growing = 0;
    sw_growth_has(&account->growth, bytes);
    sw_growth_has_host(&account->growth, host);
    enum sw_ledger_refusal refusal =
        check_host(account, sum_of_shares(ledger, SW_GROWTH_ROWS_IN_HOST), 0);
    if (refusal == SW_LEDGER_PERMITS) {
        refusal = check(account, sum_of_shares(ledger, SW_GROWTH_OF_TABLE), 0, account->bytes_min,
                        ignores ? 0 : account->bytes_max);
    }
    pthread_mutex_unlock(&ledger->lock);
    return refusal;
}

void sw_account_close(struct sw_account *account)
{
    if (account->ledger != NULL) {
        pthread_mutex_lock(&account->ledger->lock);
        sw_list_remove(&account->link);
        ease(account->ledger);
        pthread_mutex_unlock(&account->ledger->lock);
        account->ledger = NULL;
    }
}

enum sw_ledger_refusal sw_account_set(struct sw_account *account, uint64_t bytes_min,
                                      uint64_t bytes_max, uint64_t slots_max, bool may_pass)
{
    if (account->ledger == NULL) {
        return SW_LEDGER_PERMITS;
    }
    const bool loads = __atomic_load_n(&account->ledger->loads, __ATOMIC_RELAXED);
    pthread_mutex_lock(&account->ledger->lock);
    account->leaves = false;
    enum sw_ledger_refusal refusal =
        may_pass && loads ? SW_LEDGER_PERMITS
                          : check(account, sum_of_shares(account->ledger, SW_GROWTH_OF_TABLE), 0,
                                  bytes_min, may_pass ? 0 : bytes_max);
    if (refusal == SW_LEDGER_TABLES_MAX && bytes_min <= account->bytes_min) {
        refusal = SW_LEDGER_PERMITS; /* times took more than the limit; this takes nothing */
    }
    if (refusal == SW_LEDGER_PERMITS) {
        account->bytes_min = bytes_min;
        account->bytes_max = bytes_max;
        __atomic_store_n(&account->growth.slots_max, slots_max, __ATOMIC_RELAXED);
        ease(account->ledger);
    }
    pthread_mutex_unlock(&account->ledger->lock);
    return refusal;
}

void sw_account_leave(struct sw_account *account)
{
    if (account->ledger != NULL) {
        pthread_mutex_lock(&account->ledger->lock);
        account->leaves = true;
        ease(account->ledger);
        pthread_mutex_unlock(&account->ledger->lock);
    }
}

void sw_account_replace(struct sw_account *account, bool replaces)
{
    __atomic_store_n(&account->replaces, replaces, __ATOMIC_RELAXED);
}

bool sw_account_pass(const struct sw_account *account)
{
    return account != NULL && account->ledger != NULL &&
           __atomic_load_n(&account->ledger->loads, __ATOMIC_RELAXED) &&
           !__atomic_exchange_n(&account->ledger->passes, true, __ATOMIC_RELAXED);
}

enum sw_ledger_refusal sw_ledger_passed(struct sw_ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    const uint64_t bytes = sum_of_shares(ledger, SW_GROWTH_OF_TABLE);
    const uint64_t host = sum_of_shares(ledger, SW_GROWTH_ROWS_IN_HOST);
    pthread_mutex_unlock(&ledger->lock);
    if (!__atomic_load_n(&ledger->passes, __ATOMIC_RELAXED)) {
        return SW_LEDGER_PERMITS;
    }
    return ledger->bytes_max != 0 && bytes > ledger->bytes_max ? SW_LEDGER_TABLES_MAX
           : ledger->host_max != 0 && host > ledger->host_max  ? SW_LEDGER_HOST_MAX
                                                               : SW_LEDGER_PERMITS;
}

void sw_ledger_end_load(struct sw_ledger *ledger)
{
    __atomic_store_n(&ledger->loads, false, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->passes, false, __ATOMIC_RELAXED);
}

uint64_t sw_account_slots_max(const struct sw_account *account, const struct sw_table_info *info)
{
    const uint64_t most = __atomic_load_n(&account->growth.slots_max, __ATOMIC_RELAXED);
    if (most == 0 || most >= info->max_capacity_slots) {
        return info->max_capacity_slots;
    }
    return most > info->capacity_slots ? most : info->capacity_slots;
}

enum sw_ledger_refusal sw_account_refusal(const struct sw_account *account)
{
    return (enum sw_ledger_refusal)__atomic_load_n(&account->refusal, __ATOMIC_RELAXED);
}

const char *sw_account_remedy(const struct sw_account *account)
{
    switch (account == NULL ? SW_LEDGER_PERMITS : sw_account_refusal(account)) {
    case SW_LEDGER_TABLES_MAX:
        return "start with a larger --tables-memory-max";
    case SW_LEDGER_HOST_MAX:
        return "start with a larger --tables-host-memory-max";
    default:
        return NULL;
    }
}
