/* SPDX-License-Identifier: MIT
 *
 * table_option_rows.inl - the options of the section [table], as option_rows.inl has those of the
 * other sections.
 */
SW_OPTION(backend, "backend", "table", SW_ANY, SW_CHOICE(backends), "auto", "KIND",
          "Choose where the table lives: cuda (GPU memory), cpu (host memory), or auto: cuda if "
          "this build has it and a device answers, otherwise cpu. cuda without a device is an "
          "error.")
SW_OPTION(device, "device", "table", SW_ANY, SW_NUMBER(0, 255), "0", "N", "CUDA device ordinal.")
SW_OPTION(engine, "engine", "table", SW_ANY, SW_CHOICE(engines), "robin_hood", "NAME",
          "Choose the engine that stores the entries. robin_hood: every command. cuckoo: "
          "look-ups of at most three places; no SCAN, KEYS, RANDOMKEY or RESIZE, and no growth. "
          "cache: values are byte strings; if there is no room, the entry with the lowest score "
          "is evicted; no INCR, APPEND, expiry or log.")
SW_OPTION(key_bits, "key-bits", "table", SW_ANY, SW_CHOICE(widths), "64", "BITS",
          "Width of keys in bits, 32 or 64. Values have the same width, unless value-bytes says "
          "otherwise. A slot takes twice that; as much as a key with value-type none.")
SW_OPTION(
    capacity, "capacity", "table", SW_ANY, SW_OR_AUTO(1, SW_T), "auto", "SLOTS",
    "Slots of the table at start: 8 bytes each with 32-bit keys, 16 with 64-bit keys; half of that "
    "with value-type none; twice that in the cuckoo engine, 18 bytes and a value in the cache "
    "engine. Rows need their bytes in addition. auto: 16M, or the next lower power of two, down to "
    "64K, whose slots and values "
    "take at most 640 MiB and a quarter of the memory; at most max-capacity.")
SW_OPTION(max_capacity, "max-capacity", "table", SW_ANY, SW_OR_AUTO(0, SW_T), "auto", "SLOTS",
          "Let the table grow up to this many slots. A write that would exceed max-load (cache "
          "engine: half of the slots) first moves the table to a larger array of slots, twice "
          "the size if allowed and sufficient. The move needs memory for the old and the new "
          "slots at once. If growth fails or max-capacity is reached, the write is refused (a "
          "cache evicts); growth is tried again at most once a second, and at once when a limit "
          "of memory permits it. 0: do not grow beyond capacity. auto: capacity, doubled while old "
          "and new slots and all rows take at most "
          "half of the memory: the RAM, or a lower limit of a control group; with CUDA, the "
          "memory of the smallest GPU. A limit of the address space (ulimit -v) counts less "
          "512 MiB, and less arena-bytes and 128 MiB for each loop. With the engines cuckoo and "
          "cache, or max-probe, auto is 0.")
SW_OPTION(max_load, "max-load", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_RATIO(0.01, 1.0), "0.85",
          "RATIO",
          "The part of the slots that may be filled. A write that would exceed it makes the table "
          "grow. If the table may not or cannot grow, the write is refused as out of memory. A "
          "refused write changes no key, but the table may have grown.")
SW_OPTION(max_probe, "max-probe", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_NUMBER(0, 65535), "0",
          "BUCKETS",
          "The farthest that an entry may be from its home bucket, in buckets. 0: derived from "
          "max-load and capacity.")
SW_OPTION(seed, "seed", "table", SW_ANY, SW_NUMBER(0, UINT64_MAX), "0", "N",
          "Seed of the mixing function. 0: random at every start, so that clients cannot choose "
          "keys that collide. Equal seeds give equal layouts.")
SW_OPTION(threads, "threads", "table", SW_ANY, SW_NUMBER(0, 1024), "0", "N",
          "Set the threads for large batches of all tables in host memory. 0: one a core.")
SW_OPTION(stash, "stash", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_SIZE(64, SW_G), "64K", "SLOTS",
          "Slots for entries that would be farther from their home bucket than max-probe. These "
          "entries are looked up and counted like all others.")
SW_OPTION(hash_functions, "hash-functions", "table", SW_CUCKOO, SW_CHOICE(functions), "3", "N",
          "Cuckoo engine: places where a key may lie, 2 or 3. With 2 a look-up is faster, and "
          "max-load is at most 0.45; with 3 at most 0.88.")
SW_OPTION(value_bytes, "value-bytes", "table", SW_ROBIN_HOOD | SW_CACHE, SW_NUMBER(0, 4096), "0",
          "BYTES",
          "Set the size of a value, a multiple of 4. Strings hold 4 bytes less at most, because "
          "their length is stored with them. robin_hood: 4 to 4096 stores rows, which are never "
          "evicted; 0 stores integers, or nothing with value-type none. cache: 4 to 1024; 0: 60, "
          "or 64 if value-format is fixed.")
SW_OPTION(
    value_type, "value-type", "table", SW_ROBIN_HOOD, SW_CHOICE(types), "bytes", "TYPE",
    "Choose what a row holds. bytes: exactly value-bytes bytes. string: up to value-bytes "
    "bytes; a bulk frame sends the length first (4 bytes, little-endian). u32, u64, i64, "
    "f32, f64, f16, bf16: an array of such numbers that fills the row. none, without "
    "value-bytes: keys have no values; the table is a set of keys, in half of the memory: "
    "INSERT returns which keys are new. These keys do not expire. The server reports the type "
    "to clients.")
SW_OPTION(rows_max, "rows-max", "table", SW_ROBIN_HOOD, SW_SIZE(0, SW_T), "0", "ROWS",
          "Limit the rows of the table, whatever its capacity. A write that needs one more is "
          "refused as out of memory. 0: max-load times max-capacity.")
