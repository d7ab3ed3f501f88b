#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The file of a Unix socket: which server makes it, removes it and owns it."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import wire
from harness import DAEMON, Server, case, check, equal, eventually, flags_with, main, refused


def socket_path(name):
    return os.path.join(tempfile.mkdtemp(prefix="sherwood-"), name)


@case
def unix_socket_file():
    """a Unix socket is served and removed at the end; a stale file is replaced, other files are not"""
    path = socket_path("sherwood.sock")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    with Server("--unix-socket", path):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING")
        refused(*flags_with(unix_socket=path), words=[path])  # in use by a living daemon
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING after that")
    check(not os.path.exists(path), "the file is left")
    pathlib.Path(path).write_text("precious")
    refused(*flags_with(unix_socket=path), words=[path])
    equal(pathlib.Path(path).read_text(), "precious", "a file that is no socket")
    refused(*flags_with(unix_socket="/nonexistent/directory/s"), words=["/nonexistent/directory/s"])
    refused(*flags_with(unix_socket="/tmp/" + "x" * 200), words=["unix-socket"])


@case
def unix_socket_of_another():
    """a server that stops keeps another server's Unix socket; a start does not replace one in use"""
    path = socket_path("shared.sock")
    def ping(at):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(at)
            return wire.Replies(connection).ask("PING")
    first = Server("--unix-socket", path).start()
    os.rename(path, path + ".away")
    with Server("--unix-socket", path):
        first.stop()
        equal(ping(path), "PONG", "the other server, by its path")
        check(os.path.exists(path + ".away"), "the file that was renamed is not looked for")
    check(not os.path.exists(path), "its own is removed")
    shutil.rmtree(first.directory)
    busy = socket.socket(socket.AF_UNIX)
    busy.bind(path)
    busy.listen(0)
    full = []
    while True: # nobody accepts: until no connection has room
        full.append(socket.socket(socket.AF_UNIX))
        full[-1].setblocking(False)
        if full[-1].connect_ex(path) != 0:
            break
    refused(*flags_with(unix_socket=path), words=[path])
    check(os.path.exists(path), "a socket whose server is busy stays")
    for each in (*full, busy):
        each.close()


@case
def only_unix_socket():
    """an empty --bind leaves only the Unix socket, without TCP"""
    path = socket_path("only.sock")
    log = open(os.devnull, "wb")  # pylint: disable=consider-using-with
    process = subprocess.Popen([DAEMON, *flags_with(unix_socket=path, bind="", http_bind="")],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    eventually(lambda: os.path.exists(path), "the socket")
    def ping():
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                return wire.Replies(connection).ask("PING") == "PONG"
        except ConnectionRefusedError:
            return False
    eventually(ping, "PING")
    process.send_signal(signal.SIGTERM)
    equal(process.wait(60), 0, "exit status")
    log.close()


if __name__ == "__main__":
    main()
