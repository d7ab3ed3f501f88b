/* SPDX-License-Identifier: MIT
 *
 * topology_parse.c - JSON text becomes a topology, or a sentence about the first fault in it.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cluster/topology.h"

/* The position of the parser, and its error. Functions that check return false after writing
 * `error`. */
struct parser {
    struct sw_topology *topology;
    const char *array; /* it is in $.array[index], or in $ if this is NULL, */
    unsigned index;
    int range; /* and there in .slots[range], if that is not negative */
    char *error;
    uint64_t epoch; /* the topology's; 0: the text says it */
};

/* `field` is NULL where the whole object is wrong. */
__attribute__((format(printf, 3, 4))) static bool fault(struct parser *p, const char *field,
                                                        const char *format, ...)
{
    char path[SW_TOPOLOGY_ERROR_BYTES / 2] = "$";
    char text[SW_TOPOLOGY_ERROR_BYTES / 2 - 2]; /* both with a blank between them fit */
    size_t used = 1;
    if (p->array != NULL) {
        used += (size_t)snprintf(path + used, sizeof(path) - used, ".%s[%u]", p->array, p->index);
    }
    if (p->range >= 0) {
        snprintf(path + used, sizeof(path) - used, ".slots[%d]", p->range);
    } else if (field != NULL) {
        snprintf(path + used, sizeof(path) - used, ".%s", field);
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(p->error, SW_TOPOLOGY_ERROR_BYTES, "%s %s", path, text);
    return false;
}

/* An error is one line, whatever bytes of the text it shows. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text < ' ' || *text > '~' ? '?' : *text);
    }
}

/* Checks that `value` is an object with only fields from `known`, which ends with NULL. */
static bool check_fields(struct parser *p, json_t *value, const char *const *known)
{
    if (!json_is_object(value)) {
        return fault(p, NULL, "must be an object");
    }
    const char *name;
    json_t *field;
    json_object_foreach(value, name, field)
    {
        unsigned i = 0;
        while (known[i] != NULL && strcmp(known[i], name) != 0) {
            i++;
        }
        if (known[i] == NULL) {
            char shown[33];
            snprintf(shown, sizeof(shown), "%s", name);
            make_printable(shown);
            return fault(p, NULL, "has the unknown field \"%s\": remove it", shown);
        }
    }
    return true;
}

/* The string of a field, or NULL after a fault. */
static const char *string_of(struct parser *p, json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (value == NULL) {
        fault(p, name, "is missing");
        return NULL;
    }
    if (!json_is_string(value)) {
        fault(p, name, "must be a string");
        return NULL;
    }
    return json_string_value(value);
}

static bool integer_of(struct parser *p, json_t *object, const char *name, json_int_t least,
                       json_int_t most, json_int_t *out)
{
    json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return fault(p, name, "is missing");
    }
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        return fault(p, name,
                     "must be an integer from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
                     least, most);
    }
    *out = json_integer_value(value);
    return true;
}

static bool id_of(struct parser *p, json_t *object, char out[SW_TOPOLOGY_ID + 1])
{
    const char *text = string_of(p, object, "id");
    if (text == NULL) {
        return false;
    }
    if (!sw_topology_is_id(text)) {
        return fault(p, "id", "must be 40 hex digits in lower case");
    }
    memcpy(out, text, SW_TOPOLOGY_ID + 1);
    return true;
}

static bool name_of(struct parser *p, json_t *object, const char *field,
                    char out[SW_TOPOLOGY_NAME_MAX + 1])
{
    const char *text = string_of(p, object, field);
    if (text == NULL) {
        return false;
    }
    size_t size = strlen(text);
    if (size == 0 || size > SW_TOPOLOGY_NAME_MAX ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != size) {
        return fault(p, field, "must be a name of 1 to %u characters of a-z, 0-9 and -",
                     SW_TOPOLOGY_NAME_MAX);
    }
    memcpy(out, text, size + 1);
    return true;
}

/* --- shards --------------------------------------------------------------------------------------
 */

