# SPDX-License-Identifier: MIT
"""Real etcd and the members of a shard, for tests: three of each on loopback."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

import wire
from harness import SANITIZED, Server, Skip, eventually, free_port
from replication import SMALL, Relay

TTL = 3 if SANITIZED else 1


def has_etcd():
    return shutil.which("etcd") is not None


def needs_etcd(function):
    def run_case():
        if not has_etcd():
            raise Skip("etcd is not installed (Debian's etcd-server)")
        function()
    run_case.__name__, run_case.__doc__ = function.__name__, function.__doc__
    return run_case


class Etcd:
    """Members of etcd with their data in a temporary directory, if possible in memory. With an authority they use TLS
    for clients, which must have a certificate of that authority."""

    host, wrapper = "127.0.0.1", ()

    def __init__(self, count=3, authority=None):
        self.authority = authority
        self.scheme = "http" if authority is None else "https"
        if authority is not None:
            self.identity = authority.sign("etcd")
            self.context = ssl.create_default_context(cafile=authority.ca)
            self.context.load_cert_chain(*authority.sign("asks-etcd"))
        where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = tempfile.mkdtemp(prefix="sherwood-etcd-", dir=where)
        ports = set()
        while len(ports) < 2 * count:
            ports.add(free_port())
        ports = sorted(ports)
        self.clients, self.peers = ports[:count], ports[count:]
        self.processes = [self.spawn(i) for i in range(count)]
        for port in self.clients:
            eventually(lambda port=port: self.answers(port), "etcd answers", 60)

    def spawn(self, i):
        every = ",".join(f"m{j}=http://{self.host}:{port}" for j, port in enumerate(self.peers))
        client, peer = f"{self.scheme}://{self.host}:{self.clients[i]}", f"http://{self.host}:{self.peers[i]}"
        tls = () if self.authority is None else (
            "--cert-file", self.identity[0], "--key-file", self.identity[1], "--client-cert-auth",
            "--trusted-ca-file", self.authority.ca)
        with open(f"{self.directory}/log{i}", "ab") as log:
            return subprocess.Popen(
                [*self.wrapper, "etcd", "--name", f"m{i}", "--data-dir", f"{self.directory}/m{i}",
                 "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", every, "--initial-cluster-state", "new", "--heartbeat-interval", "50",
                 "--election-timeout", "500", "--logger", "zap", "--log-outputs", "stderr", *map(str, tls)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers(self, port):
        with contextlib.suppress(OSError), socket.create_connection((self.host, port), 5) as plain:
            plain.settimeout(5)
            connection = plain if self.authority is None else self.context.wrap_socket(plain, False, True, True,
                                                                                       "localhost")
            connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            answer = b""
            while more := connection.recv(4096):
                answer += more
            return b'"true"' in answer
        return False

    def url(self, shard, more=""):
        members = ",".join(f"{self.host}:{port}" for port in self.clients)
        return f"etcd{self.scheme[4:]}://{members}/sherwood?shard={shard}&ttl={TTL}{more}"

    def signal(self, i, number):
        os.kill(self.processes[i].pid, number)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(30)
        shutil.rmtree(self.directory, ignore_errors=True)


class MemberServer(Server):
    """A daemon that has started even if its shard has no primary."""

    def is_ready(self):
        status, _, text = self.http("/readyz")
        return status == self.ready or "knows no primary" in text


class Member:
    """A server of a shard with a fixed port."""

    touch = ("INCR", 1)  # a write
    options = {}  # of its Server

    def __init__(self, etcd, shard, *flags):
        self.arguments = ("--ha", etcd.url(shard), "--port", str(free_port()), "--http-port", str(free_port()),
                          *SMALL, *flags)
        self.server = None
        self.is_stopped = False
        self.start()

    def start(self):
        self.server = MemberServer(*self.arguments, **self.options).start()
        self.host, self.port, self.name = self.server.host, self.server.port, self.server.address()

    def restart(self):
        self.server.kill()
        self.start()

    def signal(self, number):
        self.server.process.send_signal(number)
        self.is_stopped = number == signal.SIGSTOP

    def ask(self, *words, seconds=20):
        with socket.create_connection((self.host, self.port), seconds) as connection:
            connection.settimeout(seconds)
            return wire.Replies(connection).ask(*words)

    def status(self):
        """Returns the member's HA status; empty if it does not reply."""
        try:
            text = self.ask("HA", "STATUS", seconds=1)
        except (OSError, wire.Closed):
            return {}
        return dict(line.split(":", 1) for line in text.decode().splitlines()) if isinstance(text, bytes) else {}

    def term(self):
        """Returns the highest term that the member knows, once it replies."""
        return int(eventually(lambda: self.status().get("ha_term"), f"{self.name} answers"))

    def is_followed(self, count):
        with socket.create_connection((self.host, self.port), 1) as connection:
            connection.settimeout(1)
            replies = wire.Replies(connection)
            return replies.ask(*self.touch) and replies.ask("WAIT", count, 200) == count

    def end(self):
        self.server.kill()

    def log(self):
        return pathlib.Path(self.server.log_path).read_text(errors="replace")


