/* SPDX-License-Identifier: MIT
 *
 * test_ha_shard.c - what a member puts into etcd is what others read there.
 */
#include "server/ha/shard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "server/etcd/values.h"

static const struct sw_ha_address address = {
    .etcd.prefix = "p", .shard = "s", .ttl_ns = 7000000000U};

/* Returns etcd's value after the transaction, at this revision. Takes ownership of the body. */
static json_t *held_after(json_t *body, const char *revision)
{
    json_t *kvs = json_array(), *put;
    size_t i;
    json_array_foreach(json_object_get(body, "success"), i, put)
    {
        json_t *kv = json_deep_copy(json_object_get(put, "request_put"));
        json_object_set_new(kv, "mod_revision", json_string(revision));
        json_array_append_new(kvs, kv);
    }
    json_decref(body);
    return json_pack("{s:o}", "kvs", kvs);
}

static int read_held(json_t *held, struct sw_ha_shard *shard)
{
    struct sw_ha_names names = {0};
    char reason[SW_HA_REASON_BYTES];
    int status = sw_ha_read_shard(&address, held, shard, &names, reason, sizeof(reason));
    json_decref(held);
    return status;
}

static json_t *election(void)
{
    static const struct sw_ha_shard before = {.term = 4};
    struct sw_ha_names names = {0};
    cr_assert(sw_ha_names_add(&names, "a:1") && sw_ha_names_add(&names, "b:2"));
    const struct sw_ha_sync next = {.quorum = 1,
                                    .members = 2,
                                    .member = {sw_ha_node("a:1"), sw_ha_node("b:2")},
                                    .count = 1,
                                    .in_sync = {{sw_ha_node("b:2"), 99}}};
    const struct sw_ha_id self = {sw_ha_node("a:1"), 17};
    return sw_ha_ask_election(&address, &before, &next, self, &names);
}

Test(ha_shard, an_election_is_read_as_it_was_put)
{
    struct sw_ha_shard shard;
    cr_assert_eq(read_held(held_after(election(), "12"), &shard), 0);
    cr_assert_eq(shard.term, 5);
    cr_assert(sw_ha_same_id(shard.primary, (struct sw_ha_id){sw_ha_node("a:1"), 17}));
    cr_assert_eq(shard.sync.quorum, 1);
    cr_assert_eq(shard.sync.members, 2);
    cr_assert_eq(shard.sync.count, 1);
    cr_assert(sw_ha_same_id(shard.sync.in_sync[0], (struct sw_ha_id){sw_ha_node("b:2"), 99}));
    cr_assert_eq(shard.term_revision, 12);
    cr_assert_eq(shard.sync_revision, 12);
    cr_assert_eq(shard.renewal_revision, 12);
    cr_assert_eq(shard.ttl_ns, address.ttl_ns, "others are patient for the primary's ttl");
}

/* Reads the shard after a renewal by a primary with this ttl. */
static int read_renewed(uint64_t ttl_ns, struct sw_ha_shard *shard)
{
    static const struct sw_ha_shard before = {.term = 5};
    struct sw_ha_address other = address;
    other.ttl_ns = ttl_ns;
    json_t *held = held_after(election(), "12");
    json_t *renewed = held_after(sw_ha_ask_renewal(&other, &before, 1), "13");
    json_array_set(json_object_get(held, "kvs"), 2,
                   json_array_get(json_object_get(renewed, "kvs"), 0));
    json_decref(renewed);
    return read_held(held, shard);
}

Test(ha_shard, a_renewal_says_for_how_long_it_is)
{
    struct sw_ha_shard shard;
    cr_assert_eq(read_renewed(60000000000U, &shard), 0);
    cr_assert_eq(shard.renewal_revision, 13);
    cr_assert_eq(shard.ttl_ns, 60000000000U);
    cr_assert_eq(read_renewed(60001000000U, &shard), -1, "no ttl is so long");
}

Test(ha_shard, keys_that_are_there_in_part_are_refused)
{
    for (size_t gone = 0; gone < 3; gone++) {
        struct sw_ha_shard shard;
        json_t *held = held_after(election(), "12");
        json_array_remove(json_object_get(held, "kvs"), gone);
        cr_assert_eq(read_held(held, &shard), gone == 2 ? 0 : -1,
                     "a primary that hands over takes "
                     "its renewal away");
        cr_assert(gone != 2 || (shard.renewal_revision == 0 && shard.ttl_ns == 0));
    }
}

/* The names of a shard's keys. */
static const char *const keys[] = {"term", "sync", "renewal"};

