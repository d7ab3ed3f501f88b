#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Connections by TLS: unmodified clients, and other traffic on the port."""

import asyncio
import os
import random
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import warnings

import redis
import redis.asyncio

from certificates import run_signed
from harness import (BUILD, SANITIZED, Bystander, Moves, Server, case, check, drawn_seed, equal, eventually,
                     free_port, main, run)
import wire
from replication import Relay


authority = None
identity = None


def flags(*more):
    cert, key = identity
    return ["--tls-port", str(free_port()), "--tls-cert", str(cert), "--tls-key", str(key), *more]


class TlsServer(Server):
    """A daemon with a TLS port."""

    def __init__(self, *more, **options):
        given = flags(*more)
        self.tls_port = int(given[1])
        super().__init__(*given, **options)

    def tls(self, context=None, name="localhost", timeout=20.0):
        """Returns a socket by TLS."""
        plain = socket.create_connection((self.host, self.tls_port), timeout=timeout)
        return (context or trusting()).wrap_socket(plain, server_hostname=name)

    def tls_cli(self, *arguments, **options):
        return run("redis-cli", "-h", self.host, "-p", self.tls_port, "--tls", "--cacert",
                   authority.ca, *arguments, **options)


def trusting(version=None):
    """Returns a client's context that trusts the test's root."""
    context = ssl.create_default_context(cafile=str(authority.ca))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


@case
def redis_cli_serves_itself():
    """redis-cli --tls: commands and errors work, and the plain port still serves"""
    with TlsServer() as server, Moves(server, tls_handshakes=4, tls_handshake_failures=0):
        equal(server.tls_cli("MSET", "1", "10", "2", "20"), "OK\n")
        equal(server.tls_cli("MGET", "1", "2", "3"), "10\n20\n\n")
        equal(server.redis_cli("GET", "2"), "20\n", "by the plain port")
        check("ERR unknown command" in server.tls_cli("NONSENSE"), "an error")
        check(f"127.0.0.1:{server.tls_port} by TLS" in server.line, server.line)
        lines = "".join(f"SET {i} {i * 3}\n" for i in range(5000))
        answer = server.tls_cli("--pipe", stdin=lines)
        check("errors: 0, replies: 5000" in answer, answer)


@case
def redis_py_sync_and_async():
    """redis-py with ssl=True, synchronous and asynchronous"""
    async def by_async(server):
        client = redis.asyncio.Redis(host=server.host, port=server.tls_port, ssl=True,
                                     ssl_ca_certs=str(authority.ca))
        pipe = client.pipeline(transaction=False)
        for i in range(2000):
            pipe.set(i, i + 7)
        await pipe.execute()
        got = await client.mget(list(range(2000)))
        await client.close()
        return got

    with TlsServer() as server:
        client = redis.Redis(host=server.host, port=server.tls_port, ssl=True,
                             ssl_ca_certs=str(authority.ca), ssl_check_hostname=True)
        equal(client.set(5, 50), True)
        equal(client.get(5), b"50")
        equal(asyncio.run(by_async(server)), [b"%d" % (i + 7) for i in range(2000)])
        equal(client.get(1999), b"2006")
        client.close()


@case
def versions_and_ciphers():
    """TLS 1.2 and 1.3 with authenticated ciphers only; 1.1 and, by option, 1.2 are refused"""
    with TlsServer() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with server.tls(trusting(version)) as connection:
                connection.sendall(b"PING\r\n")
                equal(connection.recv(64), b"+PONG\r\n")
                check("GCM" in connection.cipher()[0] or "CHACHA" in connection.cipher()[0],
                      connection.cipher())
                equal(connection.compression(), None, "compression")
        old = trusting(ssl.TLSVersion.TLSv1_2)
        old.set_ciphers("AES128-SHA:@SECLEVEL=0")
        refused(server, old)
        early = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        early.load_verify_locations(str(authority.ca))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            early.minimum_version = early.maximum_version = ssl.TLSVersion.TLSv1_1
        early.set_ciphers("ALL:@SECLEVEL=0")
        refused(server, early)
    with TlsServer("--tls-min-version", "1.3") as server:
        refused(server, trusting(ssl.TLSVersion.TLSv1_2))
        with server.tls(trusting(ssl.TLSVersion.TLSv1_3)) as connection:
            connection.sendall(b"PING\r\n")
            equal(connection.recv(64), b"+PONG\r\n")


