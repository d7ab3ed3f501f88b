/* SPDX-License-Identifier: MIT
 *
 * select.c - filters, and the options by which both programs select.
 */
#include "bench/tune/select.h"

#include <stdio.h>
#include <string.h>

/* Reads the kind of an axis in braces: {ct}, {rt}, {io}, or nothing. */
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

/* --- options ---------------------------------------------------------------------------------- */

void sw_tune_selection_init(struct sw_tune_selection *selection)
{
    memset(selection, 0, sizeof(*selection));
    (void)regcomp(&selection->kernels, "", REG_EXTENDED | REG_NOSUB);
    (void)regcomp(&selection->variants, "", REG_EXTENDED | REG_NOSUB);
}

void sw_tune_selection_free(struct sw_tune_selection *selection)
{
    regfree(&selection->kernels);
    regfree(&selection->variants);
}

static bool take_regex(regex_t *regex, const char *text, char *why, size_t why_size)
{
    char error_text[128];
    regfree(regex);
    int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (error == 0) {
        return true;
    }
    regerror(error, regex, error_text, sizeof(error_text));
    (void)regcomp(regex, "", REG_EXTENDED | REG_NOSUB); /* there is always one to free */
    snprintf(why, why_size, "\"%s\" is no regular expression: %s", text, error_text);
    return false;
}

bool sw_tune_take_kernels(void *options, const char *text, char *why, size_t why_size)
{
    struct sw_tune_selection *selection = options;
    return take_regex(&selection->kernels, text, why, why_size);
}

bool sw_tune_take_variants(void *options, const char *text, char *why, size_t why_size)
{
    struct sw_tune_selection *selection = options;
    selection->has_variants = true;
    return take_regex(&selection->variants, text, why, why_size);
}

bool sw_tune_take_filter(void *options, const char *text, char *why, size_t why_size)
{
    struct sw_tune_selection *selection = options;
    struct sw_tune_reason reason = {""};
    if (selection->filter_count == SW_TUNE_FILTERS_MAX) {
        (void)sw_tune_refuse(&reason, "there are more than %d filters", SW_TUNE_FILTERS_MAX);
    } else if (sw_tune_filter_parse(text, &selection->filters[selection->filter_count], &reason)) {
        selection->filter_count++;
        return true;
    }
    snprintf(why, why_size, "%s", reason.text);
    return false;
}

bool sw_tune_selects_variant(const struct sw_tune_selection *selection, const char *variant)
{
    return regexec(&selection->variants, variant, 0, NULL, 0) == 0;
}

bool sw_tune_selects_kernel(const struct sw_tune_selection *selection, const char *kernel)
{
    return regexec(&selection->kernels, kernel, 0, NULL, 0) == 0;
}

bool sw_tune_selection_fits(const struct sw_tune_selection *selection,
                            const struct sw_tune_space *space, struct sw_tune_reason *reason)
{
    bool good = true;
    for (uint32_t f = 0; good && f < selection->filter_count; f++) {
        good = sw_tune_filter_fits(&selection->filters[f], space, reason);
    }
    return good;
}
