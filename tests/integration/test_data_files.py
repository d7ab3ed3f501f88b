#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Data files of the wrong kind: FIFOs and devices, a removed lock, missing segments, and owners that a tool must keep."""

import os
import shutil
import socket
import subprocess

import cluster
from certificates import Authority
from data_directory import SMALL, Directory, does_not_start, durable
from harness import BUILD, Server, Skip, case, check, equal, eventually, free_port, main

CLI = str(BUILD / "sherwood-cli")
NOBODY = 65534


def cli(*words):
    """Returns (exit status, output)."""
    done = subprocess.run([CLI, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=20, check=False)
    return done.returncode, done.stdout


def end_by_kill(server):
    server.end_by_kill()


def put(path, kind):
    """Creates an object of this kind, which is no regular file."""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path.mkdir()


KINDS = {"fifo": "a FIFO, a device or a socket, not a regular file", "device": "a FIFO, a device or a socket, not a regular file",
         "socket": "a FIFO, a device or a socket, not a regular file", "folder": "a directory, not a regular file"}


@case
def data_files_that_are_no_files():
    """a folder, FIFO or the like in place of a data file is an error that names it, at the start and in tools"""
    for name in ("log-00000000000000ff", "snapshot-00000000000000ff", "history", "first-segment", "lock"):
        for kind, words in KINDS.items():
            with Directory() as path:
                with durable(path, "always") as server:
                    equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
                put(path / name, kind)
                said = does_not_start("--data-dir", str(path), "--appendonly", "yes")
                check(f"{path}/{name}" in said and words in said, f"{name} as {kind}: {said}")
                if name.startswith(("log", "first")):
                    status, said = cli("log", "check", path)
                    check(status == 1 and words in said, said)
                    status, said = cli("log", "check", "--fix", path)
                    check(status == 1 and words in said, said)
                if name.startswith("snapshot"):
                    status, said = cli("snapshot", "verify", path / name)
                    check(status == 1 and words in said, said)


@case
def files_of_options_that_are_no_files():
    """a folder, FIFO or the like in place of a file that an option names is an error"""
    with Directory() as path, Authority() as authority:
        cert, key = authority.sign("server")
        topology = path / "topology"
        topology.write_text(cluster.topology(1, [{"port": 7001, "slots": [[0, 16383]]}]), encoding="ascii")
        for kind, words in KINDS.items():
            wrong = path / kind
            put(wrong, kind)
            tls = {"--tls-port": str(free_port()), "--tls-cert": cert, "--tls-key": key}
            tries = [{"--config": wrong}, {"--requirepass-file": wrong}, {"--acl-file": wrong},
                     {"--http-token-file": wrong}, {"--cluster-config": wrong},
                     {"--cluster-config": topology, "--cluster-state": wrong},
                     {**tls, "--tls-cert": wrong}, {**tls, "--tls-key": wrong}]
            if kind != "folder": # of roots one may be given
                tries.append({**tls, "--tls-ca": wrong, "--tls-auth-clients": "yes"})
            for options in tries:
                said = does_not_start(*[str(part) for pair in options.items() for part in pair])
                check(words in said, f"{options}: {said}")


@case
def unfinished_files_that_are_no_files():
    """a FIFO in place of a file that is about to be written blocks neither the start nor SAVE"""
    with Directory() as path:
        os.mkfifo(path / "new-snapshot")
        os.mkfifo(path / "new-log")
        os.mkfifo(path / "new-history")
        with durable(path, "always") as server:
            equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
            equal(server.redis_cli("SAVE").strip(), "OK", "save")
            put(path / "new-snapshot", "fifo")
            check("a FIFO, a device or a socket" in server.redis_cli("SAVE") + server.log(), "words")
            server.errors = "no snapshot was written"


@case
def a_last_record_that_is_damaged():
    """a start never cuts a damaged last record: the error has file and offset, and names the tool that cuts it"""
    for value, place in (("222", 128), ("0", 64), ("222", 8), ("222", 0), ("222", 60)):
        with Directory() as path:
            with durable(path, "always") as server, server.replies() as replies:
                equal([replies.ask("SET", 1, 111), replies.ask("SET", 2, value)], ["OK", "OK"], "set")
                end_by_kill(server)
            segment = path / "log-0000000000000001"
            whole = segment.read_bytes()
            last = max(at for at in range(4096, len(whole), 64) if whole[at:at + 4] == b"SWR1")
            segment.write_bytes(whole[:last + place] + bytes([whole[last + place] ^ 1]) + whole[last + place + 1:])
            said = does_not_start("--data-dir", str(path))
            check("is damaged at byte" in said and "(sequence 2)" in said and "log check --fix" in said, said)
            status, said = cli("log", "check", "--fix", "--yes", path)
            check(status == 0 and "writes 2 to 2 are lost" in said and "may have been acknowledged" in said, said)
            with Server("--data-dir", str(path), *SMALL) as server:
                equal(server.redis_cli("DBSIZE").strip(), "1", "keys")


@case
def a_segment_that_is_shorter():
    """a start refuses a segment that was truncated, because this is no torn end"""
    with Directory() as path:
        with durable(path, "always") as server:
            equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
            end_by_kill(server)
        os.truncate(path / "log-0000000000000001", 4096)
        check("is damaged at byte 4096" in does_not_start("--data-dir", str(path)), "refused")
        status, said = cli("log", "check", "--fix", "--yes", path)
        equal(status, 0, said)
        with Server("--data-dir", str(path), *SMALL) as server:
            equal(server.redis_cli("DBSIZE").strip(), "0", "keys")


@case
def what_a_stop_writes():
    """a stop writes a snapshot if there is no log, and none if there is one"""
    for level in (None, "always", "everysec"):
        with Directory() as path:
            log = ("--appendonly", "yes", "--appendfsync", level) if level else ()
            for _ in range(2):
                with Server("--data-dir", str(path), *SMALL, *log) as server:
                    equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
                    equal(server.redis_cli("DEL", "1").strip(), "1", "del")
                    equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
                files = sorted(file.name for file in path.iterdir() if file.name not in ("lock", "first-segment"))
                check(all(name.startswith("snapshot-" if level is None else "log-") for name in files) and files, files)


def numbers_of(path):
    return sorted(int(file.name[4:], 16) for file in path.glob("log-*"))


def life(path, *commands, kill=True):
    with durable(path, "always") as server:
        for command in commands:
            equal(server.redis_cli(*command.split()).strip(), "OK", command)
        if kill:
            # the next segment is made by a thread of its own
            eventually(lambda: not (path / "new-log").exists() and len(numbers_of(path)) >= 2, "the next segment")
            end_by_kill(server)


@case
def a_newest_segment_that_is_gone():
    """a start refuses to run without the newest written segment, and names it.
    The next segment, or a snapshot, names that segment. --fix goes on without it."""
    for snapshot in (False, True):
        for lives in (1, 2):
            with Directory() as path:
                for number in range(lives):
                    life(path, *(["SET 1 1", "SAVE"] if snapshot else []), f"SET 2 {number}", "SET 3 3")
                newest = numbers_of(path)[-2] # the last one was made, and not written
                (path / f"log-{newest:016x}").unlink()
                said = does_not_start("--data-dir", str(path))
                check(f"log-{newest:016x} is missing" in said and "log check --fix" in said, said)
                status, said = cli("log", "check", path)
                check(status == 1 and "is missing" in said, said)
                status, said = cli("log", "check", "--fix", "--yes", path)
                check(status == 0 and "an empty segment replaces it" in said, said)
                for _ in range(2):
                    with durable(path, "always") as server:
                        check(server.redis_cli("DBSIZE").strip() in ("0", "1", "2", "3"), "serves")


@case
def segments_that_may_be_gone():
    """segments that no start needs may be absent: an unused one, those before a snapshot, all in a backup"""
    with Directory() as path:
        life(path, "SET 1 1", "SET 2 2")
        (path / f"log-{numbers_of(path)[-1]:016x}").unlink()
        life(path, "SET 3 3", "SAVE")
        for number in numbers_of(path)[:-2]:
            (path / f"log-{number:016x}").unlink()
        life(path, "SET 4 4", "SAVE", kill=False)
        with durable(path, "always") as server:
            equal(server.redis_cli("DBSIZE").strip(), "4", "keys")
        with Directory() as backup:
            shutil.copy(max(path.glob("snapshot-*")), backup)
            with durable(backup, "always") as server:
                equal(server.redis_cli("DBSIZE").strip(), "4", "keys")
                check("the log that was written with the snapshot is missing" in server.log(), server.log())
                equal(server.redis_cli("SET", "5", "5").strip(), "OK", "set")
            life(backup, "SET 6 6") # behind the snapshot of the other directory, with a log of its own
            with durable(backup, "always") as server:
                equal(server.redis_cli("DBSIZE").strip(), "6", "keys")


def lose_newest_run(path, older=False):
    """Removes the segments from the one that first-segment names, or all. Returns its name."""
    first = int((path / "first-segment").read_text(encoding="ascii").split()[2], 16)
    check(first in numbers_of(path), "the file names a segment")
    for number in numbers_of(path):
        if older or number >= first:
            (path / f"log-{number:016x}").unlink()
    return f"log-{first:016x}"


@case
def a_newest_run_that_is_gone():
    """a start refuses to run if all segments of the last run are missing, with and without older files.
    log check reports this, and --fix goes on without them."""
    said = "first-segment names it, so writes after"
    for older in ("segments", "segments and a snapshot", "a snapshot", "nothing"):
        with Directory() as path:
            if older != "nothing":
                life(path, "SET 1 1", *(["SAVE"] if "snapshot" in older else []), "SET 2 2")
            life(path, *(["SAVE"] if older == "a snapshot" else []), "SET 3 3")
            name = lose_newest_run(path, older=older == "a snapshot")
            equal(bool(numbers_of(path)), older.startswith("segments"), "older segments")
            for log in ((), ("--appendonly", "yes")):
                words = does_not_start("--data-dir", str(path), *log)
                check(f"{name} and all newer segments are missing" in words and said in words, f"{older}: {words}")
            for option in ((), ("--fix",)):
                status, words = cli("log", "check", *option, path)
                check(status == 1 and f"{name}" in words and " missing" in words, f"{older}: {words}")
            status, words = cli("log", "check", "--fix", "--yes", path)
            check(status == 0 and "first-segment is set aside, and their writes are lost" in words, f"{older}: {words}")
            check("nothing shows how many writes are lost" in words and "no write is known" not in words, words)
            check((path / "cut-first-segment").exists(), "it is kept")
            equal(cli("log", "check", path)[0], 0, "checked")
            for added in range(2):
                with durable(path, "always") as server:
                    equal(server.redis_cli("DBSIZE").strip(), str(added + (0 if older == "nothing" else 2)), older)
                    equal(server.redis_cli("SET", f"{9 + added}", "9").strip(), "OK", "set")


@case
def directories_without_a_newest_run():
    """a directory starts without first-segment, or with that of another log.
    So does one whose log was removed on purpose after a run without a log."""
    with Directory() as path, Directory() as other:
        life(path, "SET 1 1")
        life(path, "SET 2 2", "SAVE")
        life(other, "SET 5 5")
        (path / "first-segment").unlink()  # as an earlier release leaves the directory
        with durable(path, "always") as server:
            equal(server.redis_cli("DBSIZE").strip(), "2", "keys")
        shutil.copy(other / "first-segment", path)
        with Directory() as copy:
            for file in (*path.glob("snapshot-*"), path / "first-segment"):
                shutil.copy(file, copy)
            with durable(copy, "always") as server:
                equal(server.redis_cli("DBSIZE").strip(), "2", "a file of another log")
        with durable(path, "always") as server:
            equal(server.redis_cli("SET", "3", "3").strip(), "OK", "set")
        with Server("--data-dir", str(path), *SMALL) as server:
            equal(server.redis_cli("SET", "4", "4").strip(), "OK", "set")
            equal(server.redis_cli("SAVE").strip(), "OK", "save")
        for number in numbers_of(path):
            (path / f"log-{number:016x}").unlink()
        for keys in ("4", "5"):
            with durable(path, "always") as server:
                equal(server.redis_cli("DBSIZE").strip(), keys, "keys")
                equal("unless you removed the segments" in server.log(), keys == "4", server.log())
                equal(server.redis_cli("SET", "5", "5").strip(), "OK", "set")


FORMS = ("decimal", "raw", "hash", "auto")
COMPATIBLE = {("decimal", "auto")} | {(form, form) for form in FORMS}


@case
def files_of_another_form_of_keys():
    """files record --resp-keys: a start with an incompatible form is refused, and the error names the right one"""
    for log in ((), ("--appendonly", "yes")):
        for wrote in FORMS:
            with Directory() as path:
                start = ("--data-dir", str(path), *SMALL, *log)
                with Server(*start, "--resp-keys", wrote) as server:
                    equal(server.redis_cli("SET", "12345678", "1").strip(), "OK", "set")
                for wants in FORMS:
                    if (wrote, wants) in COMPATIBLE:
                        continue
                    said = does_not_start(*start, "--resp-keys", wants)
                    check(f"wrote keys with --resp-keys {wrote}" in said and f"start with --resp-keys {wrote}" in said, said)
                if not log:
                    snapshot = next(path.glob("snapshot-*"))
                    check(f"resp_keys:{wrote}" in cli("snapshot", "info", snapshot)[1], "info")
                for wants in FORMS:
                    if (wrote, wants) in COMPATIBLE and wrote != wants:
                        shutil.copytree(path, path / "copy")
                        with Server("--data-dir", str(path / "copy"), *SMALL, *log, "--resp-keys", wants) as server:
                            equal(server.redis_cli("GET", "12345678").strip(), "1", f"{wrote} read as {wants}")
                        shutil.rmtree(path / "copy")
                with Server(*start, "--resp-keys", wrote) as server:
                    equal(server.redis_cli("GET", "12345678").strip(), "1", wrote)


@case
def the_form_of_keys_is_changed():
    """--resp-keys-change yes loads files of another form once; a log then has the new form; empty data has none"""
    with Directory() as path:
        start = ("--data-dir", str(path), "--appendonly", "yes", *SMALL)
        with Server(*start, "--resp-keys", "raw") as server:
            equal(server.redis_cli("DBSIZE").strip(), "0", "keys")
        with Server(*start, "--resp-keys", "hash") as server:
            equal(server.redis_cli("SET", "k", "1").strip(), "OK", "set")
        check("--resp-keys-change yes" in does_not_start(*start, "--resp-keys", "auto"), "refused")
        with Server(*start, "--resp-keys", "auto", "--resp-keys-change", "yes") as server:
            equal(server.redis_cli("DBSIZE").strip(), "1", "keys")
            check("RESP clients wrote keys with --resp-keys hash" in server.log(), server.log())
        with Server(*start, "--resp-keys", "auto") as server:
            equal(server.redis_cli("DBSIZE").strip(), "1", "keys")
        check("--resp-keys auto" in does_not_start(*start, "--resp-keys", "hash"), "refused")


@case
def a_replica_of_another_form_of_keys():
    """a primary refuses replicas with an incompatible form of keys; both log the reason"""
    with Server("--resp-keys", "decimal") as primary:
        primary.redis_cli("SET", "1", "1")
        with Server("--resp-keys", "hash", "--replicaof", f"127.0.0.1 {primary.port}", errors="form of keys") as replica:
            eventually(lambda: "the replica has --resp-keys hash, the primary --resp-keys decimal" in replica.log(), "words")
        with Server("--resp-keys", "auto", "--replicaof", f"127.0.0.1 {primary.port}") as replica:
            eventually(lambda: replica.redis_cli("GET", "1").strip() == "1", "a replica with auto follows decimal")


@case
def a_lock_that_was_removed():
    """the directory itself is locked: without its lock file a second daemon and --fix are still refused"""
    with Directory() as path, durable(path, "always") as server:
        (path / "lock").unlink()
        for _ in range(2):
            check("another sherwoodd (pid unknown) uses" in does_not_start("--data-dir", str(path)), "a daemon")
            status, said = cli("log", "check", "--fix", path)
            check(status == 1 and "a sherwoodd uses it" in said, said)
        check(not (path / "lock").exists(), "who is refused leaves no lock")
        equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")


@case
def fixed_by_root():
    """--fix by root keeps owner and mode, so that the daemon can read the files"""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise Skip("only root runs daemons as other users")
    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    with Directory() as path:
        path.chmod(0o755)
        inner = path / "data"
        inner.mkdir()
        os.chown(inner, NOBODY, NOBODY)
        with durable(inner, "always", wrapper=as_nobody) as server:
            with server.replies() as replies:
                for i in range(20):
                    equal(replies.ask("SET", i, i), "OK", "set")
            end_by_kill(server)
        segment = inner / "log-0000000000000001"
        data = bytearray(segment.read_bytes())
        records = [at for at in range(4096, len(data), 64) if data[at:at + 4] == b"SWR1"]
        data[records[10] + 64] ^= 1
        segment.write_bytes(data)
        segment.chmod(0o640)
        (inner / "lock").unlink()
        status, said = cli("log", "check", "--fix", "--yes", inner)
        equal(status, 0, said)
        for file in inner.iterdir():
            equal(file.stat().st_uid, NOBODY, f"owner of {file.name}")
            equal(file.stat().st_gid, NOBODY, f"group of {file.name}")
        equal(segment.stat().st_mode & 0o7777, 0o640, "mode")
        with durable(inner, "always", wrapper=as_nobody) as server:
            equal(server.redis_cli("DBSIZE").strip(), "10", "keys")


if __name__ == "__main__":
    main()