class Line(Relay):
    """A relay that can be broken: its connections end, and it accepts no others until it is repaired."""

    def __init__(self, port):
        self.broken = threading.Event()
        super().__init__(port)

    def accept(self):
        if self.broken.is_set():
            self.listener.accept()[0].close()
        else:
            super().accept()

    def cut_off(self):
        self.broken.set()
        self.cut()


class Wired(Member):
    """A member that reaches etcd by one relay, and that the others reach by another relay."""

    def __init__(self, etcd, shard, *flags):
        port = free_port()
        self.to_etcd, self.to_peers = Line(etcd.clients[0]), Line(port)
        self.arguments = ("--ha", f"etcd://127.0.0.1:{self.to_etcd.port}/sherwood?shard={shard}&ttl={TTL}"
                                  f"&announce=127.0.0.1:{self.to_peers.port}",
                          "--port", str(port), "--http-port", str(free_port()), *SMALL, *flags)
        self.is_stopped = False
        self.start()

    def start(self):
        super().start()
        self.name = f"127.0.0.1:{self.to_peers.port}"

    def end(self):
        self.server.kill()
        for line in (self.to_etcd, self.to_peers):
            line.__exit__(None, None, None)


class Shard:
    def __init__(self, etcd, name, count, kind=Member):
        self.etcd, self.members = etcd, []
        for _ in range(count):
            self.members.append(kind(etcd, name))

    def primary(self, after=0, seconds=60):
        """Returns the member that serves a later term as primary, once there is one."""
        def look():
            for member in self.members:
                status = {} if member.is_stopped else member.status()
                if status.get("ha_role") == "primary" and int(status["ha_term"]) > after:
                    return member
            return None
        return eventually(look, f"a primary after term {after}", seconds)

    def others(self, member):
        return [m for m in self.members if m is not member]

    def whole(self, seconds=60):
        """Returns the primary once all present members have its writes."""
        def look():
            for member in self.members:
                with contextlib.suppress(OSError, wire.Closed):
                    if member.status().get("ha_role") == "primary" and member.is_followed(len(self.members) - 1):
                        return member
            return None
        return eventually(look, "all members in sync", seconds)

    def end(self):
        for member in self.members:
            member.end()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            for member in self.members:
                print(f"# {member.name}:", *member.log().splitlines()[-25:], sep="\n#   ")
        self.end()


def agree(shard):
    """Waits until all members have the same contents. No client writes meanwhile."""
    primary = shard.whole()
    wanted = primary.ask("DIGEST")
    for member in shard.members:
        eventually(lambda member=member: member.ask("DIGEST") == wanted, f"the digest of {member.name}")
    return primary
