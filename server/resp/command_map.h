/* SPDX-License-Identifier: MIT
 *
 * command_map.h - the RESP commands, one row each. To add a command, add a row. Every property of a
 * command is a column of its row, and a row that lacks one does not compile. proto/ops/write
 * generates the rows of commands that have an operation's name.
 *
 *     X(id, name, arity, keys, group, effect, speed, in_multi, how, summary)
 *
 * name      lower case, 2 to 16 bytes.
 * arity     as in redis: the number of arguments, with the name; negative: at least that many.
 * keys      what the rules of a user about keys and tables mean for the command:
 *     KEYS(first, last, step)  the server checks these arguments; the numbers are those of redis'
 *                              COMMAND INFO
 *     TABLE_KEYS               the command can show or change any key of the selected table; it
 *                              cannot be limited to keys: its user needs all keys
 *     NAMED_KEYS               the same, of the tables that its arguments name
 *     ALL_KEYS                 the same, of all tables; or it gives users more keys or tables
 *     TABLE_FACTS              the command shows no key and no value, and changes none; it shows a
 *                              number of the selected table
 *     NAMED_FACTS              the same, of the table that its argument names
 *     NO_KEYS                  the same, of no table; or of all tables together
 *           The user also needs the right to the selected table, to the named ones, or to all. For
 *           named ones, permit_tables.c finds the arguments.
 *           A command with subcommands has what an unlisted subcommand needs; each listed one has
 *           a column of its own (acl_catalog.c). Bulk operations have that of their command.
 * group     STRING, GENERIC, SERVER, CONNECTION, TRANSACTIONS, CLUSTER.
 * effect    on keys and server, for the flags of COMMAND INFO: READ, INSERT (may add a key), WRITE
 *           (any other change of keys), DELETE (of the keys it names), ADMIN, NONE.
 * speed     FAST (a constant time a key) or SLOW.
 * in_multi  between MULTI and EXEC: QUEUED until EXEC, carried out AT_ONCE, or REFUSED. REFUSED are
 *           commands with a batch or a report of their own, or a long reply.
 * how       what carries the command out, and what the engine must support for it:
 *     ONE_KEY(operation, operand, reply)   one table operation on the key in argument 1; `operand`
 *                                          is the argument that holds its operand, or 0
 *     EACH_KEY(operation, reply)           the same on every argument
 *                                          (PEEK is GET where the engine has no uses to count)
 *     KEY_FUNCTION(name, operation, reply) a function of data.c that makes the operations
 *     RMW(maker, operand, reply)           a function of data.c that reads keys; rmw.c then writes,
 *                                          while no other client writes, and makes the reply
 *     TABLE(batch kind, function)          a batch of its own: run_<function> of control.c
 *     SAVER(function)                      sw_control_run_<function> of control_*.c, which
 *                                          waits for the data directory, or for other loops
 *     REPORT(function)                     sw_call_<function> (admin*.c) makes the reply, after all
 *                                          earlier commands of the connection have taken effect
 *     SESSION(function)                    sw_call_<function> makes the reply, at once
 *     TRANSACTION(function)                run_<function> of transaction.c
 */
#ifndef SHERWOOD_SERVER_RESP_COMMAND_MAP_H
#define SHERWOOD_SERVER_RESP_COMMAND_MAP_H

