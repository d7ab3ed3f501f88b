/* SPDX-License-Identifier: MIT
 *
 * data_expire.inl - the commands that set when a key expires. Part of data.c.
 */

/* May a command set when a key expires? If not, refuses the command. If so, the table expects keys
 * with expiry times from now on. */
static bool may_expire(const struct data *data, const char *option)
{
    const struct sw_batches *batches = data->resp->batches;
    if (batches->shape.expires) {
        sw_table_will_expire(batches->table);
    } else {
        refuse(data, "ERR the %s engine has no %s%s", batches->shape.engine_name, option,
               sw_table_no_times(&batches->shape));
    }
    return batches->shape.expires;
}

/* Reads the time in argument `i`. */
static bool time_at(const struct data *data, uint32_t i, enum sw_time_form form, bool positive,
                    uint64_t *at)
{
    char line[ERROR_BYTES];
    bool is_time = sw_time_read(data->resp, data->command, form, &data->arguments->arguments[i],
                                positive, at, line, sizeof(line));
    if (!is_time) {
        refuse(data, "%s", line);
    }
    return is_time;
}

/* GETEX key [EX n | PX n | EXAT n | PXAT n | PERSIST] */
FOR_EACH_KIND void run_getex(const struct data *data, const struct values *values)
{
    const uint32_t count = data->arguments->count;
    enum sw_time_form form = SW_TIME_NONE;
    bool persists = false;
    uint32_t time = 0; /* the last argument behind EX */
    uint64_t at = 0;
    for (uint32_t i = 2; i < count; i++) {
        const struct sw_resp_argument *option = &data->arguments->arguments[i];
        const enum sw_time_form given = sw_time_form_of(option);
        if (sw_argument_is(option, "PERSIST") && time == 0) {
            persists = true;
        } else if (given != SW_TIME_NONE && i + 1 < count && !persists &&
                   (time == 0 || form == given)) {
            form = given;
            time = ++i;
        } else {
            refuse(data, "ERR syntax error");
            return;
        }
    }
    if (count == 2 || (persists && !sw_expire_some(data->resp))) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_VALUE);
    } else if ((persists ||
                (time_at(data, time, form, true, &at) && may_expire(data, "GETEX EX"))) &&
               values->add(data, SW_EXPIRE, 1, 0)) {
        sw_resp_batch_set_time(data->batch, at);
        data->batch->shows_times = true; /* WATCH needs the time before */
        add_reply(data, values->are_bytes ? SW_REPLY_KIND_BLOB : SW_REPLY_KIND_VALUE);
    }
}

/* SETEX and PSETEX: key time value */
FOR_EACH_KIND void run_setex(const struct data *data, const struct values *values)
{
    uint64_t at = 0;
    if (time_at(data, 2, sw_time_form_of_command(data->command->id), true, &at) &&
        may_expire(data, "SETEX") && values->add(data, SW_SET, 1, 3)) {
        sw_resp_batch_set_time(data->batch, at);
        add_reply(data, SW_REPLY_KIND_OK);
    }
}

/* EXPIRE and the like: key time [NX | XX | GT | LT] */
FOR_EACH_KIND void run_expire(const struct data *data, const struct values *values)
{
    char line[ERROR_BYTES];
    enum sw_op op = SW_EXPIRE;
    uint64_t at = 0;
    if (!sw_expire_options(data->arguments, &op, line, sizeof(line))) {
        refuse(data, "%s", line);
    } else if (time_at(data, 2, sw_time_form_of_command(data->command->id), false, &at) &&
               may_expire(data, "EXPIRE") && values->add(data, op, 1, 0)) {
        sw_resp_batch_set_time(data->batch, at);
        add_reply(data, SW_REPLY_KIND_EXPIRED);
    }
}

FOR_EACH_KIND void run_persist(const struct data *data, const struct values *values)
{
    const bool some = sw_expire_some(data->resp);
    if (values->add(data, some ? SW_EXPIRE : SW_GET, 1, 0)) {
        if (some) {
            sw_resp_batch_set_time(data->batch, 0); /* never */
        }
        add_reply(data, SW_REPLY_KIND_PERSISTED);
    }
}
