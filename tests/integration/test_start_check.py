#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files, keys and folders that options name: --check-config finds what would end a start, and no error shows a
password."""

import os
import pathlib
import re
import shutil
import tempfile

import wire
from certificates import Authority
from harness import DAEMON, ROOT, Server, Skip, case, check, equal, flags_with, free_port, main, redis_server, run


class Folder:
    """A folder for files of a case."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-"))
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.path)

    def file(self, name, text="", mode=0o600):
        path = self.path / name
        path.write_text(text, encoding="ascii")
        path.chmod(mode)
        return str(path)


def encrypted(folder, key):
    """Returns a copy of the key that needs a password."""
    path = str(folder.path / "encrypted")
    run("openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:secret", "-out", path)
    return path


def wrong_options(folder, authority):
    """Returns options that every start refuses, each with a word of the error."""
    cert, key = map(str, authority.sign("server"))
    _, other = map(str, authority.sign("other"))
    absent, plain, read_only = str(folder.path / "absent"), folder.file("plain"), folder.path / "read-only"
    read_only.mkdir(mode=0o500)
    tls = ("--tls-port", str(free_port()), "--tls-cert", cert)
    yield from (
        (("--requirepass-file", absent), absent),
        (("--requirepass-file", folder.file("open", "word\n", 0o644)), "is readable by everybody"),
        (("--primary-password-file", absent), "--primary-password-file"),
        (("--acl-file", absent), f"acl-file: {absent}"), (("--acl-file", folder.file("acl", "nonsense\n")), "acl"),
        (("--http-token-file", absent), absent), (("--unix-users", "nonsense"), "unix-users"),
        ((*tls, "--tls-key", absent), absent), ((*tls, "--tls-key", other), "key"),
        (("--tls-port", tls[1], "--tls-cert", key, "--tls-key", key), f"'{key}': the file does not contain it in PEM format"),
        ((*tls, "--tls-key", plain), f"'{plain}': the file does not contain it in PEM format"),
        ((*tls, "--tls-key", encrypted(folder, key)), "it is encrypted: store it without a password"),
        ((*tls, "--tls-key", key, "--tls-ca", absent, "--tls-auth-clients", "yes"), absent),
        (("--tls-replication", "yes", "--tls-ca", absent), "--tls-replication"),
        (("--ha-tls-ca", absent), "--ha-tls-ca"), (("--ha-tls-cert", cert, "--ha-tls-key", other), "--ha-tls-key"),
        (("--replicaof", "nonsense"), "--replicaof"), (("--ha", "etcd://h/p"), "--ha"),
        (("--cluster-config", absent), "--cluster-config"), (("--cluster-config", absent), "sherwood-cli cluster create"),
        (("--cluster-config", folder.file("topology", "{")), "--cluster-config"),
        (("--cluster-config", "etcd://h/p"), "--cluster-config"),
        (("--cluster-state", folder.file("state", "{")), "--cluster-state"),
        (("--data-dir", absent), "--data-dir"), (("--data-dir", plain), "Not a directory: name a directory"),
        (("--unix-socket", f"{absent}/s"), "--unix-socket"), (("--unix-socket", plain), "--unix-socket"))
    if os.geteuid() != 0:
        yield from ((("--data-dir", str(read_only)), "--data-dir"), (("--unix-socket", f"{read_only}/s"), "--unix-socket"))


@case
def wrong_files():
    """a start and --check-config give the same error and exit status 2, after which systemd does not restart"""
    with Folder() as folder, Authority() as authority:
        for options, word in wrong_options(folder, authority):
            said = [run(DAEMON, *flags_with(), *options, *more, rc=2) for more in (("--check-config",), ())]
            check(word in said[0], f"{options}: {said[0]}")
            equal(said[0].split(": ", 1)[1], said[1].split(": ", 1)[1], f"{options}: both")


