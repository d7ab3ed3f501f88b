#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The form of keys by RESP: --resp-keys auto, decimal, raw and hash, and the places that report it."""

import json
import random
import struct

import redis
import xxhash

import wire
from harness import BUILD, Server, case, check, drawn_seed, equal, main, redis_server, run

RAW = ("--resp-keys", "raw", "--capacity", "64K")
HASH = ("--resp-keys", "hash", "--capacity", "64K")


def packed(number, width=8):
    return struct.pack("<Q" if width == 8 else "<I", number)


def info(replies):
    lines = replies.ask("INFO", "sherwood").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


@case
def told():
    """the start line, HELLO, INFO, CONFIG GET and libsherwood's tools show the form of keys"""
    for form, said in (("decimal", None), ("raw", "RESP keys are raw bytes"),
                       ("hash", "RESP keys are hashes of texts (two of n texts are one key with a chance of"
                                " n^2 / 2^65)"),
                       ("auto", "RESP keys are integers or texts, which are hashed (two of n keys are one with a chance"
                                " of at most n^2 / 2^65)")):
        with Server(*(() if form == "auto" else ("--resp-keys", form))) as server, server.replies() as replies:
            equal("RESP keys" in server.line, said is not None, server.line)
            check(said is None or said in server.line, server.line)
            hello = replies.ask("HELLO", "3")
            equal(hello[b"keys"], form.encode(), "HELLO")
            equal(list(replies.ask("CONFIG", "GET", "resp-keys").values()), [form.encode()], "CONFIG GET")
            facts = info(replies)
            equal(facts["resp_keys"], form, "INFO")
            equal("resp_keys_collision_odds" in facts, form in ("hash", "auto"), "odds")


