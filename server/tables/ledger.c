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

static uint64_t bytes_of(const struct sw_account *account)
{
    return account->growing +
           (account->has_table ? __atomic_load_n(&account->growth.bytes, __ATOMIC_RELAXED) : 0);
}

/* While a directory is loaded, its tables had their memory; a replica's tables take what they need
 * for the writes of its primary, which limits them. */
static bool ignores_limits(const struct sw_ledger *ledger)
{
    return __atomic_load_n(&ledger->loads, __ATOMIC_RELAXED) ||
           (ledger->follows != NULL && ledger->follows(ledger->owner));
}

/* Returns what refuses the account `more` bytes with these limits. */
static enum sw_ledger_refusal check(struct sw_account *account, uint64_t more, uint64_t bytes_min,
                                    uint64_t bytes_max)
{
    struct sw_ledger *ledger = account->ledger;
    const uint64_t own = bytes_of(account) + more;
    uint64_t all = own > bytes_min ? own : bytes_min;
    if (bytes_max != 0 && own > bytes_max) {
        return SW_LEDGER_TABLE_MAX;
    }
    SW_LIST_EACH(&ledger->accounts, link)
    {
        const struct sw_account *other = account_of(link);
        const uint64_t bytes = other == account ? 0 : bytes_of(other);
        all += other == account ? 0 : bytes > other->bytes_min ? bytes : other->bytes_min;
    }
    return ledger->bytes_max != 0 && all > ledger->bytes_max ? SW_LEDGER_TABLES_MAX
                                                             : SW_LEDGER_PERMITS;
}

static bool has_room_in_host(const struct sw_ledger *ledger, uint64_t more)
{
    uint64_t all = more;
    SW_LIST_EACH(&ledger->accounts, link)
    {
        const struct sw_account *account = account_of(link);
        all +=
            account->growing_host + __atomic_load_n(&account->growth.host_bytes, __ATOMIC_RELAXED);
    }
    return ledger->host_max == 0 || all <= ledger->host_max;
}

/* --- growth ----------------------------------------------------------------------------------- */

static bool permits(struct sw_growth *growth, uint64_t slots, uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    const bool ignores = ignores_limits(account->ledger);
    pthread_mutex_lock(&account->ledger->lock);
    const enum sw_ledger_refusal refusal =
        !ignores && account->growth.slots_max != 0 && slots > account->growth.slots_max
            ? SW_LEDGER_CAPACITY
            : check(account, bytes, account->bytes_min, ignores ? 0 : account->bytes_max);
    if (refusal == SW_LEDGER_PERMITS) {
        account->growing += bytes;
    }
    if (slots != 0) {
        __atomic_store_n(&account->refusal, (int)refusal, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&account->ledger->lock);
    return refusal == SW_LEDGER_PERMITS;
}

static void settled(struct sw_growth *growth, uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    pthread_mutex_lock(&account->ledger->lock);
    account->growing -= bytes;
    pthread_mutex_unlock(&account->ledger->lock);
}

static bool permits_host(struct sw_growth *growth, uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    pthread_mutex_lock(&account->ledger->lock);
    const bool permits = has_room_in_host(account->ledger, bytes);
    if (permits) {
        account->growing_host += bytes;
    } else {
        __atomic_store_n(&account->refusal, SW_LEDGER_HOST_MAX, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&account->ledger->lock);
    return permits;
}

static void settled_host(struct sw_growth *growth, uint64_t bytes)
{
    struct sw_account *account = SW_CONTAINER(growth, struct sw_account, growth);
    pthread_mutex_lock(&account->ledger->lock);
    account->growing_host -= bytes;
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
    *account = (struct sw_account){.growth = {.permits = permits,
                                              .settled = settled,
                                              .permits_host = permits_host,
                                              .settled_host = settled_host},
                                   .ledger = ledger,
                                   .bytes_min = bytes_min,
                                   .bytes_max = bytes_max};
    sw_list_init(&account->link);
    const bool ignores = ignores_limits(ledger);
    pthread_mutex_lock(&ledger->lock);
    const enum sw_ledger_refusal refusal =
        check(account, bytes, bytes_min, ignores ? 0 : bytes_max);
    if (refusal == SW_LEDGER_PERMITS) {
        account->growing = bytes;
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
    const bool ignores = ignores_limits(account->ledger);
    pthread_mutex_lock(&account->ledger->lock);
    account->has_table = true;
    account->growing = 0;
    sw_growth_has(&account->growth, bytes);
    sw_growth_has_host(&account->growth, host);
    const enum sw_ledger_refusal refusal =
        has_room_in_host(account->ledger, 0)
            ? check(account, 0, account->bytes_min, ignores ? 0 : account->bytes_max)
            : SW_LEDGER_HOST_MAX;
    pthread_mutex_unlock(&account->ledger->lock);
    return refusal;
}

void sw_account_close(struct sw_account *account)
{
    if (account->ledger != NULL) {
        pthread_mutex_lock(&account->ledger->lock);
        sw_list_remove(&account->link);
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
    const enum sw_ledger_refusal refusal =
        may_pass && loads ? SW_LEDGER_PERMITS
                          : check(account, 0, bytes_min, may_pass ? 0 : bytes_max);
    if (refusal == SW_LEDGER_PERMITS) {
        account->bytes_min = bytes_min;
        account->bytes_max = bytes_max;
        __atomic_store_n(&account->growth.slots_max, slots_max, __ATOMIC_RELAXED);
        __atomic_store_n(&account->refusal, SW_LEDGER_PERMITS, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&account->ledger->lock);
    return refusal;
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
    switch (sw_account_refusal(account)) {
    case SW_LEDGER_TABLES_MAX:
        return "start with a larger --tables-memory-max";
    case SW_LEDGER_HOST_MAX:
        return "start with a larger --tables-host-memory-max";
    default:
        return NULL;
    }
}
