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

/* Adds an operation on the key in argument 1, with an operand of `size` bytes. */
FOR_EACH_KIND bool add_operand(const struct data *data, const struct values *values, enum sw_op op,
                               const void *operand, uint32_t size)
{
    const uint32_t at = data->batch->operations;
    if (!values->add(data, op, 1, 0)) {
        return false;
    }
    memcpy((uint8_t *)data->batch->values + (size_t)at * data->resp->batches->shape.value_bytes,
           operand, size);
    return true;
}

/* Is a value one number, on which the operation works? */
static bool is_one_number(const struct data *data, enum sw_op op, uint32_t size)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    return SW_OPS_HAS(shape->operations, op) && shape->blob_bytes_max == size;
}

/* INCR, DECR, INCRBY and DECRBY of rows of one u64 or i64. */
FOR_EACH_KIND void run_by_number(const struct data *data, const struct values *values)
{
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    char name[SW_COMMAND_NAME_BYTES];
    int64_t amount = 0;
    const char *error = sw_counter_amount(data->command, data->arguments, &amount);
    const bool is_signed = is_one_number(data, SW_INCREMENT_I64, sizeof(amount));
    const uint64_t size = amount < 0 && !is_signed ? 0 - (uint64_t)amount : (uint64_t)amount;
    const enum sw_op op = is_signed    ? SW_INCREMENT_I64
                          : amount < 0 ? SW_DECREMENT_U64
                                       : SW_INCREMENT_U64;
    if (!is_signed && !is_one_number(data, SW_INCREMENT_U64, sizeof(size))) {
        sw_command_upper(data->command, name);
        refuse(data, "ERR the %s engine has no %s%s" SW_WHY_NO_COUNTERS, shape->engine_name, name,
               shape->of_rows);
    } else if (error != NULL) {
        refuse(data, "%s", error);
    } else if (add_operand(data, values, op, &size, sizeof(size))) {
        add_reply(data, SW_REPLY_KIND_COUNTED);
    }
}

FOR_EACH_KIND void run_by(const struct data *data, const struct values *values)
{
    if (values->are_bytes && !SW_OPS_HAS(data->resp->batches->shape.operations, SW_INCRBY)) {
        run_by_number(data, values);
    } else if (values->are_bytes) {
        run_by_string(data, values);
    } else if (data->arguments->count == 2) {
        run_one(data, values, (enum sw_op)data->command->op, 1, 0, SW_REPLY_KIND_AFTER);
    } else {
        run_by_integer(data, values);
    }
}

/* INCRBYFLOAT of rows of one f32 or f64. An operand that is not finite fits no number, so the
 * command only reads the key. */
FOR_EACH_KIND void run_by_fraction(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *argument = &data->arguments->arguments[2];
    double number = 0;
    float narrow = 0;
    const bool is_f64 = is_one_number(data, SW_INCREMENT_F64, sizeof(number));
    if (!is_f64 && !is_one_number(data, SW_INCREMENT_F32, sizeof(narrow))) {
        refuse(data, "%s", SW_NO_FLOATS_LINE);
        return;
    }
    if (is_f64 ? !sw_argument_double(argument, &number) : !sw_argument_float(argument, &narrow)) {
        refuse(data, "ERR value is not a valid float");
        return;
    }
    const bool fits = is_f64 ? isfinite(number) : isfinite(narrow);
    const enum sw_op op = !fits ? SW_GET : is_f64 ? SW_INCREMENT_F64 : SW_INCREMENT_F32;
    if (is_f64 ? add_operand(data, values, op, &number, sizeof(number))
               : add_operand(data, values, op, &narrow, sizeof(narrow))) {
        add_reply(data, SW_REPLY_KIND_FLOAT);
    }
}

/* INCRBYFLOAT of strings. If the operand is invalid for an absent key, only reads the key: as in
 * redis, the command then inserts no key. */
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
        run_by_fraction(data, values);
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

/* SETRANGE of rows. An empty piece only reads the length. */
FOR_EACH_KIND void run_set_range(const struct data *data, const struct values *values)
{
    const struct sw_resp_argument *words = data->arguments->arguments;
    const struct sw_table_shape *shape = &data->resp->batches->shape;
    const uint32_t room = shape->blob_bytes_max, size = words[3].size;
    const bool is_string = shape->value_format == SW_VALUE_STRING;
    int64_t offset = 0;
    if (!values->are_bytes) {
        refuse(data, "ERR SETRANGE needs rows: start the server with --value-bytes");
    } else if (!sw_argument_integer(&words[2], &offset)) {
        refuse(data, "ERR value is not an integer or out of range");
    } else if (offset < 0) {
        refuse(data, "ERR offset is out of range");
    } else if (size > 0 && (offset > room || size > room - (uint64_t)offset)) {
        refuse(data, SW_LONG_VALUE_LINE);
    } else if (size == 0) {
        run_one(data, values, SW_GET, 1, 0, SW_REPLY_KIND_DIGITS);
    } else if (add_operand(data, values, SW_SETRANGE, words[3].text, size)) {
        sw_resp_batch_set_range(data->batch, sw_range_of((uint32_t)offset, size, is_string));
        add_reply(data, SW_REPLY_KIND_APPENDED);
    }
}
