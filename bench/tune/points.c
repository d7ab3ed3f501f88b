/* SPDX-License-Identifier: MIT
 *
 * points.c - the points of a space: workloads, variants, their numbers and names.
 */
#include "bench/tune/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void sw_tune_file_text(const char *workload, char text[SW_TUNE_TEXT_MAX])
{
    snprintf(text, SW_TUNE_TEXT_MAX, "%s", workload);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == ' ' ? '.' : *at == '=' ? '_' : *at;
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