/* clang-format off */
#define SW_COMMAND_MAP(X) \
    X(GET, "get", 2, KEYS(1, 1, 1), STRING, READ, FAST, QUEUED, \
      ONE_KEY(GET, 0, VALUE), "Get the value of a key") \
    X(GETEX, "getex", -2, KEYS(1, 1, 1), STRING, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(GETEX, GET, VALUE), "Get the value of a key: key [EX n | PX n | EXAT n | PXAT n | PERSIST]") \
    X(SET, "set", -3, KEYS(1, 1, 1), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(SET, SET, OK), "Set a key: key value [NX | XX | IFEQ old] [GET] " \
      "[EX n | PX n | EXAT n | PXAT n | KEEPTTL]") \
    X(SETEX, "setex", 4, KEYS(1, 1, 1), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(SETEX, EXPIRE, OK), "Set a key that expires: key seconds value") \
    X(PSETEX, "psetex", 4, KEYS(1, 1, 1), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(SETEX, EXPIRE, OK), "The same in milliseconds") \
    X(MGET, "mget", -2, KEYS(1, -1, 1), STRING, READ, FAST, QUEUED, \
      EACH_KEY(GET, VALUES), "Get the values of keys") \
    X(MSET, "mset", -3, KEYS(1, -1, 2), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(MSET, SET, OK), "Set keys to values") \
    X(MSETNX, "msetnx", -3, KEYS(1, -1, 2), STRING, INSERT, SLOW, REFUSED, \
      RMW(PAIRS, 0, ONE), "Set keys to values if all of them are absent") \
    X(SETNX, "setnx", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(SET_ABSENT, 2, ONE_IF_ABSENT), "Set a key if it is absent") \
    X(GETSET, "getset", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(SET, 2, VALUE), "Set a key, return its old value") \
    X(GETDEL, "getdel", 2, KEYS(1, 1, 1), STRING, DELETE, FAST, QUEUED, \
      ONE_KEY(DELETE, 0, VALUE), "Delete a key, return its value") \
    X(DEL, "del", -2, KEYS(1, -1, 1), GENERIC, DELETE, SLOW, QUEUED, \
      EACH_KEY(DELETE, COUNT_PRESENT), "Delete keys") \
    X(DELEX, "delex", -2, KEYS(1, 1, 1), STRING, DELETE, FAST, REFUSED, \
      RMW(DELEX, 0, ONE), "Delete a key: key [IFEQ value | IFNE value]") \
    X(DELIFEQ, "delifeq", 3, KEYS(1, 1, 1), STRING, DELETE, FAST, REFUSED, \
      RMW(DELEX, 0, ONE), "Delete a key if it has this value") \
    X(UNLINK, "unlink", -2, KEYS(1, -1, 1), GENERIC, DELETE, FAST, QUEUED, \
      EACH_KEY(DELETE, COUNT_PRESENT), "Delete keys") \
    X(EXISTS, "exists", -2, KEYS(1, -1, 1), GENERIC, READ, FAST, QUEUED, \
      EACH_KEY(PEEK, COUNT_PRESENT), "Count the keys that exist") \
    X(PREFIXLEN, "prefixlen", -2, KEYS(1, -1, 1), GENERIC, READ, FAST, QUEUED, \
      EACH_KEY(PEEK, PREFIX), "Count the keys that exist before the first that does not") \
    X(TOUCH, "touch", -2, KEYS(1, -1, 1), GENERIC, READ, FAST, QUEUED, \
      EACH_KEY(GET, COUNT_PRESENT), "Count the keys that exist; with the cache engine each counts as used") \
    X(INCR, "incr", 2, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(BY, INCREMENT, AFTER), "Add 1 to a key") \
    X(DECR, "decr", 2, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(BY, DECREMENT, AFTER), "Subtract 1 from a key") \
    X(INCRBY, "incrby", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(BY, INCREMENT, AFTER), "Add n to a key; n may be negative") \
    X(DECRBY, "decrby", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(BY, DECREMENT, AFTER), "Subtract n from a key; n may be negative") \
    X(INCREX, "increx", -2, KEYS(1, 1, 1), STRING, INSERT, FAST, REFUSED, \
      RMW(ONE_KEY, 0, OK), "Add within bounds: key [BYINT n] [LBOUND n] [UBOUND n] [SATURATE] " \
      "[EX n | PX n | EXAT n | PXAT n | PERSIST] [ENX]") \
    /* make docs writes these rows from proto/ops/operations.h. */ \
    X(SUM, "sum", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(SUM, 2, AFTER), "Insert, or add modulo 2^width") \
    X(MIN, "min", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(MIN, 2, AFTER), "Insert, or keep the smaller value") \
    X(MAX, "max", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(MAX, 2, AFTER), "Insert, or keep the larger value") \
    X(OR, "or", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(OR, 2, AFTER), "Set the operand's bits; an absent key counts as 0, and is inserted") \
    X(XOR, "xor", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(XOR, 2, AFTER), "Toggle the operand's bits; an absent key counts as 0, and is inserted") \
    X(AND, "and", 3, KEYS(1, 1, 1), STRING, WRITE, FAST, QUEUED, \
      ONE_KEY(AND, 2, AFTER), "Keep only the operand's bits; an absent key stays absent") \
    X(ANDNOT, "andnot", 3, KEYS(1, 1, 1), STRING, WRITE, FAST, QUEUED, \
      ONE_KEY(ANDNOT, 2, AFTER), "Clear the operand's bits; an absent key stays absent") \
    X(MUL, "mul", 3, KEYS(1, 1, 1), STRING, WRITE, FAST, QUEUED, \
      ONE_KEY(MUL, 2, AFTER), "Multiply a present key; one whose value would overflow keeps its value") \
    /* End of those rows. */ \
    X(ASSIGN, "assign", -2, KEYS(1, -1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(EACH_ID, FIND_OR_INSERT, IDS), "Get the ids of keys (--ids): an array of id and 1 if it is new, else 0, for each key") \
    X(INSERT, "insert", -2, KEYS(1, -1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(EACH_ID, SET_ABSENT, IDS), "Add keys to a table without values (--value-type none): an array of 1 if the key is new, else 0, for each key") \
    X(CAS, "cas", 4, KEYS(1, 1, 1), STRING, WRITE, SLOW, QUEUED, \
      KEY_FUNCTION(CAS, CAS, SWAPPED), "Set a key if it has the old value: key old new") \
    X(INCRBYFLOAT, "incrbyfloat", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      KEY_FUNCTION(BY_FLOAT, GET, FLOAT), "Add a decimal number to a key: strings, and rows of one f32 or f64") \
    X(APPEND, "append", 3, KEYS(1, 1, 1), STRING, INSERT, FAST, QUEUED, \
      ONE_KEY(APPEND, 2, APPENDED), "Append to a key's string; an absent key is set") \
    X(ADD, "add", -3, KEYS(1, 1, 1), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(ADD, SET, COUNT_PRESENT), "Add to a row, number by number: key row [SCALE s] [XX]") \
    X(GETRANGE, "getrange", 4, KEYS(1, 1, 1), STRING, READ, SLOW, QUEUED, \
      KEY_FUNCTION(RANGE, GET, RANGE), "Get a part of a key's value: key first last") \
    X(SETRANGE, "setrange", 4, KEYS(1, 1, 1), STRING, INSERT, SLOW, QUEUED, \
      KEY_FUNCTION(SET_RANGE, GET, APPENDED), "Write a part of a row: key offset value") \
    X(STRLEN, "strlen", 2, KEYS(1, 1, 1), STRING, READ, FAST, QUEUED, \
      ONE_KEY(GET, 0, DIGITS), "Get the length of a key's value") \
    X(RENAME, "rename", 3, KEYS(1, 2, 1), GENERIC, WRITE, SLOW, REFUSED, \
      RMW(RENAME, 0, OK), "Rename a key, and replace a key of the new name: key newkey") \
    X(RENAMENX, "renamenx", 3, KEYS(1, 2, 1), GENERIC, WRITE, FAST, REFUSED, \
      RMW(RENAME, 0, ONE), "Rename a key if no key has the new name: key newkey") \
    X(COPY, "copy", -3, KEYS(1, 2, 1), GENERIC, INSERT, SLOW, REFUSED, \
      RMW(COPY, 0, ONE), "Copy a key to another: source destination [DB table] [REPLACE]") \
    X(TYPE, "type", 2, KEYS(1, 1, 1), GENERIC, READ, FAST, QUEUED, \
      ONE_KEY(PEEK, 0, TYPE), "Get the type of a key's value: \"string\", or \"none\" if the key is absent") \
    X(TTL, "ttl", 2, KEYS(1, 1, 1), GENERIC, READ, FAST, QUEUED, \
      ONE_KEY(PEEK, 0, TTL), "Get the seconds until a key expires; -1: never, -2: it is absent") \
    X(PTTL, "pttl", 2, KEYS(1, 1, 1), GENERIC, READ, FAST, QUEUED, \
      ONE_KEY(PEEK, 0, PTTL), "Get the milliseconds until a key expires; -1: never, -2: it is absent") \
    X(EXPIRETIME, "expiretime", 2, KEYS(1, 1, 1), GENERIC, READ, FAST, QUEUED, \
      ONE_KEY(PEEK, 0, EXPIRETIME), "Get when a key expires, in seconds since 1970; -1: never, -2: it is absent") \
    X(PEXPIRETIME, "pexpiretime", 2, KEYS(1, 1, 1), GENERIC, READ, FAST, QUEUED, \
      ONE_KEY(PEEK, 0, PEXPIRETIME), "The same in milliseconds") \
    X(EXPIRE, "expire", -3, KEYS(1, 1, 1), GENERIC, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(EXPIRE, EXPIRE, EXPIRED), "Let a key expire in n seconds: key n [NX | XX | GT | LT]") \
    X(PEXPIRE, "pexpire", -3, KEYS(1, 1, 1), GENERIC, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(EXPIRE, EXPIRE, EXPIRED), "The same in milliseconds") \
    X(EXPIREAT, "expireat", -3, KEYS(1, 1, 1), GENERIC, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(EXPIRE, EXPIRE, EXPIRED), "Let a key expire n seconds after 1970: key n [NX | XX | GT | LT]") \
    X(PEXPIREAT, "pexpireat", -3, KEYS(1, 1, 1), GENERIC, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(EXPIRE, EXPIRE, EXPIRED), "The same in milliseconds") \
    X(PERSIST, "persist", 2, KEYS(1, 1, 1), GENERIC, WRITE, FAST, QUEUED, \
      KEY_FUNCTION(PERSIST, GET, PERSISTED), "Remove the expiry time of a key") \
    X(MEMORY, "memory", -2, KEYS(2, 2, 1), SERVER, READ, SLOW, QUEUED, \
      KEY_FUNCTION(MEMORY, PEEK, BYTES), "Get the bytes of a key's slot: USAGE key") \
    X(OBJECT, "object", -2, KEYS(2, 2, 1), GENERIC, READ, SLOW, QUEUED, \
      KEY_FUNCTION(OBJECT, PEEK, ENCODING), "Get the encoding of a key's value, int or raw: ENCODING key") \
    X(FLUSHALL, "flushall", -1, ALL_KEYS, SERVER, WRITE, SLOW, REFUSED, \
      TABLE(CLEAR, clear), "Remove every key of every table") \
    X(FLUSHDB, "flushdb", -1, TABLE_KEYS, SERVER, WRITE, SLOW, REFUSED, \
      TABLE(CLEAR, clear), "Remove every key") \
    X(SWAPDB, "swapdb", 3, NAMED_KEYS, SERVER, WRITE, FAST, REFUSED, \
      SAVER(swapdb), "Exchange the contents of two tables: number number") \
    X(TABLE, "table", -2, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SAVER(table), "Manage tables: ALTER, CREATE, DROP, INFO, LIST, RENAME, SAVE, SWAP, TRUNCATE") \
    X(RESIZE, "resize", 2, TABLE_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      TABLE(RESIZE, resize), "Change the capacity of the table: slots") \
    X(SCAN, "scan", -2, TABLE_KEYS, GENERIC, READ, SLOW, REFUSED, \
      TABLE(SCAN, scan), "Iterate keys: cursor [MATCH pattern] [COUNT n]") \
    X(KEYS, "keys", 2, TABLE_KEYS, GENERIC, READ, SLOW, REFUSED, \
      TABLE(SCAN, keys), "List the keys that match a pattern") \
    X(RANDOMKEY, "randomkey", 1, TABLE_KEYS, GENERIC, READ, SLOW, REFUSED, \
      TABLE(SCAN, random), "Get a random key; all keys have about the same probability") \
    X(DBSIZE, "dbsize", 1, TABLE_FACTS, SERVER, READ, FAST, REFUSED, \
      REPORT(dbsize), "Get the number of keys") \
    X(INFO, "info", -1, NO_KEYS, SERVER, NONE, SLOW, REFUSED, \
      REPORT(info), "Get properties and counters of the server") \
    X(SHUTDOWN, "shutdown", -1, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      REPORT(shutdown), "Stop the server cleanly") \
    X(PING, "ping", -1, NO_KEYS, CONNECTION, NONE, FAST, QUEUED, \
      SESSION(ping), "Reply with PONG, or with the message") \
    X(ECHO, "echo", 2, NO_KEYS, CONNECTION, NONE, FAST, QUEUED, \
      SESSION(echo), "The message") \
    X(QUIT, "quit", -1, NO_KEYS, CONNECTION, NONE, FAST, AT_ONCE, \
      SESSION(quit), "Close the connection") \
    X(AUTH, "auth", -2, NO_KEYS, CONNECTION, NONE, FAST, REFUSED, \
      SESSION(auth), "Log in: [user] password") \
    X(ACL, "acl", -2, ALL_KEYS, SERVER, NONE, SLOW, REFUSED, \
      SESSION(acl), "Manage users and their rules: LIST, SETUSER, WHOAMI and more") \
    X(HELLO, "hello", -1, NO_KEYS, CONNECTION, NONE, FAST, REFUSED, \
      SESSION(hello), "Choose RESP2 or RESP3, and log in: [version [AUTH user password] [SETNAME name]]") \
    X(SELECT, "select", 2, NAMED_FACTS, CONNECTION, NONE, FAST, QUEUED, \
      SESSION(select), "Select a table by its number or its name") \
    X(RESET, "reset", 1, NO_KEYS, CONNECTION, NONE, FAST, AT_ONCE, \
      SESSION(reset), "Reset the connection's state") \
    X(MULTI, "multi", 1, NO_KEYS, TRANSACTIONS, NONE, FAST, AT_ONCE, \
      TRANSACTION(multi), "Begin a transaction: queue the commands that follow") \
    X(EXEC, "exec", 1, NO_KEYS, TRANSACTIONS, NONE, SLOW, AT_ONCE, \
      TRANSACTION(exec), "Run the queued commands, all or none") \
    X(DISCARD, "discard", 1, NO_KEYS, TRANSACTIONS, NONE, FAST, AT_ONCE, \
      TRANSACTION(discard), "Discard the queued commands") \
    X(WATCH, "watch", -2, KEYS(1, -1, 1), TRANSACTIONS, NONE, FAST, AT_ONCE, \
      RMW(EACH_KEY, 0, OK), "Watch keys: EXEC runs nothing if one of them changes before") \
    X(UNWATCH, "unwatch", 1, NO_KEYS, TRANSACTIONS, NONE, FAST, QUEUED, \
      SESSION(unwatch), "Stop watching keys") \
    X(CLIENT, "client", -2, ALL_KEYS, CONNECTION, NONE, SLOW, REFUSED, \
      SESSION(client), "Manage connections: ID, INFO, KILL, LIST, SETNAME and more") \
    X(COMMAND, "command", -1, NO_KEYS, SERVER, NONE, SLOW, REFUSED, \
      SESSION(command), "Describe the commands: COUNT, DOCS, GETKEYS, INFO, LIST") \
    X(CONFIG, "config", -2, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SESSION(config), "Read or change the configuration: GET pattern ..., SET parameter value ..., REWRITE") \
    X(LATENCY, "latency", -2, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SESSION(latency), "Show slow events: DOCTOR, HISTOGRAM, HISTORY, LATEST, RESET") \
    X(SLOWLOG, "slowlog", -2, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SESSION(slowlog), "Show slow commands: GET, LEN, RESET") \
    X(MONITOR, "monitor", 1, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SESSION(monitor), "Stream the commands of all connections until RESET or QUIT") \
    X(LASTSAVE, "lastsave", 1, NO_KEYS, SERVER, NONE, FAST, QUEUED, \
      SESSION(lastsave), "Get when the last snapshot was written, in seconds since 1970") \
    X(SAVE, "save", 1, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SAVER(save), "Write a snapshot, and reply when it is on storage") \
    X(BGSAVE, "bgsave", -1, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      REPORT(bgsave), "Start to write a snapshot: [SCHEDULE]") \
    X(BGREWRITEAOF, "bgrewriteaof", 1, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      REPORT(bgrewriteaof), "Start to write a snapshot that replaces the log before it") \
    X(DIGEST, "digest", 1, TABLE_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SAVER(digest), "Compute a checksum of all entries: the sequence, the number of entries, 32 hex digits") \
    X(WAITAOF, "waitaof", 4, NO_KEYS, GENERIC, NONE, SLOW, REFUSED, \
      SAVER(waitaof), "Wait until the writes of this connection are on storage: numlocal (0 or 1) numreplicas (ignored) milliseconds") \
    X(WAIT, "wait", 3, NO_KEYS, GENERIC, NONE, SLOW, REFUSED, \
      SAVER(wait), "Wait until replicas have the writes of this connection, and count them: replicas milliseconds") \
    X(ROLE, "role", 1, NO_KEYS, SERVER, NONE, FAST, QUEUED, \
      SESSION(role), "Get the role, master or slave, with its sequence and its peers") \
    X(REPLICAOF, "replicaof", 3, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SAVER(replicaof), "Become a replica: host port; or a primary: NO ONE") \
    X(SLAVEOF, "slaveof", 3, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SAVER(replicaof), "The same as REPLICAOF") \
    X(REPLICATE, "replicate", -9, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      REPORT(replicate), "Start replication: sent by a replica, which keeps the connection") \
    X(EXPORTSLOTS, "exportslots", 12, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      REPORT(exportslots), "Start a slot migration: sent by the target node, which keeps the connection") \
    X(HA, "ha", -2, ALL_KEYS, SERVER, ADMIN, SLOW, REFUSED, \
      SESSION(ha), "Show or change this server's shard: STATUS, SWITCH, FORGET and more") \
    X(TIME, "time", 1, NO_KEYS, SERVER, NONE, FAST, QUEUED, \
      SESSION(time), "Get the clock: seconds and microseconds") \
    X(READONLY, "readonly", 1, NO_KEYS, CLUSTER, NONE, FAST, QUEUED, \
      SESSION(readonly), "In cluster mode: let replicas serve the reads of this connection") \
    X(READWRITE, "readwrite", 1, NO_KEYS, CLUSTER, NONE, FAST, QUEUED, \
      SESSION(readwrite), "In cluster mode: end READONLY") \
    X(ASKING, "asking", 1, NO_KEYS, CLUSTER, NONE, FAST, QUEUED, \
      SESSION(cluster_mode), "Accepted without effect in cluster mode: a node serves a slot only after its migration") \
    X(CLUSTER, "cluster", -2, ALL_KEYS, CLUSTER, NONE, SLOW, REFUSED, \
      SAVER(cluster), "Show or change the cluster: INFO, NODES, SHARDS, SLOTS, SETTOPOLOGY, MOVE and more")
/* clang-format on */

#endif
