/* SPDX-License-Identifier: MIT
 *
 * test_places.c - places of tables: names, numbers and ids, also beside an independent model; the
 * steps of a change in their order.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/tables/tables.h"
#include "tests/support/must.h"

TestSuite(places, .timeout = 60);

static struct sw_places catalog_of(uint32_t most)
{
    struct sw_places catalog;
    cr_assert_eq(sw_places_init(&catalog, most), SW_PLACES_OK);
    return catalog;
}

static enum sw_places_status create(struct sw_places *catalog, const char *name, int64_t number,
                                    struct sw_place *out)
{
    const uint32_t given = (uint32_t)number;
    return sw_places_create(catalog, name, strlen(name), number < 0 ? NULL : &given, out);
}

Test(places, begins_with_place_0_alone)
{
    struct sw_places catalog = catalog_of(4);
    cr_assert_eq(catalog.count, 1);
    const struct sw_place *place = sw_places_numbered(&catalog, 0);
    cr_assert_str_eq(place->name, "default");
    cr_assert_eq(place, sw_places_named(&catalog, "default", 7));
    cr_assert_null(sw_places_named(&catalog, "defaul", 6));
    cr_assert_null(sw_places_numbered(&catalog, 1));
    sw_places_fini(&catalog);
}

Test(places, allows_names_that_are_no_numbers)
{
    static const char *const good[] = {"a", "_", "Z9", "a.b:c-d_e", "db", "db1x", "default2"};
    static const char *const bad[] = {"",    "1",   "9a",  "-a", ".a",
                                      "a b", "a\n", "a,b", "*",  "\xc3\xa4"};
    char longest[SW_PLACE_NAME_BYTES + 1];
    memset(longest, 'x', sizeof(longest));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_assert(sw_place_name_is_allowed(good[i], strlen(good[i])), "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_not(sw_place_name_is_allowed(bad[i], strlen(bad[i])), "%s", bad[i]);
    }
    cr_assert(sw_place_name_is_allowed(longest, SW_PLACE_NAME_BYTES - 1));
    cr_assert_not(sw_place_name_is_allowed(longest, SW_PLACE_NAME_BYTES));
    cr_assert_not(sw_place_name_is_allowed("a\0b", 3));
}

Test(places, reserves_db_names_for_their_numbers)
{
    struct sw_places catalog = catalog_of(8);
    struct sw_place place;
    cr_assert_eq(create(&catalog, "db3", -1, &place), SW_PLACES_RESERVED);
    cr_assert_eq(create(&catalog, "db3", 4, &place), SW_PLACES_RESERVED);
    cr_assert_eq(create(&catalog, "db0", -1, &place), SW_PLACES_RESERVED);
    cr_assert_eq(create(&catalog, "db3", 3, &place), SW_PLACES_OK);
    cr_assert_eq(create(&catalog, "db03", -1, &place), SW_PLACES_OK, "SELECT reads no 03");
    cr_assert_eq(create(&catalog, "other", -1, &place), SW_PLACES_OK);
    cr_assert_eq(sw_places_rename(&catalog, place.number, "db9", 3), SW_PLACES_RESERVED);
    sw_places_fini(&catalog);
}

Test(places, refuses_what_would_be_ambiguous)
{
    struct sw_places catalog = catalog_of(3);
    struct sw_place place;
    cr_assert_eq(create(&catalog, "default", -1, &place), SW_PLACES_EXISTS);
    cr_assert_eq(create(&catalog, "a", 0, &place), SW_PLACES_NUMBER_IS_USED);
    cr_assert_eq(create(&catalog, "a", SW_PLACE_NUMBERS_FREE, &place), SW_PLACES_NO_NUMBER);
    cr_assert_eq(create(&catalog, "7", -1, &place), SW_PLACES_NO_NAME);
    cr_assert_eq(create(&catalog, "a", 7, &place), SW_PLACES_OK);
    cr_assert_eq(create(&catalog, "b", 7, &place), SW_PLACES_NUMBER_IS_USED);
    cr_assert_eq(create(&catalog, "b", -1, &place), SW_PLACES_OK);
    cr_assert_eq(place.number, SW_PLACE_NUMBERS_FREE);
    cr_assert_eq(create(&catalog, "c", -1, &place), SW_PLACES_FULL);
    cr_assert_eq(sw_places_drop(&catalog, 0), SW_PLACES_DEFAULT);
    cr_assert_eq(sw_places_rename(&catalog, 0, "c", 1), SW_PLACES_DEFAULT);
    cr_assert_eq(sw_places_rename(&catalog, 7, "b", 1), SW_PLACES_EXISTS);
    cr_assert_eq(sw_places_drop(&catalog, 8), SW_PLACES_NO_PLACE);
    cr_assert_eq(sw_places_swap(&catalog, 0, 8), SW_PLACES_NO_PLACE);
    cr_assert_eq(catalog.count, 3);
    sw_places_fini(&catalog);
}

/* A client that slept while its table was dropped must not meet another table under the number. */
Test(places, gives_no_id_and_no_number_again)
{
    struct sw_places catalog = catalog_of(2);
    uint32_t numbers = SW_PLACE_NUMBERS_FREE, tables = 1;
    for (int i = 0; i < 100; i++) {
        struct sw_place place;
        cr_assert_eq(create(&catalog, "a", i % 2 == 0 ? -1 : 5, &place), SW_PLACES_OK);
        cr_assert_eq(place.number, i % 2 == 0 ? numbers++ : 5);
        cr_assert_gt(place.table, tables);
        tables = place.table;
        cr_assert_eq(sw_places_drop(&catalog, place.number), SW_PLACES_OK);
    }
    sw_places_fini(&catalog);
}