def refused(server, context, why=""):
    """Checks that the handshake fails, or the first read, as TLS 1.3 permits."""
    with Moves(server, tls_handshake_failures=1):
        try:
            with server.tls(context) as connection:
                connection.sendall(b"PING\r\n")
                got = connection.recv(64)
            raise AssertionError(f"it was served: {got!r}")
        except (ssl.SSLError, ConnectionError) as error:
            check(why in str(error), f"{error} says nothing of {why}")


@case
def not_tls():
    """plain text, a bulk frame, HTTP and noise at the TLS port get an error and a log line; others are served"""
    with TlsServer() as server, Bystander(server):
        for text in (b"PING\r\n", b"*1\r\n$4\r\nPING\r\n", b"\xb5rubbish", b"GET / HTTP/1.1\r\n\r\n",
                     b"\x80\x00\x01", bytes(range(23, 250))):
            with Moves(server, tls_handshake_failures=1, connections_closed=1):
                with socket.create_connection((server.host, server.tls_port), 20) as plain:
                    plain.sendall(text)
                    answer = b""
                    while chunk := plain.recv(4096):
                        answer += chunk
                    check(answer.startswith(b"-ERR this port speaks TLS"), answer)
        check("does not speak TLS (first byte 0x50)" in server.log(), server.log())
        with Moves(server, tls_handshake_failures=1, connections_closed=1):
            with socket.create_connection((server.host, server.tls_port), 20) as plain:
                plain.sendall(b"\x16\x03\x01\xff\xff" + b"x" * 70000) # not a valid record
                until_closed(plain)
        check("127.0.0.1:" in server.log().split("TLS handshake with")[1][:20], "the address")


@case
def wrong_certificates():
    """clients refuse an expired certificate, a wrong name and an unknown root; the log says so"""
    authority.stranger()
    expired = authority.sign("expired", days=-1)
    with TlsServer() as server:
        refused(server, ssl.create_default_context(), "certificate verify failed")
        try:
            server.tls(name="elsewhere.example")
            raise AssertionError("a wrong name was taken")
        except ssl.SSLCertVerificationError as error:
            check("Hostname mismatch" in str(error), error)
    more = ["--tls-cert", str(expired[0]), "--tls-key", str(expired[1])]
    with TlsServer(*more) as server:
        check("has expired" in server.log(), server.log())
        try:
            server.tls()
            raise AssertionError("an expired certificate was taken")
        except ssl.SSLCertVerificationError as error:
            check("expired" in str(error), error)
        eventually(lambda: "certificate expired" in server.log(), "the log names the reason")


@case
def renegotiation():
    """a TLS 1.2 client that requests a renegotiation is refused; others are served"""
    with TlsServer() as server, server.tls() as other:
        said = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-tls1_2", "-CAfile", str(authority.ca)],
            input="R\n", text=True, capture_output=True, timeout=60, check=False)
        check("Verification: OK" in said.stdout, said.stdout)
        check("RENEGOTIATING" in said.stderr + said.stdout, said.stderr)
        check("no renegotiation" in said.stderr, said.stderr)
        other.sendall(b"PING\r\n")
        equal(wire.Replies(other).read(), "PONG", "another connection")


@case
def client_certificates():
    """--tls-auth-clients, required and optional: no certificate, an expired and an untrusted one"""
    good, old = authority.sign("a client"), authority.sign("an old client", days=-1)
    authority.stranger()
    strange = authority.sign("a strange client", root="stranger")

    def showing(pair):
        context = trusting()
        context.load_cert_chain(*map(str, pair))
        return context

    ca = ["--tls-ca", str(authority.ca)]
    with TlsServer(*ca, "--tls-auth-clients", "yes") as server, Bystander(server):
        equal(server.tls_cli("--cert", good[0], "--key", good[1], "PING"), "PONG\n")
        refused(server, trusting(), "certificate required")
        refused(server, showing(old), "expired")
        refused(server, showing(strange), "unknown ca")
        check("peer did not return a certificate" in server.log(), server.log())
    with TlsServer(*ca, "--tls-auth-clients", "optional") as server:
        equal(server.tls_cli("PING"), "PONG\n")
        equal(server.tls_cli("--cert", good[0], "--key", good[1], "PING"), "PONG\n")
        refused(server, showing(strange), "unknown ca")


