#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""HTTP by TLS (--http-tls): curl and Python, other traffic on the port, and the limits."""

import http.client
import json
import signal
import socket
import ssl
import time

from certificates import run_signed
from harness import SLOWER, Moves, Server, at_once, case, check, equal, eventually, main, run

authority = None
identity = None


class HttpsServer(Server):
    """A daemon whose HTTP port speaks TLS."""

    def __init__(self, *more, client=None, **options):
        cert, key = identity
        self.client = client
        super().__init__("--http-tls", "yes", "--tls-cert", str(cert), "--tls-key", str(key), *more, **options)

    def context(self):
        context = ssl.create_default_context(cafile=str(authority.ca))
        if self.client:
            context.load_cert_chain(*map(str, self.client))
        return context

    def http_connection(self):
        return http.client.HTTPSConnection(self.host, self.http_port, timeout=30 * SLOWER, context=self.context())

    def raw(self):
        return socket.create_connection((self.host, self.http_port), timeout=20 * SLOWER)

    def curl(self, path, *options, scheme="https", rc=0):
        return run("curl", "-sS", "--max-time", 20 * SLOWER, *options, f"{scheme}://{self.host}:{self.http_port}{path}",
                   rc=rc)


@case
def pages():
    """curl gets every page by TLS 1.2 and 1.3, several on one connection, HEAD too; an untrusted root is refused"""
    with HttpsServer() as server:
        check("HTTP by TLS on" in server.line, server.line)
        trust = ("--cacert", authority.ca)
        for version in ("--tls-max=1.2", "--tlsv1.3"):
            options = ["--tls-max", "1.2"] if "max" in version else [version]
            equal(server.curl("/healthz", *trust, *options), "ok\n", version)
        check("# TYPE sherwood_ready gauge" in server.curl("/metrics", *trust), "/metrics")
        equal(json.loads(server.curl("/status.json", *trust))["state"], "ready", "/status.json")
        check("<title>Sherwood" in server.curl("/", *trust, "-H", "Accept: text/html"), "the page")
        check(server.curl("/readyz", *trust, "-I").startswith("HTTP/1.1 200"), "HEAD")
        said = server.curl("/healthz", *trust, "-v", f"https://{server.host}:{server.http_port}/readyz")
        check("Re-using existing connection" in said and said.count("HTTP/1.1 200 OK") == 2, said)
        with Moves(server, tls_handshake_failures=1):
            check("certificate" in server.curl("/healthz", rc=60), "a root that is not trusted")
        with Moves(server, tls_handshake_failures=1):
            server.curl("/healthz", *trust, "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0", rc=35)
        check("TLS handshake with 127.0.0.1 for HTTP failed: " in server.log(), server.log())


@case
def whole_replies():
    """pipelined replies arrive whole although the client reads slowly"""
    count = 20
    with HttpsServer() as server:
        with server.context().wrap_socket(server.raw(), server_hostname="localhost") as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * (count - 1) +
                               b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = b""
            while chunk := connection.recv(16384):
                got += chunk
                time.sleep(0.02)
        check(len(got) > 500000, f"{len(got)} bytes")
        replies = got.split(b"HTTP/1.1 200 OK\r\n")[1:]
        equal(len(replies), count, "replies")
        for reply in replies:
            head, body = reply.split(b"\r\n\r\n", 1)
            equal(len(body), int(head.split(b"Content-Length: ")[1].split(b"\r")[0]), "a reply's length")


@case
def not_tls():
    """plain HTTP gets an error that names https, noise and cut connections a log line; others are served"""
    with HttpsServer() as server:
        with Moves(server, tls_handshake_failures=1):
            said = server.curl("/healthz", "-i", scheme="http")
            check(said.startswith("HTTP/1.1 400 ") and said.endswith("This port speaks TLS: use https.\n"), said)
        check("does not speak TLS (first byte 0x47)" in server.log(), server.log())
        with Moves(server, tls_handshake_failures=2):
            for noise in (b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01"):
                with server.raw() as connection:
                    connection.sendall(noise)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(100):
                        pass
        equal(server.http("/healthz")[0], 200, "another")


@case
def client_certificates():
    """--tls-auth-clients yes: a client without a certificate, or with an untrusted one, gets no page"""
    client = authority.sign("prometheus")
    authority.stranger()
    stranger = authority.sign("someone", root="stranger")
    flags = ("--tls-ca", str(authority.ca), "--tls-auth-clients", "yes")
    with HttpsServer(*flags, client=client) as server:
        equal(server.http("/metrics")[0], 200, "with a certificate")
        server.client = stranger
        equal(server.http("/metrics"), (0, {}, ""), "with a stranger's")
        server.client = None
        equal(server.http("/healthz"), (0, {}, ""), "without one")
        server.client = client


@case
def token_and_reload():
    """pages require the bearer token; after SIGHUP new connections get the new certificate"""
    with HttpsServer() as server:
        cert, key = identity
        first = ssl.PEM_cert_to_DER_cert(cert.read_text())

        def shown():
            with server.context().wrap_socket(server.raw(), server_hostname="localhost") as connection:
                return connection.getpeercert(True)
        equal(shown(), first, "the certificate")
        saved = [path.read_bytes() for path in identity]
        try:
            for path, new in zip(identity, authority.sign("renewed")):
                path.write_bytes(new.read_bytes())
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: shown() != first, "the new certificate")
        finally:
            for path, old in zip((cert, key), saved):
                path.write_bytes(old)
    token = authority.folder / "token"
    token.write_text("secret-word\n", encoding="ascii")
    token.chmod(0o600)
    with HttpsServer("--http-token-file", str(token)) as server:
        equal(server.http("/metrics")[0], 401, "without the token")
        equal(server.http("/metrics", headers={"Authorization": "Bearer secret-word"})[0], 200, "with it")
        equal(server.http("/healthz")[0], 200, "/healthz")


@case
def half_handshakes():
    """300 connections that stop during their handshake are closed and freed, and others are served"""
    with HttpsServer("--http-connections-max", "16", "--http-timeout-ms", "1500") as server:
        equal(server.http("/healthz")[0], 200, "before")
        files, memory = server.open_files(), server.resident_bytes()
        silent = [server.raw() for _ in range(300)]
        for connection in silent[::2]:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")
        equal(server.http("/readyz")[0], 200, "beside them")
        check(server.open_files() <= files + 40, f"{server.open_files()} files, {files} before")
        check(server.resident_bytes() - memory < 16 * 2**20 * SLOWER, "memory")
        eventually(lambda: server.open_files() <= files, "all are closed")
        for connection in silent:
            connection.close()
        # likewise those that have shaken hands, and then say nothing
        quiet = [server.context().wrap_socket(server.raw(), server_hostname="localhost") for _ in range(40)]
        equal(server.http("/readyz")[0], 200, "beside them")
        eventually(lambda: server.open_files() <= files, "all are closed")
        for connection in quiet:
            connection.close()
        check(server.metrics()["sherwood_http_evictions_total"] >= 300 - 32, "evictions")


@case
def many():
    """16 clients send 400 requests at once, each on its own connection, and all are answered"""
    with HttpsServer() as server:
        files = server.open_files()
        answers = [answer[0] for answer in at_once(server.http, [("/metrics",), ("/status.json",), ("/readyz",)] * 134, 16)]
        equal(set(answers), {200}, "answers")
        eventually(lambda: server.open_files() <= files, "all are closed")


if __name__ == "__main__":
    run_signed(globals(), main)
