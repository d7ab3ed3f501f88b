/* SPDX-License-Identifier: MIT
 *
 * points.c - the points of a space: workloads, variants, their numbers and names; filters.
 */
#include "bench/tune/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- filters ---------------------------------------------------------------------------------- */

/* What is between the braces of an axis: {ct}, {rt}, {io}, or nothing. */
static const char *parse_kind(const char *text, struct sw_tune_filter *out)
{
    if (*text != '{') {
        return text;
    }
    out->has_kind = true;
    if (strncmp(text, "{ct}", 4) == 0) {
        out->kind = SW_TUNE_COMPILED;
        return text + 4;
    }
    out->kind = SW_TUNE_RUN;
    return strncmp(text, "{rt}", 4) == 0 || strncmp(text, "{io}", 4) == 0 ? text + 4 : NULL;
}

bool sw_tune_filter_parse(const char *text, struct sw_tune_filter *out,
                          struct sw_tune_reason *reason)
{
    struct sw_tune_reason why = {"the values are missing"};
    size_t length = sw_tune_word_length(text);
    memset(out, 0, sizeof(*out));
    if (length == 0 || length >= sizeof(out->axis)) {
        return sw_tune_refuse(reason, "\"%s\" does not begin with an axis", text);
    }
    memcpy(out->axis, text, length);
    const char *rest = parse_kind(text + length, out);
    if (rest == NULL || *rest != '=') {
        return sw_tune_refuse(
            reason, "\"%s\" is not Axis=[a,b], Axis{ct}=[a,b], Axis{rt}=[a,b] or Axis=a", text);
    }
    rest++;
    if (*rest == '[') {
        rest = sw_tune_list_parse(rest, '[', ']', out->values, &out->count, &why);
    } else {
        length = sw_tune_word_length(rest);
        if (length == 0 || length >= SW_TUNE_NAME_MAX) {
            return sw_tune_refuse(reason, "\"%s\": %s", text, why.text);
        }
        memcpy(out->values[0], rest, length);
        out->count = 1;
        rest += length;
    }
    if (rest == NULL) {
        return sw_tune_refuse(reason, "\"%s\": %s", text, why.text);
    }
    return *rest == '\0' || sw_tune_refuse(reason, "\"%s\": what is \"%s\"?", text, rest);
}

static const struct sw_tune_axis *find_axis(const struct sw_tune_space *space, const char *name)
{
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (strcmp(space->axes[a].name, name) == 0) {
            return &space->axes[a];
        }
    }
    return NULL;
}

static bool axis_has(const struct sw_tune_axis *axis, const char *value)
{
    for (uint32_t v = 0; v < axis->count; v++) {
        if (strcmp(axis->values[v], value) == 0) {
            return true;
        }
    }
    return false;
}

/* "Slot{ct}, Load" */
static void name_axes(const struct sw_tune_space *space, char *text, size_t size)
{
    static const char *const kinds[] = {"{ct}", "", "{io}"};
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t a = 0; a < space->axis_count && used < size; a++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", a > 0 ? ", " : "",
                                 space->axes[a].name, kinds[space->axes[a].kind]);
    }
}

bool sw_tune_filter_fits(const struct sw_tune_filter *filter, const struct sw_tune_space *space,
                         struct sw_tune_reason *reason)
{
    const struct sw_tune_axis *axis = find_axis(space, filter->axis);
    char axes[SW_TUNE_TEXT_MAX];
    if (axis == NULL) {
        name_axes(space, axes, sizeof(axes));
        return sw_tune_refuse(reason, "kernel %s has no axis %s; it has %s", space->kernel,
                              filter->axis, axes[0] != '\0' ? axes : "none");
    }
    if (filter->has_kind &&
        (filter->kind == SW_TUNE_COMPILED) != (axis->kind == SW_TUNE_COMPILED)) {
        return sw_tune_refuse(
            reason, "axis %s of kernel %s is a %s axis", axis->name, space->kernel,
            axis->kind == SW_TUNE_COMPILED ? "compile-time {ct}" : "run-time {rt}");
    }
    for (uint32_t v = 0; v < filter->count; v++) {
        if (!axis_has(axis, filter->values[v])) {
            return sw_tune_refuse(reason, "axis %s of kernel %s has no value %s", axis->name,
                                  space->kernel, filter->values[v]);
        }
    }
    return true;
}