/* Adds a range behind the last one, or to it. */
static void add_range(struct sw_topology_shard *shard, unsigned first, unsigned last)
{
    struct sw_topology_range *before =
        shard->range_count > 0 ? &shard->ranges[shard->range_count - 1] : NULL;
    if (before != NULL && before->last + 1U == first) {
        before->last = (uint16_t)last;
    } else {
        shard->ranges[shard->range_count++] =
            (struct sw_topology_range){(uint16_t)first, (uint16_t)last};
    }
    shard->slot_count += last - first + 1;
}

static bool parse_range(struct parser *p, json_t *pair, unsigned number)
{
    struct sw_topology *topology = p->topology;
    struct sw_topology_shard *shard = &topology->shards[number];
    json_t *first = json_array_get(pair, 0);
    json_t *last = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(first) || !json_is_integer(last) ||
        json_integer_value(first) < 0 || json_integer_value(last) >= (json_int_t)SW_SLOTS ||
        json_integer_value(first) > json_integer_value(last)) {
        return fault(p, NULL, "must be a first and a last slot, from 0 to %u", SW_SLOTS - 1);
    }
    unsigned from = (unsigned)json_integer_value(first);
    unsigned to = (unsigned)json_integer_value(last);
    if (shard->range_count > 0 && from <= shard->ranges[shard->range_count - 1].last) {
        return fault(p, NULL, "must be above the slots of the range before it");
    }
    for (unsigned slot = from; slot <= to; slot++) {
        if (topology->owner[slot] != SW_TOPOLOGY_NOBODY) {
            return fault(p, NULL, "has slot %u, which belongs to the shard \"%s\" already", slot,
                         topology->shards[topology->owner[slot]].name);
        }
        topology->owner[slot] = (uint16_t)number;
    }
    add_range(shard, from, to);
    topology->slot_count += to - from + 1;
    return true;
}

static bool parse_slots(struct parser *p, json_t *object, unsigned number)
{
    json_t *slots = json_object_get(object, "slots");
    if (!json_is_array(slots) || json_array_size(slots) > SW_SLOTS) {
        return fault(p, "slots", "must be an array of ranges");
    }
    struct sw_topology_shard *shard = &p->topology->shards[number];
    shard->ranges = calloc(json_array_size(slots) + 1, sizeof(*shard->ranges));
    if (shard->ranges == NULL) {
        return fault(p, "slots", "needs more memory");
    }
    for (size_t i = 0; i < json_array_size(slots); i++) {
        p->range = (int)i;
        if (!parse_range(p, json_array_get(slots, i), number)) {
            return false;
        }
    }
    p->range = -1;
    return true;
}

static bool parse_shard(struct parser *p, json_t *object, unsigned number)
{
    static const char *const fields[] = {"id", "name", "slots", "lost_after", NULL};
    struct sw_topology *topology = p->topology;
    struct sw_topology_shard *shard = &topology->shards[number];
    if (!check_fields(p, object, fields) || !id_of(p, object, shard->id) ||
        !name_of(p, object, "name", shard->name)) {
        return false;
    }
    for (unsigned i = 0; i < number; i++) {
        if (strcmp(topology->shards[i].id, shard->id) == 0) {
            return fault(p, NULL, "has the id of $.shards[%u]", i);
        }
        if (strcmp(topology->shards[i].name, shard->name) == 0) {
            return fault(p, NULL, "has the name of $.shards[%u]", i);
        }
    }
    if (json_object_get(object, "lost_after") != NULL) {
        json_int_t epoch;
        if (!integer_of(p, object, "lost_after", 0, (json_int_t)topology->epoch - 1, &epoch)) {
            return false;
        }
        shard->lost_after = (uint64_t)epoch;
    }
    return parse_slots(p, object, number);
}

/* --- nodes ---------------------------------------------------------------------------------------
 */