Test(places, swaps_tables_and_keeps_names_and_numbers)
{
    struct sw_places catalog = catalog_of(2);
    struct sw_place place;
    cr_assert_eq(create(&catalog, "v2", -1, &place), SW_PLACES_OK);
    const uint32_t first = sw_places_numbered(&catalog, 0)->table;
    cr_assert_eq(sw_places_swap(&catalog, 0, place.number), SW_PLACES_OK);
    cr_assert_eq(sw_places_numbered(&catalog, 0)->table, place.table);
    cr_assert_eq(sw_places_named(&catalog, "v2", 2)->table, first);
    cr_assert_eq(sw_places_swap(&catalog, 0, 0), SW_PLACES_OK);
    cr_assert_eq(sw_places_numbered(&catalog, 0)->table, place.table);
    sw_places_fini(&catalog);
}

/* --- random changes beside a model ------------------------------------------------------------ */

#define NUMBERS 6
#define STEPS 20000

/* The model: a table id for each number below NUMBERS, 0 if there is no place, and a name, which is
 * 'a' + an index; place 0 keeps its name. */
struct model {
    uint32_t table[NUMBERS];
    int name[NUMBERS];
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*state >> 33) % below;
}

static bool has_name(const struct model *model, int name)
{
    for (int i = 1; i < NUMBERS; i++) {
        if (model->table[i] != 0 && model->name[i] == name) {
            return true;
        }
    }
    return false;
}

static void check_same(const struct sw_places *catalog, const struct model *model)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < NUMBERS; number++) {
        const struct sw_place *place = sw_places_numbered(catalog, number);
        cr_assert_eq(place == NULL, model->table[number] == 0);
        count += place != NULL;
        if (place != NULL) {
            cr_assert_eq(place->table, model->table[number]);
            cr_assert_eq(sw_places_named(catalog, place->name, strlen(place->name)), place);
        }
        if (place != NULL && number > 0) {
            cr_assert_eq(place->name[0], 'a' + model->name[number]);
        }
    }
    cr_assert_eq(catalog->count, count);
    for (uint32_t i = 1; i < count; i++) {
        cr_assert_lt(catalog->places[i - 1].number, catalog->places[i].number);
    }
}