bool sw_tune_filters_take(const struct sw_tune_filter *filters, uint32_t filter_count,
                          const char *axis, const char *value)
{
    for (uint32_t f = 0; f < filter_count; f++) {
        bool found = strcmp(filters[f].axis, axis) != 0;
        for (uint32_t v = 0; v < filters[f].count && !found; v++) {
            found = strcmp(filters[f].values[v], value) == 0;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* --- points ----------------------------------------------------------------------------------- */

static bool is_of(const struct sw_tune_axis *axis, bool compiled)
{
    return (axis->kind == SW_TUNE_COMPILED) == compiled;
}

uint32_t sw_tune_point_count(const struct sw_tune_space *space, bool compiled)
{
    uint32_t count = 1;
    for (uint32_t a = 0; a < space->axis_count && count <= SW_TUNE_POINTS_MAX; a++) {
        count *= is_of(&space->axes[a], compiled) ? space->axes[a].count : 1;
    }
    return count;
}

uint32_t sw_tune_point_value(const struct sw_tune_space *space, bool compiled, uint32_t number,
                             uint32_t axis)
{
    for (uint32_t a = space->axis_count; a-- > axis + 1;) {
        number /= is_of(&space->axes[a], compiled) ? space->axes[a].count : 1;
    }
    return number % space->axes[axis].count;
}

void sw_tune_point_text(const struct sw_tune_space *space, bool compiled, uint32_t number,
                        char text[SW_TUNE_TEXT_MAX])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t a = 0; a < space->axis_count && used < SW_TUNE_TEXT_MAX; a++) {
        const struct sw_tune_axis *axis = &space->axes[a];
        if (is_of(axis, compiled)) {
            used += (size_t)snprintf(text + used, SW_TUNE_TEXT_MAX - used, "%s%s=%s",
                                     used > 0 ? " " : "", axis->name,
                                     axis->values[sw_tune_point_value(space, compiled, number, a)]);
        }
    }
}

bool sw_tune_point_taken(const struct sw_tune_space *space, bool compiled, uint32_t number,
                         const struct sw_tune_filter *filters, uint32_t filter_count)
{
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const struct sw_tune_axis *axis = &space->axes[a];
        if (is_of(axis, compiled) &&
            !sw_tune_filters_take(filters, filter_count, axis->name,
                                  axis->values[sw_tune_point_value(space, compiled, number, a)])) {
            return false;
        }
    }
    return true;
}

/* --- variants --------------------------------------------------------------------------------- */

bool sw_tune_parameter_exists(const struct sw_tune_space *space, uint32_t workload,
                              uint32_t parameter)
{
    const struct sw_tune_parameter *of = &space->parameters[parameter];
    return !of->is_limited || sw_tune_point_taken(space, true, workload, &of->only, 1);
}

uint64_t sw_tune_variant_count(const struct sw_tune_space *space, uint32_t workload)
{
    uint64_t count = 1;
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        if (sw_tune_parameter_exists(space, workload, p) && count <= SW_TUNE_VARIANTS_MAX) {
            count *= space->parameters[p].count;
        }
    }
    return count;
}

void sw_tune_variant_at(const struct sw_tune_space *space, uint32_t workload, uint64_t number,
                        struct sw_tune_variant *out)
{
    sw_tune_variant_base(space, out);
    for (uint32_t p = space->parameter_count; p-- > 0;) {
        if (sw_tune_parameter_exists(space, workload, p)) {
            out->values[p] = space->parameters[p].values[number % space->parameters[p].count];
            number /= space->parameters[p].count;
        }
    }
}

void sw_tune_variant_base(const struct sw_tune_space *space, struct sw_tune_variant *out)
{
    memset(out, 0, sizeof(*out));
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        out->values[p] = space->parameters[p].base;
    }
}

bool sw_tune_variant_is_base(const struct sw_tune_space *space, uint32_t workload,
                             const struct sw_tune_variant *variant)
{
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        if (sw_tune_parameter_exists(space, workload, p) &&
            variant->values[p] != space->parameters[p].base) {
            return false;
        }
    }
    return true;
}

void sw_tune_variant_name(const struct sw_tune_space *space, uint32_t workload,
                          const struct sw_tune_variant *variant, char name[SW_TUNE_TEXT_MAX])
{
    size_t used = 0;
    snprintf(name, SW_TUNE_TEXT_MAX, "base");
    for (uint32_t p = 0; p < space->parameter_count && used < SW_TUNE_TEXT_MAX; p++) {
        if (sw_tune_parameter_exists(space, workload, p)) {
            used += (size_t)snprintf(name + used, SW_TUNE_TEXT_MAX - used, "%s%s_%" PRId64,
                                     used > 0 ? "." : "", space->parameters[p].label,
                                     variant->values[p]);
        }
    }
}