@case
def users_by_certificate():
    """--tls-user-from-cert: the name in a client's certificate is its user, and no other"""
    with tempfile.TemporaryDirectory(prefix="sherwood-users-") as folder:
        acl = os.path.join(folder, "users.acl")
        with open(acl, "w", encoding="ascii") as out:
            out.write("user default off\nuser reader on nopass +@read allkeys\nuser gone off nopass +@all\n")
        os.chmod(acl, 0o600)
        with TlsServer("--tls-ca", str(authority.ca), "--tls-auth-clients", "optional",
                       "--tls-user-from-cert", "yes", "--acl-file", acl) as server:
            def ask(name, *words):
                pair = authority.sign(name) if name else ()
                shown = [part for both in zip(("--cert", "--key"), pair) for part in both]
                return server.tls_cli(*shown, *words)
            equal(ask("reader", "GET", "1"), "\n")
            check("NOPERM" in ask("reader", "SET", "1", "2"), "a reader may not write")
            for other in ("stranger", "gone", None):
                check("NOAUTH" in ask(other, "GET", "1"), f"{other} is nobody")
            check("whose name is not a user" in server.log(), server.log())


@case
def tls_on_the_plain_port():
    """a TLS handshake on the plain port ends at once"""
    with TlsServer() as server, Bystander(server), Moves(server, resp_protocol_errors=1):
        with socket.create_connection((server.host, server.port), 20) as plain:
            try:
                trusting().wrap_socket(plain, server_hostname="localhost")
                raise AssertionError("it was taken for TLS")
            except (ssl.SSLError, ConnectionError):
                pass
        check("speaks TLS to the RESP port" in server.log(), server.log())


@case
def reload_of_certificates():
    """SIGHUP: new connections get the new certificate, open ones go on, a wrong file changes nothing"""
    def serial(server):
        with server.tls() as connection:
            return connection.getpeercert()["serialNumber"]

    cert, key = authority.sign("first")
    files = ["--tls-cert", str(cert), "--tls-key", str(key)]
    for more, noted in (((), True), (("--tls-port", str(free_port())), False), (("--tls-replication", "yes"), False)):
        with Server(*files, *more) as server:
            equal("tls-cert is set and not used, because TLS is off: set --tls-port" in server.log(), noted, server.log())
    with TlsServer(*files, errors="the certificates are unchanged") as server, server.tls() as old:
        first = serial(server)
        second = authority.sign("second")
        whole = key.read_bytes()
        cert.write_bytes(second[0].read_bytes()) # with the key of the first: nonsense
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the certificates are unchanged" in server.log(), "the refusal")
        equal(serial(server), first, "the certificate after a reload that failed")
        key.write_bytes(second[1].read_bytes())
        check(key.read_bytes() != whole, "the test's own files")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: serial(server) != first, "the new certificate")
        old.sendall(b"PING\r\n")
        equal(old.recv(64), b"+PONG\r\n", "a connection from before")


@case
def frames_of_a_mebibyte():
    """bulk frames of 1 MiB both ways arrive whole although the client is slow"""
    draw = random.Random(drawn_seed())
    count = 65536 # keys of 8 bytes and values of 8: 1 MiB
    keys = draw.sample(range(1 << 40), count)
    with TlsServer("--capacity", "4M") as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            values = [draw.getrandbits(64) for _ in keys]
            with server.tls(trusting(version)) as connection:
                request = wire.frame(wire.SET, keys, values)
                at = 0
                while at < len(request): # cut anywhere
                    size = draw.choice((1, 63, 16383, 16384, 16385, 100000))
                    connection.sendall(request[at:at + size])
                    at += size
                equal(wire.read_frame(connection).status, 0, "the set")
                for _ in range(8): # 8 replies of more than a mebibyte wait for their reader
                    connection.sendall(wire.frame(wire.GET, keys, want_values=True))
                time.sleep(0.2)
                for _ in range(8):
                    reply = wire.read_frame(connection)
                    equal(reply.values() == values, True, "the values")


