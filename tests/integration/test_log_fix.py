#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli log check --fix: for any damage it says what is lost, and changes nothing without --yes. A server then
starts with a prefix of the writes.

SHERWOOD_SEED=N repeats a run that failed.
"""

import os
import pathlib
import random
import shutil
import subprocess

from data_directory import SMALL, Directory, durable
from harness import BUILD, SANITIZED, Server, case, check, equal, main, run

SEED = int(os.environ.get("SHERWOOD_SEED", random.SystemRandom().randrange(2**32)))
CLI = str(BUILD / "sherwood-cli")
TRIES = 20 if SANITIZED else 60


def cli(*words):
    """Returns (exit status, output)."""
    done = subprocess.run([CLI, "log", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(done.returncode in (0, 1), f"{words}: {done.returncode} {done.stdout}")
    return done.returncode, done.stdout


def write_lives(path, lives, writes=12, ends=lambda life: "kill", snapshot_in=None):
    """Each run writes SET n n; the last write of all is number lives * writes."""
    for life in range(lives):
        with durable(path, "always") as server, server.replies() as replies:
            for n in range(life * writes + 1, (life + 1) * writes + 1):
                equal(replies.ask("SET", n, n), "OK", "set")
                if n == snapshot_in:
                    equal(replies.ask("SAVE"), "OK", "save")
            if ends(life) == "kill":
                server.end_by_kill()


def exported(path):
    """Returns the sequences of the log's writes, as export prints them. A message may precede the heads of the columns. --fix may leave no log."""
    if not list(pathlib.Path(path).glob("log-*")):
        return []
    return [int(line.split(",")[0]) for line in run(CLI, "log", "export", str(path)).splitlines() if line[:1].isdigit()]


def contents(path):
    return {file.name: file.read_bytes() for file in pathlib.Path(path).iterdir() if file.is_file() and file.name != "lock"}


def damage(rng, path):
    """Damages a copy of the directory in one or two ways. Returns a description."""
    said = []
    for _ in range(rng.choice([1, 1, 2])):
        files = sorted(path.glob("log-*")) + sorted(path.glob("snapshot-*"))
        if not files:
            break
        file = rng.choice(files)
        data = bytearray(file.read_bytes())
        end = min(max(len(bytes(data).rstrip(b"\0")), 4097), len(data))
        at = rng.randrange(end) if data else 0
        way = rng.choice(["flip", "flip", "zeros", "cut", "remove"]) if data else "remove"
        if way == "flip":
            data[at] ^= 1 << rng.randrange(8)
        elif way == "zeros":
            data[at:at + 200] = bytes(len(data[at:at + 200]))
        elif way == "cut":
            del data[at:]
        if way == "remove":
            file.unlink()
        else:
            file.write_bytes(data)
        said.append(f"{way} {file.name} {at}")
    return said


@case
def whatever_is_damaged():
    """--fix --yes leaves a valid log, which is a prefix of the writes; without --yes nothing changes"""
    print(f"# SHERWOOD_SEED={SEED}")
    rng = random.Random(SEED)
    fixed = lost = 0
    with Directory() as original, Directory() as scratch:
        write_lives(original, 4, ends=lambda life: "kill" if life % 2 else "stop", snapshot_in=20)
        wrote = exported(original)
        equal(wrote, list(range(21, 49)), "what was written behind the snapshot")
        for number in range(TRIES):
            path = scratch / str(number)
            shutil.copytree(original, path)
            did = damage(rng, path)
            status, said = cli("check", str(path))
            before = contents(path)
            dry, told = cli("check", "--fix", str(path))
            equal(contents(path), before, f"{did}: {told}")
            if status == 0 and dry == 0:
                shutil.rmtree(path)
                continue
            status_of_fix, told = cli("check", "--fix", "--yes", str(path))
            equal(status_of_fix, 0, f"{did}: {said} {told}")
            status, said = cli("check", str(path))
            equal(status, 0, f"{did}: {said} {told}")
            kept = exported(path)
            equal(kept, list(range(kept[0], kept[0] + len(kept))) if kept else [], f"{did}: without a gap")
            check(not kept or kept[-1] <= 48, str(kept))
            after = contents(path)
            for name, data in before.items():
                check(data in (after.get(name), *(d for n, d in after.items() if n.startswith(f"cut-{name}"))),
                      f"{did}: {name} is neither there nor beside")
            fixed += 1
            lost += "are lost" in told
            shutil.rmtree(path)
    check(fixed >= TRIES // 5 and lost > 0, f"{fixed} fixed, {lost} with a loss")


@case
def a_server_starts_with_what_is_left():
    """--fix names the lost file, offset, sequences and operations; the server has the rest"""
    with Directory() as path:
        write_lives(path, 3)
        segment = sorted(path.glob("log-*"))[1]
        data = bytearray(segment.read_bytes())
        records = [at for at in range(4096, len(data), 64) if data[at:at + 4] == b"SWR1"]
        data[records[len(records) // 2] + 64] ^= 1
        segment.write_bytes(data)
        status, said = cli("check", str(path))
        check(status == 1 and f"{segment.name} is damaged at byte" in said, said)
        status, said = cli("check", "--fix", str(path))
        equal(status, 1, said)
        check(f"{segment.name}: is cut at byte" in said and "readable writes" in said, said)
        check("are lost: those up to" in said and "nothing was changed: add --yes to do this" in said, said)
        status, said = cli("check", "--fix", "--yes", str(path))
        equal(status, 0, said)
        check(list(path.glob("cut-log-*")), "copies")
        kept = exported(path)
        with Server("--data-dir", str(path), *SMALL) as server:
            equal(int(server.redis_cli("DBSIZE")), kept[-1], "keys")
            status, said = cli("check", "--fix", "--yes", str(path))
            check(status == 1 and "a sherwoodd uses it" in said, said)
        status, said = cli("check", "--fix", str(path))
        check(status == 0 and "nothing to fix; the log has the writes up to" in said, said)


@case
def words():
    """--yes without --fix, two directories, and no directory are errors"""
    for wrong in (("check", "--yes", "/tmp"), ("check", "--fix"), ("export", "--fix", "/tmp"), ("check", "/a", "/b"), ()):
        done = subprocess.run([CLI, "log", *wrong], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        check(done.returncode == 2 and done.stdout.startswith("usage: sherwood-cli log check [--fix [--yes]]"), done.stdout)


if __name__ == "__main__":
    main()
