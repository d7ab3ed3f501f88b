/* SPDX-License-Identifier: MIT
 *
 * data_string.inl - INCR, INCRBYFLOAT, SETRANGE and the like. Part of data.c.
 */

/* Are the digits of the operand of INCRBY valid as in redis: no leading zeros, and no -0? */
static bool is_amount(const struct data *data, const struct sw_resp_argument *digits, bool turned)
{
    const bool wide = data->resp->batches->shape.value_bytes == 8;
    uint64_t amount = 0;
    return sw_decimal_parse(digits->text, digits->size, wide ? UINT64_MAX : UINT32_MAX, &amount) &&
           (digits->text[0] != '0' || (digits->size == 1 && !turned));
}

/* INCRBY and DECRBY of integers: a negative operand turns an INCRBY into a DECRBY, and a DECRBY
 * into an INCRBY. */
FOR_EACH_KIND void run_by_integer(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *argument = &data->arguments->arguments[2];
    bool turned = argument->size > 1 && argument->text[0] == '-';
    struct sw_resp_argument words[3];
    struct sw_resp_command arguments = {.arguments = words, .count = 3};
    struct data positive = *data;
    enum sw_op op = (enum sw_op)data->command->op;
    memcpy(words, data->arguments->arguments, sizeof(words));
    if (turned) {
        words[2] = (struct sw_resp_argument){argument->text + 1, argument->size - 1};
        op = op == SW_INCREMENT ? SW_DECREMENT : SW_INCREMENT;
    }
    if (!is_amount(data, &words[2], turned)) {
        refuse(data, "ERR value is not an integer or out of range");
        return;
    }
    positive.arguments = &arguments;
    run_one(&positive, values, op, 1, 2, SW_REPLY_KIND_AFTER);
}

/* INCR, DECR, INCRBY and DECRBY of strings. The operand is the added number as text. */
FOR_EACH_KIND void run_by_string(const struct data *data, const struct values *values)
{
    uint8_t text[SW_NUMBER_TEXT_BYTES];
    struct sw_resp_argument words[3] = {{0}};
    struct sw_resp_command arguments = {.arguments = words, .count = 3};
    struct data made = *data;
    int64_t amount = 0;
    const char *error = sw_counter_amount(data->command, data->arguments, &amount);
    if (error != NULL) {
        refuse(data, "%s", error);
        return;
    }
    memcpy(words, data->arguments->arguments, data->arguments->count * sizeof(*words));
    words[2].size = sw_string_put_integer(amount, text);
    words[2].text = text;
    made.arguments = &arguments;
    run_one(&made, values, SW_INCRBY, 1, 2, SW_REPLY_KIND_COUNTED);
}

FOR_EACH_KIND void run_by(const struct data *data, const struct values *values)
{
    if (values->are_bytes && !SW_OPS_HAS(data->resp->batches->shape.operations, SW_INCRBY)) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_OK); /* rows of one u64: rmw.c */
    } else if (values->are_bytes) {
        run_by_string(data, values);
    } else if (data->arguments->count == 2) {
        run_one(data, values, (enum sw_op)data->command->op, 1, 0, SW_REPLY_KIND_AFTER);
    } else {
        run_by_integer(data, values);
    }
}

/* INCRBYFLOAT of strings. If the operand is invalid for an absent key, only reads the key: as in
 * redis, the command then inserts no key. INCRBYFLOAT of rows of one number is carried out by
 * rmw.c. */
FOR_EACH_KIND void run_by_float(const struct data *data, const struct values *values)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    const struct sw_resp_argument *argument = &data->arguments->arguments[2];
    const struct sw_string operand = {argument->text, argument->size};
    const struct sw_string absent = {NULL, 0};
    struct sw_string_space space;
    uint32_t size = 0;
    if (!values->are_bytes) {
        refuse(data, "%s", SW_NO_FLOATS_LINE);
        return;
    }
    if (!SW_OPS_HAS(shape->operations, SW_INCRBYFLOAT)) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_OK);
        return;
    }
    const enum sw_string_fault fault = sw_string_after(SW_VERB_INCRBYFLOAT, false, absent, operand,
                                                       shape->blob_bytes_max, &space, &size);
    if (fault == SW_STRING_NO_FLOAT) {
        refuse(data, "ERR value is not a valid float");
    } else {
        run_one(data, values, fault == SW_STRING_DONE ? SW_INCRBYFLOAT : SW_GET, 1, 2,
                SW_REPLY_KIND_FLOAT);
    }
}

/* Adds a SETRANGE of a piece that fits. Zeros follow the piece in the operand, for the log. */
FOR_EACH_KIND void add_set_range(const struct data *data, const struct values *values,
                                 uint32_t offset, const struct sw_resp_argument *piece)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    if (!values->add(data, SW_SETRANGE, 1, 0)) {
        return;
    }
    uint8_t *operand =
        (uint8_t *)data->batch->values + (size_t)(data->batch->operations - 1) * shape->value_bytes;
    memset(operand, 0, shape->value_bytes - shape->key_text_bytes);
    memcpy(operand, piece->text, piece->size);
    sw_resp_batch_set_range(
        data->batch, sw_range_of(offset, piece->size, shape->value_format == SW_VALUE_STRING));
    add_reply(data, SW_REPLY_KIND_APPENDED);
}

/* SETRANGE of rows. An empty piece only reads the length. */
FOR_EACH_KIND void run_set_range(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *words = data->arguments->arguments;
    const uint32_t room = data->resp->batches->shape.blob_bytes_max, size = words[3].size;
    int64_t offset = 0;
    if (!values->are_bytes) {
        refuse(data, "ERR SETRANGE needs rows: start the server with --value-bytes");
    } else if (!sw_argument_integer(&words[2], &offset)) {
        refuse(data, "ERR value is not an integer or out of range");
    } else if (offset < 0 || (size > 0 && (offset > room || size > room - (uint64_t)offset))) {
        refuse(data, "ERR offset is out of range");
    } else if (size == 0) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_DIGITS);
    } else {
        add_set_range(data, values, (uint32_t)offset, &words[3]);
    }
}