@case
def our_own_clients():
    """libsherwood, sherwood-cli and sherwood-load work by TLS; a wrong name, root, port or certificate fails"""
    cli, load = BUILD / "sherwood-cli", BUILD / "sherwood-load"
    mine = authority.sign("our client")
    with TlsServer() as server:
        trust = ["--cacert", authority.ca]
        where = ["-p", server.tls_port, "--tls"]
        # without --cacert a client uses the system's roots, which SSL_CERT_FILE replaces
        os.environ["SSL_CERT_FILE"] = str(authority.ca)
        try:
            equal(run(cli, *where, "PING"), "PONG\n")
        finally:
            del os.environ["SSL_CERT_FILE"]
        equal(run(cli, *where, *trust, "MSET", 1, 10, 2, 20), "OK\n")
        equal(run(cli, *where, "--insecure", "MGET", 1, 2), "10\n20\n")
        equal(run(cli, "-a", f"tls://127.0.0.1:{server.tls_port}", *trust, "GET", 1), "10\n")
        for wrong, words in ((where, "certificate was refused"), (where, "check the root certificates (--cacert, tls_ca)"),
                             (["-p", server.tls_port], "speaks TLS: connect with TLS"),
                             (where + trust + ["--sni", "elsewhere.example"], "hostname mismatch"),
                             (["-p", server.port, "--tls"] + trust, "check that the port speaks TLS"),
                             (["-p", server.tls_port], "this port speaks TLS"),
                             (["-p", server.port] + trust, "begins with tls://"),
                             (where + ["--cacert", "/nowhere.pem"], "No such file"),
                             (where + trust + ["--cert", mine[0]], "the key is missing"),
                             (where + trust + ["--cert", mine[0], "--key", identity[1]], f"does not match the certificate '{mine[0]}': name the key")):
            said = run(cli, *wrong, "GET", 1, rc=1)
            check(words in said, f"{wrong}: {said}")
        for protocol in ("bulk", "resp"):
            said = run(load, "-a", f"tls://localhost:{server.tls_port}" if localhost() else
                       f"tls://127.0.0.1:{server.tls_port}", *trust, "--protocol", protocol,
                       "-n", 100000)
            check("100,000 values verified: 0 missing, 0 wrong" in said, said)
        said = run(load, "-a", server.address(), *trust, "-n", 1000, rc=None)
        check("tls://" in said, said)
    ca = ["--tls-ca", str(authority.ca), "--tls-auth-clients", "yes"]
    with TlsServer(*ca) as server:
        where = ["-p", server.tls_port, "--tls", "--cacert", authority.ca]
        said = run(cli, *where, "PING", rc=1)
        check("certificate required" in said, said)
        equal(run(cli, *where, "--cert", mine[0], "--key", mine[1], "PING"), "PONG\n")


def passed_on_late(data):
    """For Relay: delays each piece from the server by 50 ms."""
    time.sleep(0.05)
    return data


@case
def far_away():
    """sherwood-cli and sherwood-load do not time out if a handshake passes 512 bytes in 50 ms"""
    with TlsServer() as server, Relay(server.tls_port, passed_on_late, 512) as line:
        where = ["-a", f"tls://127.0.0.1:{line.port}", "--cacert", authority.ca]
        equal(run(BUILD / "sherwood-cli", *where, "PING"), "PONG\n")
        said = run(BUILD / "sherwood-load", *where, "--protocol", "bulk", "-n", 1000)
        check("1,000 values verified: 0 missing, 0 wrong" in said, said)


def localhost():
    """Returns whether this machine knows the name."""
    try:
        return socket.gethostbyname("localhost") == "127.0.0.1"
    except OSError:
        return False