static void step(struct sw_places *catalog, struct model *model, uint64_t *state)
{
    const uint32_t number = draw(state, NUMBERS), other = draw(state, NUMBERS);
    const int name = (int)draw(state, NUMBERS);
    const char text[2] = {(char)('a' + name), '\0'};
    const bool is_used = has_name(model, name);
    struct sw_place place;
    switch (draw(state, 4)) {
    case 0:
        if (create(catalog, text, number, &place) == SW_PLACES_OK) {
            cr_assert(model->table[number] == 0 && !is_used);
            model->table[number] = place.table;
            model->name[number] = name;
        } else {
            cr_assert(model->table[number] != 0 || is_used);
        }
        break;
    case 1:
        if (sw_places_drop(catalog, number) == SW_PLACES_OK) {
            cr_assert(number > 0 && model->table[number] != 0);
            model->table[number] = 0;
        } else {
            cr_assert(number == 0 || model->table[number] == 0);
        }
        break;
    case 2:
        if (sw_places_rename(catalog, number, text, 1) == SW_PLACES_OK) {
            cr_assert(number > 0 && model->table[number] != 0 && !is_used);
            model->name[number] = name;
        } else {
            cr_assert(number == 0 || model->table[number] == 0 || is_used);
        }
        break;
    default:
        if (sw_places_swap(catalog, number, other) == SW_PLACES_OK) {
            const uint32_t table = model->table[number];
            model->table[number] = model->table[other];
            model->table[other] = table;
        } else {
            cr_assert(model->table[number] == 0 || model->table[other] == 0);
        }
    }
}

Test(places, agrees_with_a_model)
{
    struct sw_places catalog = catalog_of(NUMBERS);
    struct model model = {.table = {1}};
    uint64_t state = 39;
    for (int i = 0; i < STEPS; i++) {
        step(&catalog, &model, &state);
        check_same(&catalog, &model);
    }
    sw_places_fini(&catalog);
}

/* --- the order of a change -------------------------------------------------------------------- */

/* A server with one loop, which notes the calls of a change. */
struct order {
    struct sw_tables *tables;
    struct sw_tables_handle handle;
    struct sw_config config;
    bool refuses; /* commit */
    /* n: the change gets its number; r: rights are renamed; p: the loop meets the change; t, c: a
     * table retires, is closed */
    char calls[16];
};

static struct order order;

static void note(char call)
{
    const size_t count = strlen(order.calls);
    cr_assert_lt(count + 1, sizeof(order.calls));
    order.calls[count] = call;
}

static int open_one(void *server, const struct sw_config *config, struct sw_served *served,
                    char *error, size_t error_bytes)
{
    const struct sw_table_config small = cpu_config(64, 64);
    (void)server, (void)config, (void)error, (void)error_bytes;
    served->table = must_create(&small);
    served->config = &order.config;
    return 0;
}

static void close_one(void *server, struct sw_served *served)
{
    (void)server;
    note('c');
    sw_table_destroy(served->table);
}

static void retire_one(void *server, const struct sw_served *served)
{
    (void)server, (void)served;
    note('t');
}

static int give_number(void *server, const struct sw_tables_view *before,
                       const struct sw_tables_view *next, uint64_t *sequence, char *error,
                       size_t error_bytes)
{
    (void)server, (void)before, (void)next;
    note('n');
    *sequence = 1;
    snprintf(error, error_bytes, order.refuses ? "refused" : "");
    return order.refuses ? -1 : 0;
}

static void rename_one(void *server, const char *name, const char *to)
{
    (void)server, (void)name, (void)to;
    note('r');
}

/* Runs an iteration of the loop, if a view was published. */
static void run_loop(void *server)
{
    (void)server;
    if (sw_tables_is_behind(&order.handle)) {
        note('p');
        sw_tables_follow(&order.handle);
        sw_tables_settle(&order.handle);
    }
}