@case
def beside_the_daemon():
    """--check-config accepts the lock, socket and ports of a running daemon"""
    with Folder() as folder, Authority() as authority:
        cert, key = authority.sign("server")
        with Server("--data-dir", str(folder.path), "--unix-socket", str(folder.path / "s"), "--tls-port", str(free_port()),
                    "--tls-cert", str(cert), "--tls-key", str(key)) as server:
            check(f"data-dir = {folder.path}" in run(DAEMON, *server.flags, "--check-config"), "passed")


@case
def another_user():
    """an error about files of root, or a privileged port, says what to do"""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    lower = ("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all", DAEMON, *flags_with())
    with Folder() as folder:
        folder.file("lock")
        os.chown(folder.path, 65534, 65534)
        for more in (("--check-config",), ()):
            said = run(*lower, "--data-dir", str(folder.path), *more, rc=2)
            check("another user owns it" in said and "chown -R" in said, said)
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
        if int(file.read()) > 1:
            said = run(*lower, "--port", "1", rc=1)
            check("CAP_NET_BIND_SERVICE" in said, said)


@case
def no_passwords():
    """passwords given as in redis are refused, and no error, log line, SLOWLOG or MONITOR shows them"""
    secret = "s3cret"
    with Folder() as folder:
        for number, line in enumerate(("requirepass = s3cret", "requirepass s3cret", "requirepass my=s3cret",
                                       "masterauth s3cret=", "user default on >s3cret=", "[requirepass s3cret]",
                                       "tls-key-file-pass: s3cret")):
            said = run(DAEMON, "--config", folder.file(str(number), f"[server]\n{line}\n"), rc=2)
            check(secret not in said, f"{line}: {said}")
    for flags in (("--requirepass", secret), (f"--requirepass={secret}",), (f"--requirepass {secret}",),
                  ("--masterauth", secret), ("-a", secret), (f"requirepass={secret}",), ("--pass:" + secret,),
                  ("requirepass", secret)):
        said = run(DAEMON, *flags, rc=2)
        check(secret not in said and "check" not in said.split("(")[0], f"{flags}: {said}")
    with Server("--slowlog-log-slower-than", "0") as server, server.connect() as one, server.connect() as two:
        replies, shown = wire.Replies(one), wire.Replies(two)
        equal(shown.ask("MONITOR"), "OK", "MONITOR")
        for words in (("requirepass", secret), ("masterauth", secret), ("requirepass-file", secret),
                      ("log-level", "info", "requirepass", secret)):
            reply = replies.ask("CONFIG", "SET", *words)
            check(isinstance(reply, wire.Error) and secret not in reply, f"{words}: {reply}")
        equal(replies.ask("ECHO", "last"), b"last", "ECHO")
        seen = ""
        while "ECHO" not in seen:
            seen += str(shown.read())
        check(secret not in seen, seen)
        check(secret not in str(replies.ask("SLOWLOG", "GET", "100")), "SLOWLOG")
        check(secret not in str(replies.ask("CONFIG", "GET", "*")), "CONFIG GET")
        check(secret not in str(replies.ask("INFO", "everything")), "INFO")
        check(secret not in server.log(), server.log())


@case
def options_of_redis():
    """each option of redis exists here, or its error says what to write"""
    with redis_server() as path:
        names = run("redis-cli", "-s", path, "CONFIG", "GET", "*").split("\n")[::2]
        version = run("redis-cli", "-s", path, "INFO", "server")
    if "redis_version:7.0." not in version:
        raise Skip("the list is of redis 7.0")
    check(len(names) > 150, names)
    said = run(DAEMON, "--help")
    rows = set(" ".join(re.findall(r'"([^"]+)"', (ROOT / "server/config/redis_options.c").read_text(encoding="utf-8"))).split())
    equal([name for name in names if name and f"  --{name} " not in said and name not in rows], [], "options of redis without a row")
    for name in ("maxmemory", "hz", "tls-dh-params-file", "zset-max-ziplist-value"):
        check(name in names, name)
        error = run(DAEMON, f"--{name}", "x", rc=2)
        check(f"sherwoodd: '--{name}' is an option of redis: " in error, error)


if __name__ == "__main__":
    main()
