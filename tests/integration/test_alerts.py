#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each alert of deploy/prometheus fires once, because of a real fault of a real daemon that Prometheus scrapes.

Nobody waits for hours here: the rules are deploy's own, except for `for`, which is 0, for windows of minutes, which are WINDOW, and for limits of
seconds, which are 1."""

import contextlib
import copy
import pathlib
import re
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time

import wire
from certificates import Authority
from cluster import node_id, topology
from faults import Faults
from harness import SANITIZED, Server, Skip, case, check, equal, eventually, free_port, main
from prometheus import RULES, Prometheus
from registered import Gateway, url_of
from ring import Ring
from shard import Etcd, needs_etcd

WINDOW = "20s"  # 40 scrapes
TINY = ("--capacity", "1K", "--loops", "1", "--threads", "1", "--frame-ops-max", "1024")


def quick_rules():
    """Returns the rules with short times. A limit of seconds becomes 1."""
    rules = copy.deepcopy(RULES)
    for rule in (rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule):
        rule.pop("for", None)
        rule["expr"] = re.sub(r"\[\d+m\]", f"[{WINDOW}]", rule["expr"])
        rule["expr"] = re.sub(r"((?:lag|silent)_seconds) > \d+", r"\1 > 1", rule["expr"])
    return rules


class Faulty:
    """A daemon with a fault. `alerts` are those that the fault must fire."""

    alerts, flags, options = (), (), {}

    def __init__(self, folder):
        self.folder, self.sockets, self.servers = pathlib.Path(folder) / type(self).__name__, [], []
        self.folder.mkdir()

    def start(self):
        self.server = self.run()

    def run(self, *more, **options):
        """Starts a daemon with these flags, which end() kills."""
        self.servers.append(Server(*TINY, *self.flags, *more, **{"errors": ".", **self.options, **options}))
        return self.servers[-1].start()

    def begin(self):
        """Runs once, after Prometheus has scraped the daemon without a fault."""

    def again(self):
        """Runs until the alerts fire."""

    def ask(self, *words):
        return self.server.ask(*words)

    def fired(self, names):
        """Runs with the alerts that fire now."""

    def connect(self):
        """Returns a connection that stays open."""
        self.sockets.append(self.server.connect())
        return self.sockets[-1]

    def end(self):
        for each in self.sockets:
            each.close()
        for each in self.servers:
            each.kill()
            shutil.rmtree(each.directory, ignore_errors=True)


class Full(Faulty):
    """A table of rows without room."""

    alerts = ("SherwoodTableNearlyFull", "SherwoodRowsNearlyUsed", "SherwoodWritesRefused")
    flags = ("--value-bytes", "8")

    def again(self):
        with self.server.connect() as connection:
            connection.sendall(b"".join(wire.command("SET", key, "12345678") for key in range(1200)))
            replies = wire.Replies(connection)
            check(any(isinstance(replies.read(), wire.Error) for _ in range(1200)), "a full table refuses keys")


class Crowded(Faulty):
    """Keys that are farther from home than the daemon searches."""

    alerts = ("SherwoodStashInUse",)
    flags = ("--max-probe", "1", "--stash", "64", "--max-load", "0.9")

    def begin(self):
        with self.server.connect() as connection:
            connection.sendall(b"".join(wire.command("SET", key, 1) for key in range(850)))
            replies = wire.Replies(connection)
            for _ in range(850):
                replies.read()


class Starved(Faulty):
    """No memory for a larger table."""

    alerts = ("SherwoodGrowthFailed",)
    flags = ("--max-capacity", "1G")

    def begin(self):
        self.replies = wire.Replies(self.connect())  # later there is no memory for a connection
        equal(self.replies.ask("PING"), "PONG", "PING")
        with open(f"/proc/{self.server.pid()}/statm", encoding="ascii") as statm:
            limit = int(statm.read().split()[0]) * resource.getpagesize() + (64 << 20)
        resource.prlimit(self.server.pid(), resource.RLIMIT_AS, (limit, limit))

    def again(self):
        check(str(self.replies.ask("RESIZE", "512M")).startswith("OOM"), "RESIZE")


class Crowd(Faulty):
    """More clients than connections."""

    alerts = ("SherwoodTooManyConnections", "SherwoodConnectionsRejected")
    flags = ("--connections-max", "16")

    def begin(self):
        for _ in range(16):
            self.connect()

    def again(self):
        with contextlib.suppress(OSError):
            self.server.connect().close()


class Hostile(Faulty):
    """Clients without a protocol, TLS or a password, or with unsuitable shared memory; and a pause that nobody ends."""

    alerts = ("SherwoodProtocolErrors", "SherwoodTlsFailures", "SherwoodLoginFailures", "SherwoodRegionsRefused", "SherwoodPaused")

    def start(self):
        with Authority() as authority:
            for name, path in zip(("certificate", "key"), authority.sign("server")):
                shutil.copy(path, self.folder / name)
        self.tls_port = free_port()
        self.server = self.run("--tls-port", str(self.tls_port), "--tls-cert", str(self.folder / "certificate"), "--tls-key",
                            str(self.folder / "key"), "--unix-socket", str(self.folder / "socket"))

    def begin(self):
        equal(self.ask("CLIENT", "PAUSE", 600000, "WRITE"), "OK", "CLIENT PAUSE")

    def again(self):
        for _ in range(10):
            for port, data in ((self.server.port, b"*x\r\n"), (self.tls_port, b"GET / HTTP/1.0\r\n\r\n")):
                with socket.create_connection((self.server.host, port), 20) as connection, contextlib.suppress(OSError):
                    connection.sendall(data)
                    connection.recv(4096)
            check(isinstance(self.ask("AUTH", "nobody", "wrong"), wire.Error), "AUTH")
        with Ring(self.server, region_bytes=0) as ring:
            check(ring.register(index=1 << 30, size=1 << 20).status != wire.OK, "a region beyond the limit")


class Disk(Faulty):
    """A disk that accepts no more bytes."""

    alerts = ("SherwoodNotDurable", "SherwoodSnapshotFailed")

    def start(self):
        self.faults = Faults()
        self.server = self.run("--data-dir", str(self.folder), "--appendonly", "yes", "--log-segment-bytes", "1M",
                            environment=self.faults.environment())

    def begin(self):
        self.faults.write.fail()

    def again(self):
        with self.server.connect(timeout=1) as connection, contextlib.suppress(OSError, wire.Closed):
            connection.sendall(wire.command("SET", 1, 2) + wire.command("BGSAVE"))
            wire.Replies(connection).read()


class Stopping(Faulty):
    """A daemon that was told to stop but cannot write its snapshot yet. Later it ends."""

    alerts = ("SherwoodNotReady", "SherwoodDown")

    def start(self):
        self.faults = Faults()
        self.server = self.run("--data-dir", str(self.folder), environment=self.faults.environment())

    def begin(self):
        equal(self.ask("SET", 1, 2), "OK", "SET")
        self.faults.write.held = 1
        self.server.process.send_signal(signal.SIGTERM)

    def fired(self, names):
        if "SherwoodNotReady" in names:
            self.faults.end()


class Restarted(Faulty):
    """A daemon that crashes and restarts."""

    alerts = ("SherwoodRestarted",)

    def start(self):
        self.ports = ("--port", str(free_port()), "--http-port", str(free_port()))
        self.server = self.run(*self.ports)
        self.next = 0

    def again(self):
        if time.monotonic() > self.next:
            self.server.kill()
            self.server = self.run(*self.ports)
            self.next = time.monotonic() + 10  # Prometheus scrapes it meanwhile


class Left(Faulty):
    """A replica whose primary died."""

    alerts = ("SherwoodReplicaBehind",)

    def start(self):
        self.primary = self.run()
        self.server = self.run("--replicaof", self.primary.address())

    def begin(self):
        self.primary.kill()


class Misled(Faulty):
    """A replica of a server that sends a snapshot of zeros."""

    alerts = ("SherwoodReplicationErrors",)

    def start(self):
        super().start()
        self.liar = socket.create_server(("127.0.0.1", 0))
        self.sockets.append(self.liar)

    def begin(self):
        def lie():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = self.liar.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(4096)
                        connection.sendall(b"+SNAPSHOT " + b"a" * 40 + b" 0 1\r\n" + bytes(1 << 16))
                        connection.recv(1)  # until the replica ends the connection
        threading.Thread(target=lie, daemon=True).start()
        equal(self.ask("REPLICAOF", "127.0.0.1", self.liar.getsockname()[1]), "OK", "REPLICAOF")

    def end(self):
        with contextlib.suppress(OSError):
            self.liar.shutdown(socket.SHUT_RDWR)
        super().end()


class Outside(Faulty):
    """A node that its topology lacks. Later its topology file is unreadable."""

    alerts = ("SherwoodNotInTopology", "SherwoodTopologyRefused")
    options = {"ready": 503}

    def start(self):
        self.file = self.folder / "cluster.json"
        self.file.write_text(topology(1, [{"port": free_port(), "slots": [[0, 16383]]}]), encoding="utf-8")
        self.server = self.run("--cluster-config", str(self.file), "--cluster-node-id", node_id(77), "--cluster-state",
                            str(self.folder / "state.json"))

    def begin(self):
        self.file.write_text("{", encoding="utf-8")

    def again(self):
        self.server.process.send_signal(signal.SIGHUP)


class Silent(Faulty):
    """A node with an etcd that does not reply."""

    alerts = ("SherwoodRegistrySilent",)
    options = {"ready": 503}

    def start(self):
        self.server = self.run("--cluster-config", f"etcd://127.0.0.1:{free_port()}/sherwood", "--cluster-state", str(self.folder / "state.json"))


class Leaderless(Faulty):
    """A member of a shard with an etcd that does not reply."""

    alerts = ("SherwoodShardLeaderless",)
    options = {"ready": 503}

    def start(self):
        self.server = self.run("--ha", f"etcd://127.0.0.1:{free_port()}/sherwood?shard=s0&ttl=1")


class Confused(Faulty):
    """A node whose topology in etcd is invalid."""

    alerts = ("SherwoodRegistryRefused",)
    options = {"ready": 503}

    def start(self):
        self.server = self.run("--cluster-config", url_of(self.etcd), "--cluster-state", str(self.folder / "state.json"))

    def begin(self):
        Gateway(self.etcd).put("nonsense")


class Alone(Faulty):
    """The primary of a shard whose other member died."""

    alerts = ("SherwoodShardAlone",)

    def start(self):
        shard = ("--ha", self.etcd.url("alone"))
        self.server = self.run("--port", str(free_port()), *shard)
        self.other = self.run("--port", str(free_port()), *shard)

    def begin(self):
        eventually(lambda: self.server.metrics()["sherwood_ha_in_sync"] == 1, "a member in sync")
        self.other.kill()


# The first one waits longest before its fault.
ALL = (Alone, Full, Crowded, Starved, Crowd, Hostile, Disk, Stopping, Restarted, Left, Misled, Outside, Silent, Leaderless, Confused)


def firing(prometheus):
    """Returns {instance: names of its alerts}."""
    found = {}
    for alert in prometheus.get("alerts")["alerts"]:
        found.setdefault(alert["labels"]["instance"], set()).add(alert["labels"]["alertname"])
    return found


def wait_for_alerts(prometheus, faulty):
    """Waits until each alert has fired for the daemon with its fault."""
    left = {each: set(each.alerts) for each in faulty}

    def all_fired():
        now = firing(prometheus)
        for each, names in left.items():
            got = now.get(f"{each.server.host}:{each.server.http_port}", set())
            names -= got
            each.fired(got)
            if names:
                each.again()
        return not any(left.values())
    eventually(all_fired, lambda: f"alerts that did not fire: { {type(e).__name__: n for e, n in left.items() if n} }", 90)


@case
def every_alert():
    """every alert of the rules has a fault in this script"""
    named = [alert for each in ALL for alert in each.alerts]
    rules = [rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
    equal(sorted(named), sorted(rules), "alerts with a fault, and alerts of the rules")


@case
@needs_etcd
def fired():
    """each alert fires for the daemon that has its fault"""
    if SANITIZED:
        raise Skip("faults are injected into a plain build")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sherwood-alerts-"))
        Faulty.etcd = stack.enter_context(Etcd(1))
        faulty = []
        for each in ALL:
            faulty.append(each(folder))
            stack.callback(faulty[-1].end)
            faulty[-1].start()
        scraped = pathlib.Path(folder, "prometheus")
        scraped.mkdir()
        prometheus = stack.enter_context(Prometheus([each.server for each in faulty], scraped, rules=quick_rules()))
        eventually(lambda: prometheus.up(1), "a scrape of each")
        for each in faulty:
            each.begin()
        wait_for_alerts(prometheus, faulty)


if __name__ == "__main__":
    main()