@case
def raw():
    """raw: the 8 bytes of the number are the key, as in a frame; keys of other lengths change nothing"""
    rng = random.Random(drawn_seed())
    for width in (8, 4):
        top = 2 ** (8 * width)
        with Server(*RAW, "--key-bits", str(8 * width)) as server, server.replies() as replies:
            model = {}
            numbers = [0, 1, 10, 13, top - 1, top // 2] + [rng.randrange(top) for _ in range(200)]
            for number in numbers:
                value = rng.randrange(top)
                equal(replies.ask("SET", packed(number, width), value), "OK", "SET")
                model[packed(number, width)] = str(value).encode()
            equal(replies.ask("MGET", *model), list(model.values()), "MGET")
            seen, cursor = [], b"0"
            while True:
                cursor, keys = replies.ask("SCAN", cursor, "COUNT", 50)
                seen += keys
                if cursor == b"0":
                    break
            equal(set(seen), set(model), "SCAN")
            check(replies.ask("RANDOMKEY") in model, "RANDOMKEY")
            for bad in (b"", b"1", b"x" * (width - 1), b"x" * (width + 1), b"12345678901"):
                error = f"ERR key must have exactly {width} bytes (--resp-keys raw)"
                equal(replies.ask("SET", bad, 1), wire.Error(error), bad)
                equal(replies.ask("MGET", next(iter(model)), bad), wire.Error(error), bad)
            equal(replies.ask("DBSIZE"), len(model), "DBSIZE")
            got = run(BUILD / "sherwood-cli", "-a", server.address(),
                      "--raw", "GET", str(numbers[-1]))
            equal(got.strip(), model[packed(numbers[-1], width)].decode(), "by frames")
            equal(replies.ask("DEL", *model), len(model), "DEL")


@case
def patterns():
    """SCAN MATCH of raw keys takes any bytes and matches the same keys as redis"""
    rng = random.Random(drawn_seed())
    letters = b"ab\0*?[]\\^-\n\x7f"  # above 0x7f redis compares ranges as signed bytes, where char is signed
    keys = list({bytes(rng.choices(letters, k=8)) for _ in range(300)})
    with redis_server() as path, Server(*RAW) as server, server.connect() as connection:
        theirs = redis.Redis(unix_socket_path=path)
        replies = wire.Replies(connection)
        for key in keys:
            theirs.set(key, 1)
            equal(replies.ask("SET", key, 1), "OK", "SET")
        for _ in range(400):
            parts = [rng.choice([bytes([c]), b"?", b"*", b"[ab]", b"[^ab]", b"[a-c]", b"\\" + bytes([c])])
                     for c in rng.choices(letters, k=rng.randrange(1, 8))]
            pattern = rng.choice([b"".join(parts), bytes(rng.choices(letters, k=rng.randrange(1, 9))) + b"*"])
            cursor, got = replies.ask("SCAN", 0, "MATCH", pattern, "COUNT", 100000)
            equal(cursor, b"0", "one call")
            equal(sorted(got), sorted(theirs.keys(pattern)), pattern)
        # As the string mode of NVIDIA's nv-embedding-cache lists a namespace: escaped bytes, then *.
        prefix = keys[0][:4]
        escaped = b"".join(b"\\" + bytes([c]) for c in prefix) + b"*"
        equal(sorted(replies.ask("SCAN", 0, "MATCH", escaped, "COUNT", 16384)[1]),
              sorted(k for k in keys if k.startswith(prefix)), "a prefix")


@case
def hashes():
    """hash: any string of any length is a key; commands that list keys are refused with a reason"""
    rng = random.Random(drawn_seed())
    with Server(*HASH) as server, server.replies() as replies:
        model = {}
        texts = [b"", b"user:1000:name", b"\0", b"\r\n", b"1", b"01", b" 1", b"x" * 100000]
        texts += [rng.randbytes(rng.randrange(1, 300)) for _ in range(200)]
        for text in texts:
            value = rng.randrange(2**64)
            equal(replies.ask("SET", text, value), "OK", "SET")
            model[text] = value
        for text, value in model.items():
            equal(replies.ask("GET", text), str(value).encode(), text[:40])
        equal(replies.ask("DBSIZE"), len(model), "every text is a key of its own")
        equal(replies.ask("EXISTS", "user:1000:nam", "01", "1", "001"), 2, "others are not there")
        equal(replies.ask("INCR", "visits"), 1, "INCR")
        equal(replies.ask("DEL", "visits", "01"), 2, "DEL")
        for words in (("SCAN", 0), ("KEYS", "*"), ("RANDOMKEY",)):
            equal(replies.ask(*words), wire.Error(
                f"ERR {words[0]} cannot list keys, because the server stores only their hashes: start it with --resp-key-text-bytes"),
                words)
        number = xxhash.xxh3_64_intdigest(b"user:1000:name")
        cli = (BUILD / "sherwood-cli", "-a", server.address(), "--raw")
        equal(run(*cli, "-q", "GET", str(number)).strip(), str(model[b"user:1000:name"]), "by frames: the hash")
        shown = run(*cli, "MGET", "1", "2").splitlines()
        equal((len(shown), shown[1:]), (3, ["", ""]), "1 is a text by RESP")
        check("key 1 is another key to them" in shown[0], shown)
        equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", 0), "OK", "CONFIG")
        replies.ask("GET", "abc")
        logged = [entry[3] for entry in replies.ask("SLOWLOG", "GET", 10)]
        check([b"get", b"hash:78af5f94892f3950"] in logged, logged)
    shown = run(BUILD / "sherwoodd", "--resp-keys", "hash", "--key-bits", "32", rc=2)
    check("resp-keys hash needs key-bits 64" in shown, shown)


def key_of(text):
    """Returns the key of a string with --resp-keys auto."""
    digits = text.isdigit() and (text == b"0" or text[:1] != b"0") and text.isascii() and len(text) <= 20
    return int(text) if digits and int(text) < 2**64 else xxhash.xxh3_64_intdigest(text)


@case
def auto():
    """auto: digits are an integer key, other strings a hash; the numbers that SCAN, KEYS and RANDOMKEY show are keys"""
    rng = random.Random(drawn_seed())
    numbers = [b"0", b"42", b"9" * 19, b"18446744073709551615", b"%d" % 2**63]
    texts = [b"", b"page:home", b"042", b"00", b"+42", b"-1", b" 42", b"42 ", b"18446744073709551616", b"9" * 20, b"\0", b"\r\n",
             b"hash:78af5f94892f3950", b"x" * 100000]
    texts += [rng.randbytes(rng.randrange(1, 300)) for _ in range(200)]
    with Server("--capacity", "64K") as server, server.connect() as connection:
        replies, model = wire.Replies(connection), {}
        for text in numbers + texts:
            value = rng.randrange(2**64)
            equal(replies.ask("SET", text, value), "OK", "SET")
            model[text] = b"%d" % value
        equal(replies.ask("MGET", *model), list(model.values()), "MGET")
        equal(replies.ask("DBSIZE"), len(model), "every text is a key of its own")
        shown = {b"%d" % key_of(text): value for text, value in model.items()}
        cursor, keys = replies.ask("SCAN", 0, "COUNT", 10000)
        equal((cursor, sorted(keys)), (b"0", sorted(shown)), "SCAN")
        equal(sorted(replies.ask("KEYS", "*")), sorted(shown), "KEYS")
        check(replies.ask("RANDOMKEY") in shown, "RANDOMKEY")
        equal(replies.ask("MGET", *shown), list(shown.values()), "what is shown addresses the entries")
        equal(sorted(replies.ask("KEYS", "4?")), [b"42"], "a pattern of digits")
        for pattern in (b"page:*", b"*:home", b"", b"[a-z]*", b"\\*"):
            for words in (("KEYS", pattern), ("SCAN", 0, "MATCH", pattern)):
                check(f"the pattern '{pattern.decode().replace(chr(92), chr(92) + 'x5c')}' matches no key: keys that are texts"
                      in str(replies.ask(*words)), words)
        cli = (BUILD / "sherwood-cli", "-a", server.address(), "--raw")
        for text in (b"42", b"page:home", b"042"):
            equal(run(*cli, "GET", str(key_of(text))).strip().encode(), model[text], "by frames")
            equal(run(*cli, "GET", text.decode()).strip().encode(), model[text], "by sherwood-cli, as a text")
        equal(run(*cli, "MGET", "page:home", "42", "none").split("\n")[:2], [model[text].decode() for text in (b"page:home", b"42")],
              "MGET")
        check("\nresp_keys:auto\n" in run(*cli, "INFO"), "INFO of sherwood-cli")
        equal(json.loads(server.http("/status.json")[2])["server"]["resp_keys"], "auto", "status page")
        by_number = b"%d" % key_of(b"page:home")
        equal([replies.ask("INCR", b"visits"), replies.ask("INCR", b"%d" % key_of(b"visits"))], [1, 2], "one entry")
        equal(replies.ask("COPY", b"visits", b"page:home"), 0, "COPY knows the entry")
        equal([replies.ask("RENAME", b"visits", b"page:away"), replies.ask("GET", b"page:away"), replies.ask("EXISTS", b"visits")],
              ["OK", b"2", 0], "RENAME")
        equal([replies.ask("EXPIREAT", b"page:home", 4102444800), replies.ask("EXPIRETIME", by_number)], [1, 4102444800], "EXPIRE")
        equal([replies.ask("WATCH", b"page:home"), replies.ask("MULTI"), replies.ask("GET", b"page:home")],
              ["OK", "OK", "QUEUED"], "WATCH")
        equal(server.ask("SET", by_number, 1), "OK", "by the integer")
        equal(replies.ask("EXEC"), None, "the watched text has changed")
        equal([replies.ask("OBJECT", "ENCODING", b"page:home"), replies.ask("TYPE", b"page:home")], [b"int", "string"], "OBJECT")
        equal(replies.ask("DEL", *model), len(model), "DEL")
        equal(replies.ask("DEL", b"page:away"), 1, "DEL")
        equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", 0), "OK", "CONFIG")
        replies.ask("GET", "abc")
        check([b"get", b"%d" % key_of(b"abc")] in [entry[3] for entry in replies.ask("SLOWLOG", "GET", 10)], "SLOWLOG")


@case
def errors_of_decimal():
    """an error about a string key names the option that allows it; auto is refused where strings cannot be keys"""
    refused = "ERR key is not an unsigned integer or out of range; "
    for flags, cure in ((("--resp-keys", "decimal"), "for string keys start the server with --resp-keys auto"),
                        (("--key-bits", "32"), "for string keys start the server with --key-bits 64")):
        with Server(*flags, "--capacity", "1K") as server, server.replies() as replies:
            equal(info(replies)["resp_keys"], "decimal", "the form")
            shown = run(BUILD / "sherwood-cli", "-a", server.address(), "GET", "page:home", rc=1)
            check('ERR key "page:home" is not an unsigned integer' in shown, shown)
            for words in (("INCR", "page:home"), ("MGET", 1, "page:home"), ("WATCH", "page:home"), ("GET", "-1"), ("TTL", "")):
                equal(replies.ask(*words), wire.Error(refused + cure), words)
            equal([replies.ask("SET", "007", 5), replies.ask("GET", 7)], ["OK", b"5"], "leading zeros")
    for flags, words in ((("--key-bits", "32"), "resp-keys auto needs key-bits 64"),
                         (("--cluster-state", "/nowhere/c.json"), "resp-keys is auto in a cluster")):
        shown = run(BUILD / "sherwoodd", "--resp-keys", "auto", *flags, "--port", "0", "--http-port", "0", rc=2)
        check(words in shown, shown)


@case
def clients_as_they_are():
    """auto, hash: redis-benchmark and redis-py run unchanged; on a cache with byte values, too"""
    for flags in (HASH, ("--capacity", "64K")):
        unchanged(*flags)


def unchanged(*flags):
    with Server(*flags) as server:
        base = ("redis-benchmark", "-p", server.port, "-q", "-n", "2000", "-r", "500", "-P", "8")
        for words in (("INCR", "counter:__rand_int__"), ("SET", "key:__rand_int__", "42"),
                      ("GET", "key:__rand_int__"), ("DEL", "key:__rand_int__"), ("-t", "incr,get")):
            shown = run(*base, *words)
            check("requests per second" in shown and "rror" not in shown, shown)
        client = redis.Redis(port=server.port, decode_responses=True)
        check(client.set("foo", 5) and client.get("foo") == "5", "foo")
        equal(client.incr("page:views"), 1, "incr")
        with client.pipeline() as pipe:
            equal(pipe.set("a", 1).incr("a", 2).mget("a", "none").execute(), [True, 3, ["3", None]], "pipeline")
        equal(client.exists("foo", "page:views", "bar"), 2, "exists")
        client.close()
    with Server(*flags, "--engine", "cache", "--value-bytes", "64") as server:
        shown = run("redis-benchmark", "-p", server.port, "-q", "-n", "2000", "-r", "500", "-P", "8", "-t",
                    "set,get,mset")
        equal(shown.count("requests per second"), 3, shown)
        client = redis.Redis(port=server.port, decode_responses=True)
        client.mset({"user:1": "Ann", "user:2": "Bob"})
        equal(client.mget("user:1", "user:2", "user:3"), ["Ann", "Bob", None], "mget")
        client.close()


@case
def embedding_tier():
    """raw: MSET, MGET and DEL of 16,384 rows of 512 bytes, 8.8 MB a command, as an embedding cache sends them"""
    rows = 16384
    with Server("--resp-keys", "raw", "--engine", "cache", "--capacity", "64K", "--value-bytes", "512",
                "--value-format", "fixed", "--resp-request-bytes-max", "16M", "--round-ops-max", "64K",
                "--arena-bytes", "64M", "--frame-ops-max", "16K", "--loops", "1") as server:
        client = redis.Redis(port=server.port)
        keys = [packed(random.Random(drawn_seed() + i).randrange(2**64)) for i in range(rows)]
        values = [key * 64 for key in keys]
        check(client.mset(dict(zip(keys, values))), "MSET")
        equal(client.mget(keys), values, "MGET")
        equal(client.dbsize(), rows, "DBSIZE")
        absent = packed(1)
        equal(client.mget(keys[:2] + [absent]), values[:2] + [None], "nil is a miss")
        equal(client.execute_command("DEL", *keys[:1000]), 1000, "DEL")
        left, cursor = set(), 0
        while True:
            cursor, some = client.scan(cursor, match=b"*", count=16384)
            left |= set(some)
            if cursor == 0:
                break
        equal(left, set(keys[1000:]), "SCAN MATCH")
        client.flushdb()
        equal(client.dbsize(), 0, "FLUSHDB")
        client.close()


@case
def ranges():
    """key ranges of users are numbers with raw and auto; with hash a range is refused, also from a file"""
    inside, outside = b"page:home", b"page:news"
    equal([key_of(inside) >> 63, key_of(outside) >> 63], [0, 1], "one hash in each half")
    with Server("--capacity", "1K") as server, server.replies() as replies:
        equal(replies.ask("ACL", "SETUSER", "ann", "on", ">secret", f"~0-{2**63 - 1}", "+@all"), "OK", "SETUSER")
        equal(replies.ask("ACL", "SETUSER", "bob", "on", ">secret", "~1-100", "+@all"), "OK", "SETUSER")
        equal([replies.ask("ACL", "DRYRUN", "bob", "GET", key) == "OK" for key in (b"1", b"100", b"101", b"01", inside)],
              [True, True, False, False, False], "DRYRUN")
        equal(replies.ask("AUTH", "ann", "secret"), "OK", "AUTH")
        equal(replies.ask("SET", inside, 1), "OK", "the hash is in the range")
        equal(replies.ask("GET", b"%d" % key_of(inside)), b"1", "and so is its integer")
        for key in (outside, b"%d" % key_of(outside)):
            check(str(replies.ask("SET", key, 1)).startswith("NOPERM"), key)
        equal(replies.ask("AUTH", "bob", "secret"), "OK", "AUTH")
        for key in (inside, outside, b"01", b"+1", b"101"):
            check(str(replies.ask("MGET", 1, key)).startswith("NOPERM"), key)
    with Server(*RAW) as server, server.replies() as replies:
        equal(replies.ask("ACL", "SETUSER", "ann", "on", ">secret", "~1000-1999", "+@all"), "OK", "SETUSER")
        for number, allowed in ((999, False), (1000, True), (1999, True), (2000, False)):
            got = replies.ask("ACL", "DRYRUN", "ann", "GET", packed(number))
            equal(got == "OK", allowed, number)
        equal(replies.ask("AUTH", "ann", "secret"), "OK", "AUTH")
        equal(replies.ask("SET", packed(1500), 1), "OK", "inside")
        for number in (2500, 256 << 8, 512 << 8): # two of them begin with a byte of 0
            check(str(replies.ask("SET", packed(number), 1)).startswith("NOPERM"), "outside")
        equal(replies.ask("AUTH", "default", ""), "OK", "who may read ACL LOG")
        equal([entry[7] for entry in replies.ask("ACL", "LOG")],
              ["".join(f"\\x{byte:02x}" for byte in packed(512 << 8)).encode(),
               "".join(f"\\x{byte:02x}" for byte in packed(256 << 8)).encode(),
               b"\\xc4\\x09" + b"\\x00" * 6], "ACL LOG shows every byte")
        check(b"the '\\xc4\\x09\\x00" in replies.ask("ACL", "DRYRUN", "ann", "GET", packed(2500)), "DRYRUN")
    with Server(*HASH) as server, server.replies() as replies:
        got = replies.ask("ACL", "SETUSER", "ann", "on", ">secret", "~1000-1999", "+@all")
        check(isinstance(got, wire.Error) and "a range of hashes has no meaning" in got, got)
        equal(replies.ask("ACL", "GETUSER", "ann"), None, "nothing was made")
        equal(replies.ask("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+get"), "OK", "all keys")
        file = server.directory / "users"
        file.write_text("user default on nopass ~* &* +@all\nuser bob on nopass ~5 +@all\n")
        file.chmod(0o600)
        shown = run(BUILD / "sherwoodd", "--resp-keys", "hash", "--acl-file", file, "--port", "0",
                    "--http-port", "0", "--capacity", "1K", rc=None)
        check("the user bob has ranges of keys" in shown, shown)


if __name__ == "__main__":
    main()
