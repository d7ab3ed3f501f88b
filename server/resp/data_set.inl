/* SPDX-License-Identifier: MIT
 *
 * data_set.inl - SET and its options. Part of data.c.
 */

/* SET key value [NX | XX | IFEQ old] [GET] [EX n | PX n | EXAT n | PXAT n | KEEPTTL] */
FOR_EACH_KIND void run_set(const struct data *data, const struct values *values)
{
    bool absent = false;
    bool present = false;
    bool get = false;
    bool keeps = false;
    uint32_t old = 0; /* the argument behind IFEQ */
    enum sw_time_form form = SW_TIME_NONE;
    uint32_t time = 0; /* the argument behind EX */
    for (uint32_t i = 3; i < data->arguments->count; i++) {
        const struct sw_resp_argument *option = &data->arguments->arguments[i];
        if (sw_argument_is(option, "NX")) {
            absent = true;
        } else if (sw_argument_is(option, "XX")) {
            present = true;
        } else if (sw_argument_is(option, "GET")) {
            get = true;
        } else if (sw_argument_is(option, "IFEQ") && i + 1 < data->arguments->count && old == 0) {
            old = ++i;
        } else if (sw_argument_is(option, "KEEPTTL")) {
            keeps = true;
        } else if (sw_time_form_of(option) != SW_TIME_NONE && i + 1 < data->arguments->count &&
                   (time == 0 || form == sw_time_form_of(option))) {
            /* the last of several times of one form counts, as in redis */
            form = sw_time_form_of(option);
            time = ++i;
        } else {
            refuse(data, "ERR syntax error");
            return;
        }
    }
    if (absent + present + (old != 0) > 1 || (keeps && time != 0)) {
        refuse(data, "ERR syntax error");
        return;
    }
    /* With NX there is nothing to keep: NX leaves a present key unchanged, and a new key has no
     * time. */
    uint64_t at = keeps && !absent && sw_expire_some(data->resp) ? SW_EXPIRE_KEEP : 0;
    if (time != 0 && (!time_at(data, time, form, true, &at) || !may_expire(data, "SET EX"))) {
        return;
    }
    if (old != 0) {
        run_compare(data, values, 2, old, at, get ? SW_REPLY_KIND_VALUE : SW_REPLY_KIND_OK);
        return;
    }
    enum sw_op op = absent ? SW_SET_ABSENT : present ? SW_SET_PRESENT : SW_SET;
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    if (!(shape->operations >> op & 1)) {
        refuse(data, "ERR the %s engine has no SET %s", shape->engine_name, absent ? "NX" : "XX");
        return;
    }
    if (absent && get && (shape->operations >> SW_FIND_OR_INSERT & 1)) {
        op = SW_FIND_OR_INSERT; /* reading the value is a use, as in redis */
    }
    const enum sw_reply_kind how = get       ? SW_REPLY_KIND_VALUE
                                   : absent  ? SW_REPLY_KIND_OK_IF_ABSENT
                                   : present ? SW_REPLY_KIND_OK_IF_PRESENT
                                             : SW_REPLY_KIND_OK;
    const bool may_insert = at == SW_EXPIRE_KEEP && op == SW_SET && shape->default_ttl_ms > 0;
    if (may_insert && !values->add(data, SW_SET_ABSENT, 1, 2)) { /* a new key expires */
        return;
    }
    if (values->add(data, op, 1, 2)) {
        if (at != 0) {
            sw_resp_batch_set_time(data->batch, at);
        }
        add_reply(data, values->are_bytes ? of_bytes(how) : how);
    }
}
