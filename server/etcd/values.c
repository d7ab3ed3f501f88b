/* SPDX-License-Identifier: MIT
 *
 * values.c - elements of requests to etcd and of its answers.
 */
#include "server/etcd/values.h"

#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

json_t *sw_etcd_in_base64(const char *text, size_t size)
{
    char *out = size > INT_MAX / 2 ? NULL : malloc((size + 2) / 3 * 4 + 1);
    if (out == NULL) {
        return NULL;
    }
    int length = EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)size);
    json_t *value = json_stringn(out, (size_t)length);
    free(out);
    return value;
}

char *sw_etcd_from_base64(const json_t *value, size_t *size)
{
    const char *base64 = json_string_value(value);
    size_t length = json_string_length(value);
    char *out =
        length == 0 || length % 4 != 0 || length > INT_MAX ? NULL : malloc(length / 4 * 3 + 1);
    int decoded = out == NULL ? -1
                              : EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)base64,
                                                (int)length);
    decoded -= decoded < 0 ? 0 : (base64[length - 1] == '=') + (base64[length - 2] == '=');
    if (decoded < 0) {
        free(out);
        return NULL;
    }
    out[decoded] = '\0';
    *size = (size_t)decoded;
    return out;
}

uint64_t sw_etcd_number(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

bool sw_etcd_succeeded(const json_t *answer)
{
    return json_is_true(json_object_get(answer, "succeeded"));
}

uint64_t sw_etcd_revision(const json_t *answer)
{
    return sw_etcd_number(json_object_get(answer, "header"), "revision");
}

json_t *sw_etcd_comparison(json_t *key, uint64_t revision)
{
    return json_pack("{s:s,s:s,s:o,s:o}", "target", "MOD", "result", "EQUAL", "key", key,
                     "mod_revision", json_sprintf("%" PRIu64, revision));
}

json_t *sw_etcd_put(json_t *key, json_t *value)
{
    return json_pack("{s:{s:o,s:o}}", "request_put", "key", key, "value", value);
}

json_t *sw_etcd_range(json_t *key)
{
    return json_pack("{s:{s:o}}", "request_range", "key", key);
}

const json_t *sw_etcd_found(const json_t *answer, size_t place)
{
    const json_t *one = json_array_get(json_object_get(answer, "responses"), place);
    return json_array_get(json_object_get(json_object_get(one, "response_range"), "kvs"), 0);
}
