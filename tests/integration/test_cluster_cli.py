#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cluster_cli - sherwood-cli makes the topology of a cluster, looks at it, and follows it."""

import contextlib
import json
import pathlib
import re
import shlex
import socket
import subprocess
import tempfile
import threading

from cluster import slot_of
from harness import BUILD, Server, case, check, equal, free_port, main, run

CLI = BUILD / "sherwood-cli"


def starts(said):
    """The commands that cluster create printed."""
    return [line for line in said.splitlines() if line.startswith("mkdir ")]


@contextlib.contextmanager
def created(count):
    """Starts daemons as cluster create prints: (file, servers)."""
    with tempfile.TemporaryDirectory(prefix="sherwood-cluster-") as folder, contextlib.ExitStack() as stack:
        file = pathlib.Path(folder) / "topology.json"
        ports = [free_port() for _ in range(count)]
        lines = starts(run(CLI, "cluster", "create", "--output", file, "--nodes", ",".join(f"127.0.0.1:{p}" for p in ports)))
        servers = []
        for line, port in zip(lines, ports):
            folder_made, command = line.split(" && ")
            program, *flags = shlex.split(command)
            equal(program, str(BUILD / "sherwoodd"), line)
            equal(flags[:3], ["--port", str(port), "--http-port"], line)
            flags[:4] = ["--port", str(port)]  # the HTTP port is one of the harness
            subprocess.run(folder_made, shell=True, check=True, timeout=60)
            servers.append(stack.enter_context(Server(*flags)))
        yield file, servers


