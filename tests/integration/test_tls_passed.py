#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sockets for TLS that the service manager passes (FileDescriptorName=tls)."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from certificates import run_signed
from harness import DAEMON, Skip, case, check, equal, eventually, free_port, main, run

authority = None
identity = None


@case
def passed_by_the_service_manager():
    """sockets named tls from the service manager use TLS; without a certificate the start fails"""
    if not shutil.which("systemd-socket-activate"):
        raise Skip("systemd-socket-activate is not installed")
    cert, key = identity

    def activate(names, log, *more):
        """Returns the process, which listens on the ports that are returned with it."""
        for _ in range(5):
            plain, tls = free_port(), free_port()
            log.seek(0)
            log.truncate()
            process = subprocess.Popen(
                ["systemd-socket-activate", "-l", f"127.0.0.1:{plain}", "-l", f"127.0.0.1:{tls}", f"--fdname={names}",
                 str(DAEMON), "--capacity", "1M", "--loops", "1", "--backend", "cpu", "--http-port", "0", *more],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            eventually(lambda: process.poll() is not None or said(log).count("Listening on") == 2, lambda: said(log))
            if process.poll() is None:
                return process, plain, tls
            check("Address already in use" in said(log), said(log))
        raise AssertionError(said(log))

    def said(log):
        return os.pread(log.fileno(), 1 << 20, 0).decode()

    def refused_start(names, *more):
        with tempfile.TemporaryFile() as log:
            process, _, tls = activate(names, log, *more)
            with contextlib.suppress(ConnectionResetError): # the daemon ended before this process ran again
                socket.create_connection(("127.0.0.1", tls), timeout=30).close()
            equal(process.wait(60), 2, said(log))
            return said(log)

    for options in ((), ("--tls-cert", str(cert)), ("--tls-key", str(key))):
        check("passed a socket named tls: tls-cert and tls-key are needed with it" in refused_start("plain:tls", *options), options)
    check("passed a TCP socket that is not named tls" in
          refused_start("plain:tls", "--tls-only", "yes", "--tls-cert", str(cert), "--tls-key", str(key)), "words")
    with tempfile.TemporaryFile() as log:
        process, plain, tls = activate("plain:tls", log, "--tls-cert", str(cert), "--tls-key", str(key))
        try:
            def ask(port, *words, secure=()):
                return run("redis-cli", "-h", "127.0.0.1", "-p", port, *secure, *words, rc=None)
            by_tls = ("--tls", "--cacert", authority.ca)
            eventually(lambda: ask(tls, "SET", "1", "2", secure=by_tls) == "OK\n", "the socket named tls")
            equal(ask(plain, "GET", "1"), "2\n", "the other one")
            check("this port speaks TLS" in ask(tls, "GET", "1"), "without TLS")
            check("not used" not in said(log), "the socket uses the certificate")
            process.send_signal(signal.SIGTERM)
            equal(process.wait(20), 0, "exit status")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    run_signed(globals(), main)