static bool parse_address(struct parser *p, json_t *object, struct sw_topology_node *node)
{
    const char *ip = string_of(p, object, "ip");
    if (ip == NULL) {
        return false;
    }
    if (!sw_topology_is_ip(ip, node->ip)) {
        return fault(p, "ip", "must be an IP address: put a name into \"hostname\"");
    }
    if (strcmp(node->ip, "0.0.0.0") == 0 || strcmp(node->ip, "::") == 0) {
        return fault(p, "ip", "must be an address that clients can connect to, not %s", node->ip);
    }
    if (json_object_get(object, "hostname") != NULL) {
        const char *hostname = string_of(p, object, "hostname");
        if (hostname == NULL) {
            return false;
        }
        if (!sw_topology_is_hostname(hostname)) {
            return fault(p, "hostname", "must be a host name as in RFC 1123");
        }
        memcpy(node->hostname, hostname, strlen(hostname) + 1);
    }
    json_int_t port;
    if (!integer_of(p, object, "port", 1, 65535, &port)) {
        return false;
    }
    node->port = (uint16_t)port;
    return true;
}

/* Enters the node into its shard. */
static bool parse_role(struct parser *p, json_t *object, unsigned number)
{
    struct sw_topology *topology = p->topology;
    struct sw_topology_node *node = &topology->nodes[number];
    const char *name = string_of(p, object, "shard");
    if (name == NULL) {
        return false;
    }
    unsigned i = 0;
    while (i < topology->shard_count && strcmp(topology->shards[i].name, name) != 0) {
        i++;
    }
    if (i == topology->shard_count) {
        return fault(p, "shard", "must be the name of a shard");
    }
    const char *role = string_of(p, object, "role");
    if (role == NULL) {
        return false;
    }
    node->is_primary = strcmp(role, "primary") == 0;
    if (!node->is_primary && strcmp(role, "replica") != 0) {
        return fault(p, "role", "must be \"primary\" or \"replica\"");
    }
    struct sw_topology_shard *shard = &topology->shards[i];
    if (node->is_primary && shard->primary != SW_TOPOLOGY_NOBODY) {
        return fault(p, "role", "must be \"replica\": the shard \"%s\" has a primary already",
                     shard->name);
    }
    if (node->is_primary) {
        shard->primary = (uint16_t)number;
    }
    node->shard = (uint16_t)i;
    shard->node_count++;
    return true;
}