/* Carries out a change, and returns its calls. */
static const char *calls_of(enum sw_change_kind kind, const char *name, const char *other)
{
    static struct sw_change change;
    char error[SW_TABLES_ERROR_BYTES];
    change = (struct sw_change){.kind = kind, .config = order.config};
    strcpy(change.name, name);
    strcpy(change.other, other);
    memset(order.calls, 0, sizeof(order.calls));
    cr_assert_eq(sw_tables_change(order.tables, &change, error, sizeof(error)),
                 order.refuses ? -1 : 0, "%s", error);
    return order.calls;
}

/* Begins with one table, which it returns. */
static struct sw_served begin_order(bool logs)
{
    struct sw_served first = {.config = &order.config};
    const struct sw_tables_owner owner = {.open = open_one,
                                          .close = close_one,
                                          .retire = retire_one,
                                          .commit = give_number,
                                          .logs = logs,
                                          .wake = run_loop,
                                          .rename = rename_one};
    memset(&order, 0, sizeof(order));
    sw_config_init(&order.config);
    open_one(NULL, NULL, &first, NULL, 0);
    order.tables = sw_tables_create(4, &first, &owner);
    sw_tables_join(order.tables, &order.handle, 0);
    sw_tables_follow(&order.handle);
    return first;
}

static void end_order(const struct sw_served *first)
{
    sw_tables_leave(&order.handle);
    sw_tables_destroy(order.tables);
    sw_table_destroy(first->table);
}

static void check_order(bool logs)
{
    const struct sw_served first = begin_order(logs);
    cr_assert_str_eq(calls_of(SW_CHANGE_CREATE, "a", ""), "np");
    cr_assert_str_eq(calls_of(SW_CHANGE_SWAP, "a", "default"), "np");
    cr_assert_str_eq(calls_of(SW_CHANGE_RENAME, "a", "b"), "nrpr");
    cr_assert_str_eq(calls_of(SW_CHANGE_SWAP, "b", "default"), "np");
    if (!logs) {
        order.refuses = true;
        cr_assert_str_eq(calls_of(SW_CHANGE_CREATE, "c", ""), "nc", "its table is closed");
        cr_assert_str_eq(calls_of(SW_CHANGE_SWAP, "b", "default"), "n");
        cr_assert_str_eq(calls_of(SW_CHANGE_RENAME, "b", "a"), "n");
        cr_assert_str_eq(calls_of(SW_CHANGE_DROP, "b", ""), "n");
        order.refuses = false;
    }
    cr_assert_str_eq(calls_of(SW_CHANGE_DROP, "b", ""), logs ? "ptnc" : "nptc");
    end_order(&first);
}

/* A change has its number before a request meets it, so a write behind it has a higher one. A DROP
 * that is logged has its number behind the last write of its table. */
Test(places, get_the_number_of_a_change_before_it_is_seen)
{
    check_order(false);
    check_order(true);
}

static void *drop_b(void *result)
{
    *(const char **)result = calls_of(SW_CHANGE_DROP, "b", "");
    return NULL;
}

/* A save, an image or a sender that has pinned a table keeps it until it ends. */
Test(places, keep_a_dropped_table_that_is_pinned)
{
    pthread_t thread;
    const char *calls = NULL;
    struct sw_served first = begin_order(true);
    (void)calls_of(SW_CHANGE_CREATE, "b", "");
    struct sw_served *pinned = sw_tables_pin(order.tables, 1);
    cr_assert_neq(pinned->table, first.table);
    cr_assert_eq(pthread_create(&thread, NULL, drop_b, &calls), 0);
    while (!sw_tables_leaves(pinned)) {
        usleep(100);
    }
    usleep(20000);
    cr_assert_str_eq(order.calls, "p", "the change waits");
    cr_assert(sw_tables_unpin(order.tables, pinned), "it was dropped");
    pthread_join(thread, NULL);
    cr_assert_str_eq(calls, "ptnc");
    end_order(&first);
}