SW_OPTION(
    ids, "ids", "table", SW_ROBIN_HOOD | SW_CACHE, SW_SIZE(0, SW_T), "0", "N",
    "Number the keys of the table: ASSIGN returns the id of a key, below N, and gives an absent "
    "key the lowest free one. DELETE, expiry and FLUSHDB free ids. Operations that set values "
    "are refused. A write that needs an id when all are in use is refused as out of memory. "
    "cache: each slot has an id, so capacity is at most N (auto: N); a new key takes a free id, or "
    "that of the key it evicts. Not with value-bytes, nor in a cluster. 0: values are the "
    "clients'.")
SW_OPTION(rows_in, "rows-in", "table", SW_ROBIN_HOOD | SW_CACHE, SW_CHOICE(places), "gpu", "WHERE",
          "Choose where the CUDA backend stores rows, or the values of the cache engine. gpu: in "
          "GPU memory. host: in pinned host memory, which the GPU accesses over PCIe; the entries "
          "stay in GPU memory. gpu+host, for rows only: the first rows used go to GPU memory, the "
          "others to host memory; no row moves between them. Memory of rows is not released when "
          "the table shrinks. The CPU backend always uses host memory.")
SW_OPTION(rows_gpu_bytes, "rows-gpu-bytes", "table", SW_ROBIN_HOOD, SW_SIZE(0, SW_T), "0", "BYTES",
          "Limit the GPU memory for rows with rows-in gpu+host, for example to leave some to "
          "other programs. 0: the GPU memory free at start, minus twice the slots at "
          "max-capacity, 4 bytes per row, and 1/32 of the GPU's memory.")
SW_OPTION(
    memory_max, "memory-max", "table", SW_ANY, SW_SIZE(0, SW_T), "0", "BYTES",
    "Limit the memory of the table: host memory, or GPU memory for a table that lies there. A "
    "growth "
    "that would pass it is refused. 0: no limit. Rows and values in host memory do not count for a "
    "table in GPU memory: tables-host-memory-max limits these.")
SW_OPTION(memory_min, "memory-min", "table", SW_ANY, SW_SIZE(0, SW_T), "0", "BYTES",
          "Promise this much of tables-memory-max to the table: other tables cannot take it.")
SW_OPTION(default_ttl, "default-ttl", "table", SW_ROBIN_HOOD, SW_NUMBER(0, 1000000000), "0",
          "SECONDS",
          "Expire a key this many seconds after it is written, unless the command gives a time. "
          "Applies to every new key, and to keys overwritten by SET, MSET, GETSET, SET XX or a "
          "SET in a bulk frame. INCR, ADD, SETRANGE, OR, CAS and similar commands, and SET with "
          "KEEPTTL, keep the time of an existing key. RENAME and COPY copy it; PERSIST removes "
          "it. Keys from the data directory, a primary, or a slot migration keep their times. "
          "0: a key expires only if a command says so.")
SW_OPTION(value_format, "value-format", "table", SW_CACHE, SW_CHOICE(formats), "string", "FORMAT",
          "Cache engine: string: values of up to value-bytes; in bulk frames each is its length, 4 "
          "bytes, little-endian, then value-bytes. fixed: values of exactly value-bytes, in bulk "
          "frames as they are.")
SW_OPTION(policy, "policy", "table", SW_CACHE, SW_CHOICE(policies), "lru", "POLICY",
          "Choose the score of an entry of the cache engine. lru: the time of its last use; "
          "lfu: the number of its uses; epoch-lru and epoch-lfu: the same within an epoch, "
          "which the bulk operation EPOCH advances; custom: a number that clients send in bulk "
          "frames, 0 in RESP.")
SW_OPTION(cache_mode, "cache-mode", "table", SW_CACHE, SW_CHOICE(modes), "memory", "MODE",
          "Cache engine: memory: a key may lie in two buckets, so that no entry is evicted before "
          "the cache is nearly full; throughput: a key may lie in one bucket, which is faster.")
SW_OPTION(
    resp_keys, "resp-keys", "table", SW_ANY, SW_CHOICE(resp_keys_forms), "auto", "FORM",
    "Choose what a key is in RESP. auto: digits without a leading zero, up to 2^64 - 1, are that "
    "integer; any other text is its XXH3-64. decimal: digits only. raw: the 8 or 4 bytes of the "
    "integer, lowest byte first. hash: any text, digits included, is its XXH3-64; SCAN, KEYS and "
    "RANDOMKEY are refused, unless rows store the texts (resp-key-text-bytes). auto and hash: two "
    "of n keys are one with a probability of at most n^2 / 2^65; they require key-bits 64 and no "
    "cluster, for which the default is decimal. Files record the form. A start in another form is "
    "refused, except auto after decimal.")
SW_OPTION(resp_keys_change, "resp-keys-change", "table", SW_ANY, SW_CHOICE(switches), "no",
          "yes|no",
          "Load files whose keys RESP clients wrote in another form (resp-keys). They do not find "
          "these keys. Use it once if only bulk frames have written keys.")
SW_OPTION(
    resp_key_text_bytes, "resp-key-text-bytes", "table", SW_ROBIN_HOOD, SW_NUMBER(0, 1024), "0",
    "BYTES",
    "Store the text of each key in its row, up to this many bytes (requires resp-keys hash and "
    "value-bytes). Longer keys are refused. A command on a key whose hash belongs to another "
    "stored key gets the error COLLISION, changes nothing, and shows nothing of that key. SCAN, "
    "KEYS and RANDOMKEY show texts. Each row takes this many bytes plus 2, rounded up to a "
    "multiple of 8. Bulk frames cannot operate on keys. Files record this size; a start with "
    "another one is refused. 0: do not store texts.")