@case
def commands():
    """With -c commands, load and dump reach every node; cluster slots and check tell who has what."""
    with created(3) as (file, servers):
        first = ("-p", servers[0].port)
        keys = list(range(300))
        check({slot_of(key) * 3 // 16384 for key in keys} == {0, 1, 2}, "keys of every node")
        equal(run(CLI, "-c", *first, "mset", *[n for key in keys for n in (key, key + 7)]), "OK\n", "mset")
        equal(run(CLI, "-c", *first, "mget", *keys).split(), [str(key + 7) for key in keys], "mget")
        equal(run(CLI, "--cluster", *first, "del", 1, 2, 99999).strip(), "2", "del")
        for words, lines in ((("mget", *keys), ""), (("load", "--format", "csv", "-"), "1,1\n2,2\n")):
            said = run(CLI, *first, *words, rc=1, stdin=lines)
            check("another node" in said and "; sherwood-cli -c asks the node of each key" in said, "without -c a node refuses keys of others: " + said)
        dump = run(CLI, "-c", "-q", *first, "dump", "--format", "csv", "-")
        equal(sorted(dump.split()), sorted(f"{key},{key + 7}" for key in keys if key not in (1, 2)), "dump")
        equal(run(CLI, "-c", "-q", *first, "load", "--format", "csv", "-", stdin="1,1\n2,2\n"), "", "load")
        equal(run(CLI, "-c", *first, "mget", 1, 2).split(), ["1", "2"], "what was loaded")
        lines = run(CLI, *first, "cluster", "slots").splitlines()
        equal([line.split(":")[-1] for line in lines], [" 0-5460", " 5461-10921", " 10922-16383"], "slots")
        equal(run(CLI, *first, "cluster", "check"),
              "ok: 3 nodes have the topology of epoch 1, all slots have an owner\n", "check")
        topology = json.loads(file.read_text())
        topology.update(epoch=2, force=True)
        topology["shards"][2]["slots"] = [[10922, 16000]]
        equal(servers[0].redis_cli("cluster", "settopology", json.dumps(topology)), "OK\n", "another topology")
        said = run(CLI, *first, "cluster", "check", rc=1)
        check("383 slots have no owner, the first is 16001: assign them" in said, said)
        check("has the topology of epoch 1" in said and "has that of 2" in said, said)


@case
def keys_of_a_move():
    """cluster move reports the number of keys that the target received"""
    with created(2) as (_, servers):
        first = ("-p", servers[0].port)
        equal(slot_of(42), 8000, "a slot of s0")
        equal(run(CLI, "-c", *first, "mset", 42, 7, 1, 2), "OK\n", "keys of two nodes")
        said = run(CLI, *first, "cluster", "move", 8000, "s0", "s1")
        check("1 key moved in" in said and said.endswith("1 slot is at s1\n"), said)
        check("0 keys moved in" in run(CLI, *first, "cluster", "move", 8000, "s0", "s1"), "no key moves again")


@case
def refusals():
    """An invalid cluster is refused with a reason, and no file is written."""
    with tempfile.TemporaryDirectory(prefix="sherwood-cluster-") as folder:
        file = f"{folder}/t.json"
        for wrong, said in ((["--nodes", "a.b.c.invalid:1"], "a.b.c.invalid"), (["--nodes", "127.0.0.1"], "write host:port"),
                            (["--nodes", "127.0.0.1:70000"], "write host:port"),
                            (["--nodes", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:1"], "--nodes has the address 127.0.0.1:1 twice: name each node once"),
                            (["--nodes", "[::1]:1,[::1]:1"], "--nodes has the address [::1]:1 twice"),
                            (["--local-gpus", "2", "--name", "A B"], "$.cluster"),
                            (["--local-gpus", "2", "--name", "a" * 64], "has more than 63 bytes")):
            text = run(CLI, "cluster", "create", "--output", file, *wrong, rc=1)
            check(said in text, f"{wrong}: {text}")
            check(not pathlib.Path(file).exists(), "a file was written")
        for wrong, said in (([], ""), (["create"], "--output FILE is missing"), (["slots", "x"], ""),
                            (["create", "--output", file], "one of --nodes and --local-gpus is needed"),
                            (["create", "--local-gpus", "2"], "--output FILE is missing"), (["create", "--nodes"], "the last word is not"),
                            (["create", "--output", file, "--local-gpu", "2"], '"--local-gpu 2" is not understood')):
            text = run(CLI, "cluster", *wrong, rc=2)
            check("usage: sherwood-cli cluster" in text and said in text, f"{wrong}: {text}")
        said = run(CLI, "cluster", "create", "--local-gpus", 2, "--output", file)
        check(f"# s1: slots 8192 to 16383\nmkdir -p {folder}/s1 && {BUILD}/sherwoodd --port 7380 --http-port 9380 " in said, said)
        check("sherwoodd --port 7379 --cluster-config" in said, said)
        equal([line.split()[-2:] for line in starts(said)], [["--device", "0"], ["--device", "1"]], said)
        check("File exists" in run(CLI, "cluster", "create", "--local-gpus", 2, "--output", file, rc=1), "it stays")
        said = run(CLI, "cluster", "create", "--local-gpus", 2, "--output", file, rc=1)
        check("t.json: File exists: name a new file with --output" in said, said)
        with Server() as alone:
            check("no cluster mode" in run(CLI, "-c", "-p", alone.port, "get", 1, rc=1), "no node of a cluster")


@case
def set_topology():
    """cluster set sends a topology file and resolves host names; --if-absent keeps an existing topology"""
    with tempfile.TemporaryDirectory(prefix="sherwood-cluster-") as folder:
        with Server("--cluster-state", f"{folder}/state.json", "--cluster-node-id", "a" * 40, ready=503) as server:
            check(f"node {'a' * 40} has no topology, so it serves no key: send one by sherwood-cli cluster set" in server.log(), server.log())
            cli, file = (CLI, "-p", server.port, "cluster", "set"), pathlib.Path(folder, "t.json")
            node = {"id": "a" * 40, "shard": "s0", "role": "primary", "ip": "localhost", "port": server.port}
            whole = {"format": 1, "cluster": "c", "epoch": 3, "keys": "decimal", "nodes": [node],
                     "shards": [{"id": "b" * 40, "name": "s0", "slots": [[0, 16383]]}]}
            for wrong, said in (("{", "(line 1)"), (json.dumps({**whole, "nodes": [{**node, "ip": "no.such.invalid"}]}), "no.such.invalid"),
                                (json.dumps({**whole, "nodes": [{**node, "port": 0}]}), "$.nodes[0].port")):
                file.write_text(wrong, encoding="utf-8")
                check(said in run(*cli, file, rc=1), wrong)
            check("No such file" in run(*cli, f"{folder}/nothing.json", rc=1), "no file")
            for wrong in ((), ("--if-absent",), (file, file), ("--force", file)):
                check("usage: sherwood-cli cluster" in run(*cli, *wrong, rc=2), wrong)
            file.write_text(json.dumps(whole), encoding="utf-8")
            equal(run(*cli, "--if-absent", file).strip(), "OK")
            got, = json.loads(server.redis_cli("CLUSTER", "TOPOLOGY"))["nodes"]
            check(got["ip"] in ("127.0.0.1", "::1"), got)
            file.write_text(json.dumps({**whole, "epoch": 9}), encoding="utf-8")
            equal(run(*cli, "--if-absent", file).strip(), "the node keeps its topology of epoch 3")
            equal(run(*cli, file).strip(), "OK")
            check("cluster_current_epoch:9" in server.redis_cli("CLUSTER", "INFO"), "the newer one")
            file.write_text(json.dumps({**whole, "epoch": 4}), encoding="utf-8")
            check("epoch" in run(*cli, file, rc=1), "an older one")


@case
def http_ports():
    """the HTTP port of a node is 2000 above its port, or the next one that no node of the host has"""
    for nodes, wanted in ((["127.0.0.1:7374", "127.0.0.1:7375"], [9374, 9375]),
                          (["127.0.0.1:9380", "127.0.0.2:7380", "[::1]:9381"], [11380, 9382, 11381]),
                          (["127.0.0.1:9379", "127.0.0.1:7380", "127.0.0.2:7380"], [11379, 9380, 9381]),
                          (["10.0.0.1:65535", "10.0.0.1:63535"], [63536, 61535]),
                          (["10.0.0.1:7379", "10.0.0.2:7379", "10.0.0.1:7380"], [9379, 9379, 9380])):
        with tempfile.TemporaryDirectory(prefix="sherwood-cluster-") as folder:
            said = run(CLI, "cluster", "create", "--output", f"{folder}/t.json", "--nodes", ",".join(nodes))
        found = [re.search(r"--http-port (\d+)", line) for line in starts(said)]
        equal([int(port[1]) if port else 9379 for port in found], wanted, said)


@case
def start_lines():
    """a shell reads the printed lines as they are; sherwoodd is the one beside sherwood-cli; used ports are reported"""
    with tempfile.TemporaryDirectory(prefix="sherwood-cluster-") as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        used = listener.getsockname()[1]
        path, program = f"{folder}/a 'b/t.json", pathlib.Path(folder, "bin", "sherwood-cli")
        for name in (pathlib.Path(path).parent, program.parent):
            name.mkdir()
        program.symlink_to(CLI)
        said = run(program, "cluster", "create", "--output", path, "--nodes", f"127.0.0.1:{used}")
        check(f"s0: port {used} is in use on this machine: stop the server that has it, or create" in said, said)
        line, = starts(said)
        words = shlex.split(line)
        equal(words[:5], ["mkdir", "-p", f"{folder}/a 'b/s0", "&&", "sherwoodd"], "no sherwoodd is beside this sherwood-cli")
        equal((words[words.index("--cluster-config") + 1], words[-1]), (path, f"{folder}/a 'b/s0"), line)
        pathlib.Path(program.parent, "sherwoodd").symlink_to(BUILD / "sherwoodd")
        said = run(program, "cluster", "create", "--output", f"{folder}/u.json", "--nodes", f"127.0.0.1:{used - 2000}")
        check(f" && {program.parent}/sherwoodd --port {used - 2000} --http-port {used} " in said, said)
        check(f"s0: port {used} is in use on this machine: start the node with another --http-port" in said, said)


EVIL = b"\x1b]0;pwned\x07\x1b[2J\xc2\x9b1mhello"


@contextlib.contextmanager
def evil_node(answer):
    """Yields the port of a node that replies these bytes to each command."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve(connection):
            with connection, contextlib.suppress(OSError):
                while connection.recv(65536):
                    connection.sendall(answer)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@case
def escapes():
    """of the bytes that a node sends only printable ones reach the terminal"""
    status = (b"ha_shard:" + EVIL + b"\r\nha_role:primary\r\nha_primary:" + EVIL + b"\r\nha_members:3" + EVIL +
              b"\r\nha_in_sync_members:" + EVIL + b"\r\n")
    answers = (b"-ERR " + EVIL + b"\r\n", b"+" + EVIL + b"\r\n", b"$%d\r\n%s\r\n" % (len(status), status),
               b"*3\r\n" + 3 * (b"+" + EVIL + b"\r\n"))
    said = 0
    for answer in answers:
        with evil_node(answer) as port:
            cli, load = (CLI, "-p", str(port)), (BUILD / "sherwood-load", "-a", f"127.0.0.1:{port}", "-n", "100")
            commands = [(*cli, *words.split()) for words in (
                "cluster slots", "cluster check", "cluster rebalance --dry-run", "ha status", "ha adopt", "digest", "get 1")]
            commands += [(*load, "--protocol", "resp"), (*load, "--protocol", "resp", "--idle-connections", "1"),
                         ("env", "SHERWOODCLI_AUTH=x", *load, "--protocol", "resp", "--user", "me")]
            for command in commands:
                got = subprocess.run(command, capture_output=True, timeout=60, check=False)
                text = got.stdout + got.stderr
                check(all(byte in b"\r\n\t" or 32 <= byte < 127 for byte in text), f"{command}: {text}")
                said += b"hello" in text
    check(said > 10, f"{said} of the answers were shown")


main()
