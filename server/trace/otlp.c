/* SPDX-License-Identifier: MIT
 *
 * otlp.c - writes spans as JSON.
 */
#include "server/trace/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/hex.h"
#include "proto/operation.h"

#define KIND_SERVER 2
#define STATUS_ERROR 2
/* The bits of a span's flags that report whether its parent is in another process: known, yes. */
#define FLAGS_REMOTE 0x300
#define HOST_BYTES 256

static const char *status_name(uint32_t status)
{
    const char *name = sw_reply_status_name(status);
    return name != NULL ? name : "_OTHER";
}

/* json_array_append_new and json_object_set_new fail for a NULL, so a lack of memory shows in the
 * result of the last call that uses the value. */
static bool add_value(json_t *attributes, const char *key, json_t *value)
{
    return json_array_append_new(attributes, json_pack("{s:s, s:o}", "key", key, "value", value)) ==
           0;
}

static bool add_text(json_t *attributes, const char *key, const char *text)
{
    return add_value(attributes, key, json_pack("{s:s}", "stringValue", text));
}

/* OTLP writes integers of 64 bits as texts. */
static bool add_number(json_t *attributes, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    return add_value(attributes, key, json_pack("{s:s}", "intValue", digits));
}

/* Adds an address and a port from "ip:port" or "[ip6]:port". Does nothing for a Unix socket. */
static bool add_address(json_t *attributes, const char *text, const char *address_key,
                        const char *port_key)
{
    char host[SW_SPAN_ADDRESS_BYTES];
    const char *colon = strrchr(text, ':');
    if (colon == NULL || strncmp(text, "unix:", 5) == 0 || text[0] == '?') {
        return true;
    }
    const bool is_v6 = text[0] == '[';
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text) - 2 * is_v6, text + is_v6);
    return add_text(attributes, address_key, host) &&
           add_number(attributes, port_key, strtoull(colon + 1, NULL, 10));
}

static bool add_attributes(json_t *attributes, const struct sw_span *span)
{
    const bool is_unix = strncmp(span->peer, "unix:", 5) == 0;
    const bool is_batch = sw_operation_is_data(span->operation) && span->count > 1;
    return add_text(attributes, "db.system.name", "sherwood") &&
           add_text(attributes, "db.operation.name", sw_operation_name(span->operation)) &&
           (span->table[0] == '\0' || add_text(attributes, "db.collection.name", span->table)) &&
           (!is_batch || add_number(attributes, "db.operation.batch.size", span->count)) &&
           add_address(attributes, span->own, "server.address", "server.port") &&
           add_text(attributes, "network.transport", is_unix ? "unix" : "tcp") &&
           add_address(attributes, span->peer, "network.peer.address", "network.peer.port") &&
           (span->status == SW_REPLY_OK ||
            (add_text(attributes, "db.response.status_code", status_name(span->status)) &&
             add_text(attributes, "error.type", status_name(span->status))));
}

static bool set_time(json_t *out, const char *key, int64_t ns)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, ns);
    return json_object_set_new(out, key, json_string(digits)) == 0;
}

/* Returns the message of a span. A message may quote bytes of a request, and JSON takes only UTF-8:
 * bytes other than ASCII become '?'. */
static json_t *message_of(const struct sw_span *span)
{
    char text[SW_SPAN_MESSAGE_BYTES];
    size_t size = 0;
    for (; span->message[size] != '\0'; size++) {
        const char c = span->message[size];
        text[size] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    return json_stringn(text, size);
}

static bool fill_span(json_t *out, json_t *attributes, const struct sw_span *span,
                      int64_t offset_ns)
{
    char name[SW_FRAME_TABLE_BYTES + 64];
    const char *operation = sw_operation_name(span->operation);
    snprintf(name, sizeof(name), span->table[0] == '\0' ? "%s" : "%s %s", operation, span->table);
    return json_object_set_new(out, "name", json_string(name)) == 0 &&
           json_object_set_new(out, "kind", json_integer(KIND_SERVER)) == 0 &&
           json_object_set_new(out, "flags", json_integer(FLAGS_REMOTE | span->trace.flags)) == 0 &&
           set_time(out, "startTimeUnixNano", (int64_t)span->begin_ns + offset_ns) &&
           set_time(out, "endTimeUnixNano", (int64_t)span->end_ns + offset_ns) &&
           add_attributes(attributes, span) &&
           (span->status == SW_REPLY_OK ||
            json_object_set_new(
                out, "status",
                json_pack("{s:i, s:o}", "code", STATUS_ERROR, "message", message_of(span))) == 0);
}

json_t *sw_otlp_span(const struct sw_span *span, const uint8_t span_id[SW_SPAN_ID_BYTES],
                     int64_t offset_ns)
{
    char trace_hex[2 * SW_TRACE_ID_BYTES + 1], span_hex[2 * SW_SPAN_ID_BYTES + 1];
    char parent_hex[2 * SW_SPAN_ID_BYTES + 1];
    sw_hex_encode(span->trace.trace_id, SW_TRACE_ID_BYTES, trace_hex);
    sw_hex_encode(span_id, SW_SPAN_ID_BYTES, span_hex);
    sw_hex_encode(span->trace.parent_id, SW_SPAN_ID_BYTES, parent_hex);
    json_t *attributes = json_array();
    json_t *out = json_pack("{s:s, s:s, s:s, s:O}", "traceId", trace_hex, "spanId", span_hex,
                            "parentSpanId", parent_hex, "attributes", attributes);
    if (out != NULL && !fill_span(out, attributes, span, offset_ns)) {
        json_decref(out);
        out = NULL;
    }
    json_decref(attributes);
    return out;
}

/* Returns the attributes that describe this server, or NULL. */
static json_t *resource_attributes(const char *instance)
{
    char host[HOST_BYTES] = "";
    json_t *attributes = json_array();
    const bool has_host = gethostname(host, sizeof(host) - 1) == 0 && host[0] != '\0';
    if (!add_text(attributes, "service.name", "sherwood") ||
        !add_text(attributes, "service.version", SHERWOOD_VERSION) ||
        !add_text(attributes, "service.instance.id", instance) ||
        (has_host && !add_text(attributes, "host.name", host))) {
        json_decref(attributes);
        return NULL;
    }
    return attributes;
}

char *sw_otlp_export(json_t *spans, const char *instance)
{
    json_t *root =
        json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceSpans", "resource",
                  "attributes", resource_attributes(instance), "scopeSpans", "scope", "name",
                  "sherwoodd", "version", SHERWOOD_VERSION, "spans", spans);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

uint64_t sw_otlp_rejected(const char *answer, size_t bytes)
{
    json_error_t wrong;
    json_t *root = answer == NULL ? NULL : json_loadb(answer, bytes, 0, &wrong);
    const json_t *rejected =
        json_object_get(json_object_get(root, "partialSuccess"), "rejectedSpans");
    const long long number = json_is_string(rejected)
                                 ? strtoll(json_string_value(rejected), NULL, 10)
                                 : json_integer_value(rejected);
    json_decref(root);
    return number > 0 ? (uint64_t)number : 0;
}