@case
def half_handshakes():
    """1,000 connections that stop during their handshake: memory is bounded, they time out, others are served"""
    hello = client_hello()
    with TlsServer("--tls-handshake-timeout-ms", str(3000 * (2 if SANITIZED else 1)), "--connections-max", "3000") as server:
        with server.tls() as before, Bystander(server):
            rss, files = server.resident_bytes(), server.open_files()
            with Moves(server, tls_handshake_failures=1000, connections_closed=1001):
                halves = []
                for i in range(1000):
                    half = socket.create_connection((server.host, server.tls_port), 20)
                    # nothing, a part of a hello, or a whole one: that also creates the server's side
                    half.sendall((b"", hello[:5], hello[:100], hello)[i % 4])
                    halves.append(half)
                eventually(lambda: server.connections() >= 1001, "all are there")
                grown = server.resident_bytes() - rss
                print(f"# {grown // 1000} bytes a half handshake")
                check(SANITIZED or grown < 1000 * 96 * 1024, f"{grown} bytes for 1,000 half handshakes")
                before.sendall(b"PING\r\n")
                equal(before.recv(64), b"+PONG\r\n", "one that was there before")
                equal(server.tls_cli("PING"), "PONG\n", "one that comes meanwhile")
                eventually(lambda: server.metrics()["sherwood_tls_handshake_failures_total"] >= 1000,
                           "the deadline", 20)
            check(server.open_files() <= files + 4, "their descriptors are closed")
            check("tls-handshake-timeout-ms" in server.log(), server.log())
            for half in halves:
                half.close()


def client_hello():
    """Returns the whole first flight of a client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def bare(connection):
    """Returns the socket under a connection, which goes on without TLS."""
    raw = socket.socket(fileno=connection.detach())
    raw.settimeout(20)
    return raw


def until_closed(raw):
    try:
        while raw.recv(4096):
            pass
    except ConnectionError:
        pass
    raw.close()


@case
def ends():
    """close_notify is sent and accepted; cut streams and damaged ones are counted separately"""
    with TlsServer() as server, Bystander(server):
        with Moves(server, tls_cuts=0, tls_failures=0, connections_closed=1):
            connection = server.tls()
            connection.sendall(b"SET 7 70\r\nGET 7\r\n")
            equal(wire.receive_exactly(connection, 11), b"+OK\r\n$2\r\n70", "replies")
            wire.receive_exactly(connection, 2)
            connection.unwrap().close() # sends ours, and waits for the server's
        with Moves(server, tls_cuts=0, tls_failures=0, connections_closed=1):
            with server.tls() as connection:
                connection.sendall(b"QUIT\r\n")
                equal(wire.receive_exactly(connection, 5), b"+OK\r\n")
                equal(connection.recv(10), b"", "an orderly end") # without close_notify: an error
        with Moves(server, tls_cuts=1, tls_failures=0, connections_closed=1):
            connection = server.tls()
            connection.sendall(b"PING\r\n")
            wire.receive_exactly(connection, 7)
            raw = bare(connection)
            raw.shutdown(socket.SHUT_WR)
            until_closed(raw)
        with Moves(server, tls_cuts=0, tls_failures=1, connections_closed=1):
            connection = server.tls()
            connection.sendall(b"PING\r\n")
            wire.receive_exactly(connection, 7)
            raw = bare(connection)
            raw.sendall(b"\x17\x03\x03\x00\x30" + bytes(48)) # a record with a wrong tag
            until_closed(raw)
        check("bad record mac" in server.log(), server.log())


@case
def load_beside_reloads():
    """certificates are reloaded while clients come, go and stay: no client notices"""
    cert, key = authority.sign("rotating")
    with TlsServer("--tls-cert", str(cert), "--tls-key", str(key), "--capacity", "4M") as server:
        load = subprocess.Popen(
            [BUILD / "sherwood-load", "-a", f"tls://127.0.0.1:{server.tls_port}", "--cacert",
             authority.ca, "-n", "400000", "--protocol", "resp", "-c", "8"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for i in range(6):
            server.process.send_signal(signal.SIGHUP)
            equal(server.tls_cli("SET", str(10**12 + i), "1"), "OK\n")
        said, _ = load.communicate(timeout=120)
        equal(load.returncode, 0, said)
        check("0 missing, 0 wrong" in said, said)
        eventually(lambda: server.log().count("new TLS connections use") >= 1, "the reload")


if __name__ == "__main__":
    run_signed(globals(), main)