static bool parse_node(struct parser *p, json_t *object, unsigned number)
{
    static const char *const fields[] = {"id", "shard", "role", "ip", "hostname", "port", NULL};
    struct sw_topology *topology = p->topology;
    struct sw_topology_node *node = &topology->nodes[number];
    if (!check_fields(p, object, fields) || !id_of(p, object, node->id) ||
        !parse_role(p, object, number) || !parse_address(p, object, node)) {
        return false;
    }
    for (unsigned i = 0; i < number; i++) {
        const struct sw_topology_node *other = &topology->nodes[i];
        if (strcmp(other->id, node->id) == 0) {
            return fault(p, NULL, "has the id of $.nodes[%u]", i);
        }
        if (other->port == node->port && strcmp(other->ip, node->ip) == 0) {
            return fault(p, NULL, "has the address of $.nodes[%u]", i);
        }
    }
    return true;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

/* How many objects the array `name` has, 1 to SW_TOPOLOGY_NODES_MAX; 0 after a fault. */
static unsigned count_of(struct parser *p, json_t *root, const char *name)
{
    size_t count = json_array_size(json_object_get(root, name)); /* 0 of what is no array */
    if (count == 0 || count > SW_TOPOLOGY_NODES_MAX) {
        fault(p, name, "must be an array of 1 to %u objects", SW_TOPOLOGY_NODES_MAX);
        return 0;
    }
    return (unsigned)count;
}

static bool parse_shards(struct parser *p, json_t *root)
{
    struct sw_topology *topology = p->topology;
    unsigned count = count_of(p, root, "shards");
    topology->shards = calloc(count + 1, sizeof(*topology->shards));
    if (count == 0 || topology->shards == NULL) {
        return count > 0 && fault(p, "shards", "needs more memory");
    }
    for (unsigned i = 0; i < count; i++) {
        p->array = "shards";
        p->index = i;
        topology->shards[i].primary = SW_TOPOLOGY_NOBODY;
        topology->shard_count = i + 1;
        if (!parse_shard(p, json_array_get(json_object_get(root, "shards"), i), i)) {
            return false;
        }
    }
    p->array = NULL;
    return true;
}

static bool parse_nodes(struct parser *p, json_t *root)
{
    struct sw_topology *topology = p->topology;
    unsigned count = count_of(p, root, "nodes");
    topology->nodes = calloc(count + 1, sizeof(*topology->nodes));
    if (count == 0 || topology->nodes == NULL) {
        return count > 0 && fault(p, "nodes", "needs more memory");
    }
    for (unsigned i = 0; i < count; i++) {
        p->array = "nodes";
        p->index = i;
        topology->node_count = i + 1;
        if (!parse_node(p, json_array_get(json_object_get(root, "nodes"), i), i)) {
            return false;
        }
    }
    return true;
}

static bool parse_head(struct parser *p, json_t *root)
{
    static const char *const fields[] = {"format", "cluster", "epoch", "keys", "shards",
                                         "nodes",  "moves",   "force", NULL};
    struct sw_topology *topology = p->topology;
    json_int_t number;
    if (!check_fields(p, root, fields) || !integer_of(p, root, "format", 0, INT64_MAX, &number) ||
        (number != SW_TOPOLOGY_FORMAT && !fault(p, "format", "must be %d", SW_TOPOLOGY_FORMAT)) ||
        !name_of(p, root, "cluster", topology->cluster) ||
        (p->epoch == 0 && !integer_of(p, root, "epoch", 1, INT64_MAX, &number))) {
        return false;
    }
    topology->epoch = p->epoch == 0 ? (uint64_t)number : p->epoch;
    const char *keys = string_of(p, root, "keys");
    if (keys == NULL) {
        return false;
    }
    topology->is_raw = strcmp(keys, "raw") == 0;
    if (!topology->is_raw && strcmp(keys, "decimal") != 0) {
        return fault(p, "keys", "must be \"decimal\" or \"raw\"");
    }
    json_t *moves = json_object_get(root, "moves");
    if (moves != NULL && (!json_is_array(moves) || json_array_size(moves) > 0)) {
        return fault(p, "moves", "must be an empty array: use CLUSTER MOVE to move slots");
    }
    json_t *force = json_object_get(root, "force");
    topology->is_forced = json_is_true(force);
    return force == NULL || json_is_boolean(force) || fault(p, "force", "must be true or false");
}

static bool check_primaries(struct parser *p)
{
    p->array = "shards";
    for (unsigned i = 0; i < p->topology->shard_count; i++) {
        p->index = i;
        if (p->topology->shards[i].primary == SW_TOPOLOGY_NOBODY) {
            return fault(p, NULL, "has no primary: give one of its nodes the role \"primary\"");
        }
    }
    return true;
}

static bool parse_root(struct parser *p, json_t *root)
{
    memset(p->topology->owner, 0xff, sizeof(p->topology->owner)); /* SW_TOPOLOGY_NOBODY */
    return parse_head(p, root) && parse_shards(p, root) && parse_nodes(p, root) &&
           check_primaries(p);
}

struct sw_topology *sw_topology_parse(const char *text, size_t size,
                                      char error[SW_TOPOLOGY_ERROR_BYTES])
{
    return sw_topology_parse_shared(text, size, 0, error);
}

struct sw_topology *sw_topology_parse_shared(const char *text, size_t size, uint64_t epoch,
                                             char error[SW_TOPOLOGY_ERROR_BYTES])
{
    if (size > SW_TOPOLOGY_BYTES_MAX) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "$ has more than %zu bytes",
                 SW_TOPOLOGY_BYTES_MAX);
        return NULL;
    }
    json_error_t where;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "line %d, column %d: %s", where.line, where.column,
                 where.text);
        make_printable(error);
        return NULL;
    }
    struct parser parser = {calloc(1, sizeof(*parser.topology)), NULL, 0, -1, error, epoch};
    bool is_right = parser.topology != NULL ? parse_root(&parser, root)
                                            : fault(&parser, NULL, "needs more memory");
    json_decref(root);
    if (!is_right) {
        sw_topology_free(parser.topology);
        return NULL;
    }
    return parser.topology;
}