/* Would etcd carry out the transaction while the keys have these revisions? */
static bool is_carried_out(const json_t *body, const uint64_t *revisions)
{
    size_t i;
    json_t *comparison;
    json_array_foreach(json_object_get(body, "compare"), i, comparison)
    {
        bool is_equal = false;
        cr_assert_str_eq(json_string_value(json_object_get(comparison, "target")), "MOD");
        for (unsigned k = 0; k < 3; k++) {
            char name[64], revision[24];
            int size = snprintf(name, sizeof(name), "p/s/%s", keys[k]);
            json_t *key = sw_etcd_in_base64(name, (size_t)size);
            snprintf(revision, sizeof(revision), "%lu", (unsigned long)revisions[k]);
            is_equal |= json_equal(key, json_object_get(comparison, "key")) &&
                        strcmp(json_string_value(json_object_get(comparison, "mod_revision")),
                               revision) == 0;
            json_decref(key);
        }
        if (!is_equal) {
            return false;
        }
    }
    return true;
}

/* Another member changed one key after this one has read all. An election must not take over from a
 * primary that has renewed; no sync set may replace one that its writer has not read. */
Test(ha_shard, a_newer_revision_refuses_what_was_decided_without_it)
{
    static const struct sw_ha_shard read = {
        .term = 4, .term_revision = 21, .sync_revision = 22, .renewal_revision = 23};
    static const struct sw_ha_sync next = {.quorum = 1};
    static const struct sw_ha_names names = {0};
    const struct sw_ha_id self = {sw_ha_node("a:1"), 17};
    const struct {
        const char *name;
        json_t *body;
        bool compares[3]; /* by `keys` */
    } asked[] = {
        {"election", sw_ha_ask_election(&address, &read, &next, self, &names), {true, true, true}},
        {"renewal", sw_ha_ask_renewal(&address, &read, 1), {true, false, false}},
        {"change", sw_ha_ask_change(&address, &read, &next, &names), {true, true, false}},
        {"end", sw_ha_ask_end(&address, &read), {true, false, false}},
    };
    for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        uint64_t revisions[] = {21, 22, 23};
        cr_assert(is_carried_out(asked[i].body, revisions), "%s", asked[i].name);
        for (unsigned k = 0; k < 3; k++) {
            revisions[k] += 100;
            cr_assert_neq(is_carried_out(asked[i].body, revisions), asked[i].compares[k],
                          "%s with a newer %s", asked[i].name, keys[k]);
            revisions[k] -= 100;
        }
        json_decref(asked[i].body);
    }
}

/* A primary whose term ended in etcd steps down. If etcd has taken its change of the members in
 * sync, the change ends. */
Test(ha_shard, a_primary_reads_the_keys_again)
{
    struct sw_ha_member member = {
        .serves = 7, .is_changing = true, .shard = {.term_revision = 3, .sync_revision = 4}};
    struct sw_ha_shard shard = {.term_revision = 3, .sync_revision = 4};
    cr_assert(sw_ha_read_again(&member, &shard));
    cr_assert(member.serves == 7 && member.is_changing, "nothing has changed");
    shard.sync_revision = 9;
    cr_assert(sw_ha_read_again(&member, &shard));
    cr_assert(member.serves == 7 && !member.is_changing && member.shard.sync_revision == 9);
    shard.term_revision = 10;
    cr_assert_not(sw_ha_read_again(&member, &shard), "another member is primary");
    cr_assert_eq(member.serves, 0);
    cr_assert_eq(member.closed, 7, "it takes no record of its term any more");
}

/* A name that is cut would be the name of another member. */
Test(ha_shard, names_are_not_cut)
{
    struct sw_ha_names names = {0};
    char name[SW_HA_NAME_BYTES + 1];
    memset(name, 'h', sizeof(name));
    name[SW_HA_NAME_BYTES] = '\0';
    cr_assert_not(sw_ha_names_add(&names, name), "a letter too long");
    name[SW_HA_NAME_BYTES - 1] = '\0';
    cr_assert(sw_ha_names_add(&names, name));
    cr_assert_str_eq(sw_ha_name(&names, sw_ha_node(name)), name);
}

Test(ha_shard, names_make_room)
{
    struct sw_ha_names names = {0};
    char name[SW_HA_NAME_BYTES];
    const uint64_t kept[] = {sw_ha_node("h:1"), sw_ha_node("h:7")};
    for (unsigned i = 1; i <= 1000; i++) {
        snprintf(name, sizeof(name), "h:%u", i);
        sw_ha_names_tidy(&names, kept, 2);
        cr_assert(sw_ha_names_add(&names, name), "%s", name);
        cr_assert_str_eq(sw_ha_name(&names, sw_ha_node("h:1")), "h:1");
        cr_assert_str_eq(sw_ha_name(&names, sw_ha_node(name)), name);
        for (unsigned newest = i > 30 ? i - 30 : 1; newest <= i; newest++) {
            snprintf(name, sizeof(name), "h:%u", newest);
            cr_assert_str_eq(sw_ha_name(&names, sw_ha_node(name)), name);
        }
        if (i >= 12) { /* one that comes again and again stays */
            cr_assert_str_eq(sw_ha_name(&names, sw_ha_node("h:12")), "h:12");
            cr_assert(sw_ha_names_add(&names, "h:12"));
        }
    }
    cr_assert_str_eq(sw_ha_name(&names, sw_ha_node("h:7")), "h:7");
}
