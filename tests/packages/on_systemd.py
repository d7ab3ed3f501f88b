#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""on_systemd - the packages under a real systemd: run by tests/packages/boot, as root, in a copy that is thrown away.

Arguments after the folder of the packages are names of cases; each leaves the service as configured() has it.
"""

import contextlib
import glob
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, "/src/tests/integration")

import wire  # noqa: E402
from harness import case, check, equal, eventually, main, parse_metrics, run  # noqa: E402

PACKAGES = sys.argv.pop(1)
CONFIG = pathlib.Path("/etc/sherwood/sherwood.conf")
STATE = pathlib.Path("/var/lib/sherwood")
SOCKET = "/run/sherwood/sherwood.sock"


def options(persistence="", server="", slots="64K"):
    """A configuration of a small table."""
    return (f"[table]\ncapacity = {slots}\n[limits]\narena-bytes = 16M\nconnections-max = 100\n"
            f"[server]\nloops = 1\n{server}[persistence]\n{persistence}")


SAVED = options("data-dir = /var/lib/sherwood\n")
DURABLE = options("data-dir = /var/lib/sherwood\nappendonly = yes\nlog-segment-bytes = 1M\n")


def package(name):
    """The file of a package."""
    found = glob.glob(f"{PACKAGES}/{name}_*.deb")
    equal(len(found), 1, f"{name} in {PACKAGES}")
    return found[0]


def dpkg(*arguments):
    return run("dpkg", "--force-confdef", "--force-confold", *arguments, timeout=120)


def ctl(*arguments, rc=0):
    return run("systemctl", *arguments, rc=rc)


def show(name, unit="sherwoodd.service"):
    return ctl("show", "--value", "-p", name, unit).strip()


def journal(unit="sherwoodd.service"):
    run("journalctl", "--sync")
    return run("journalctl", "--no-pager", "-o", "cat", "-u", unit)


def ask_once(*arguments, port=7379, path=None):
    """The reply to one RESP command on a connection of its own."""
    connection = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    connection.settimeout(20)
    with connection:
        connection.connect(path or ("127.0.0.1", port))
        return wire.Replies(connection).ask(*arguments)


def ask(*arguments, **where):
    """The same, asked again while the daemon loads its data."""
    while True:
        reply = ask_once(*arguments, **where)
        if not (isinstance(reply, wire.Error) and reply.startswith("LOADING ")):
            return reply
        time.sleep(0.02)


def serves(**where):
    try:
        return ask("PING", **where) == "PONG"
    except (OSError, wire.Closed):
        return False


def drop_in(text, unit="sherwoodd.service"):
    """Settings over the unit's own; an empty text takes them away."""
    folder = pathlib.Path(f"/etc/systemd/system/{unit}.d")
    shutil.rmtree(folder, ignore_errors=True)
    if text:
        folder.mkdir(parents=True)
        (folder / "test.conf").write_text("[Service]\n" + text, encoding="utf-8")
    ctl("daemon-reload")


def configured(text=DURABLE, settings=""):
    """The service, started anew with these options, with an empty table."""
    ctl("stop", "sherwoodd.socket", "sherwoodd.service")
    ctl("reset-failed", rc=None)
    for entry in STATE.glob("*"):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    CONFIG.write_text(text, encoding="utf-8")
    drop_in(settings)
    shown = ctl("start", "sherwoodd.service", rc=None)
    equal(show("ActiveState"), "active", f"{shown} {journal()[-1500:]}")


def fill(count):
    pairs = [number for key in range(count) for number in (key, key * 7)]
    equal(ask("MSET", *pairs), "OK", "MSET")


def filled(count, **where):
    equal(ask("DBSIZE", **where), count, "DBSIZE")
    equal(ask("MGET", *range(count), **where), [b"%d" % (key * 7) for key in range(count)], "values")


def restarted_after(act, times, reason):
    """The service is back by itself, in another process, after what act does to it."""
    before, restarts = show("MainPID"), int(show("NRestarts"))
    act(int(before))
    eventually(lambda: int(show("NRestarts")) == restarts + times and serves(), reason, 20)
    check(show("MainPID") != before, "another process")


@case
def installed():
    """dpkg installs the packages: user, directories, service enabled and started; the tools reach it"""
    dpkg("-i", *map(package, ("sherwood-server", "libsherwood0", "libsherwood-dev", "sherwood-tools", "python3-sherwood", "sherwood-doc")))
    equal([show(name) for name in ("ActiveState", "SubState", "UnitFileState", "Type", "NotifyAccess")],
          ["active", "running", "enabled", "notify", "main"], "the service")
    equal(show("UnitFileState", "sherwoodd.socket"), "disabled", "the sockets")
    user = pwd.getpwnam("sherwood")
    equal((user.pw_dir, user.pw_shell), ("/nonexistent", "/usr/sbin/nologin"), "the user")
    state = STATE.stat()
    equal((state.st_uid, stat.S_IMODE(state.st_mode)), (user.pw_uid, 0o700), "the state directory")
    cache = pathlib.Path("/var/cache/sherwood").stat()
    equal((cache.st_uid, stat.S_IMODE(cache.st_mode)), (user.pw_uid, 0o700), "what the driver's compiled code is kept in")
    check("127.0.0.1:7379" in show("StatusText"), show("StatusText"))
    equal(run("sherwood-cli", "SET", "1", "10"), "OK\n", "sherwood-cli")
    equal(ask("GET", 1), b"10", "GET")
    run("sherwood-load", "--keys", "10000", timeout=60)
    shutil.copy("/usr/share/doc/libsherwood-dev/examples/million.c", "/root")
    flags = run("pkg-config", "--cflags", "--libs", "sherwood").split()
    run("gcc", "/root/million.c", "-o", "/root/million", *flags)
    check("libsherwood.so.0 => /lib/" in run("ldd", "/root/million"), "the library that programs find")


PROGRAM = """
import importlib.metadata, numpy, sherwood
with sherwood.connect("127.0.0.1:7379") as client:
    keys = numpy.arange(100_000)
    client.set_many(keys, keys * 3)
    values, found = client.get_many(keys)
    assert found.all() and (values == keys * 3).all()
print(sherwood.__file__, importlib.metadata.version("sherwood") == sherwood.__version__)
"""


@case
def from_python():
    """python3-sherwood: a program of another user imports it and uses the daemon; a purge leaves nothing of it"""
    module = pathlib.Path("/usr/lib/python3/dist-packages/sherwood")
    configured(options(slots="256K"))
    shown = run("runuser", "-u", "nobody", "--", "/usr/bin/python3", "-I", "-c", PROGRAM)
    equal(shown, f"{module}/__init__.py True\n", "the module")
    check(list(module.glob("__pycache__/*.pyc")), "it is compiled")
    dpkg("-P", "python3-sherwood")
    equal([path.name for path in module.parent.glob("sherwood*")], [], "after a purge")


@case
def confined():
    """the sandbox: no capability, no new privileges, system calls filtered; exposure at most 2.0"""
    pid = show("MainPID")
    fields = dict(line.split(":\t", 1) for line in
                  pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines())
    equal((int(fields["CapEff"], 16), int(fields["CapBnd"], 16), fields["NoNewPrivs"], fields["Seccomp"]),
          (0, 0, "1", "2"), "/proc/PID/status")
    equal(os.stat(f"/proc/{pid}").st_uid, pwd.getpwnam("sherwood").pw_uid, "its user")
    for unit in ("sherwoodd.service", "sherwoodd@gpu0.service"):
        shown = run("systemd-analyze", "security", "--no-pager", "--threshold=20", unit)
        print("#", re.search(r"Overall exposure level.*: [0-9.]+", shown).group(0))


@case
def upgraded():
    """an upgrade with dpkg: no key is lost, what an operator has changed stays, instances restart, too"""
    configured(SAVED + "# an operator's line\n")
    pathlib.Path("/etc/sherwood/other.conf").write_text(
        options("data-dir = /var/lib/sherwood/other\n", "port = 7400\nhttp-port = 9400\n"), encoding="utf-8")
    ctl("start", "sherwoodd@other.service")
    fill(1000)
    equal(ask("SET", 5, 6, port=7400), "OK", "SET by the instance")
    before = [show("MainPID"), show("MainPID", "sherwoodd@other.service")]
    with repacked("sherwood-server", lambda root: replace(root / "DEBIAN/control", r"(?m)^(Version: .*)$", r"\1+next"),
                  lambda root: replace(root / "etc/sherwood/sherwood.conf", r"\Z", "# a new default\n")) as newer:
        shown = dpkg("-i", newer)
    check("+next" in run("dpkg-query", "-W", "-f", "${Version}", "sherwood-server"), shown)
    filled(1000)
    equal(ask("GET", 5, port=7400), b"6", "the instance's key")
    after = [show("MainPID"), show("MainPID", "sherwoodd@other.service")]
    check(before[0] != after[0] and before[1] != after[1] and "0" not in after, f"processes {before}, {after}")
    check("# an operator's line" in CONFIG.read_text(encoding="utf-8"), "the configuration is kept")
    ctl("stop", "sherwoodd@other.service")


def replace(path, pattern, text):
    path.write_text(re.sub(pattern, text, path.read_text(encoding="utf-8")), encoding="utf-8")


@contextlib.contextmanager
def repacked(name, *changes):
    """A package with something changed in it: each of changes is called with the unpacked folder."""
    root = pathlib.Path("/root/repacked")
    run("dpkg-deb", "-R", package(name), root)
    for change in changes:
        change(root)
    run("dpkg-deb", "-b", "-Znone", root, "/root/repacked.deb")
    yield "/root/repacked.deb"
    shutil.rmtree(root)
    os.unlink("/root/repacked.deb")


@case
def watched():
    """the watchdog: a daemon that hangs (SIGSTOP) is killed and started again, with the keys of its log"""
    configured(settings="WatchdogSec=2\n")
    equal(show("WatchdogUSec"), "2s", "WatchdogSec")
    fill(500)
    restarted_after(lambda pid: os.kill(pid, signal.SIGSTOP), 1, "restarted by the watchdog")
    check("Watchdog timeout" in journal(), "the journal says why")
    filled(500)


@case
def reloaded():
    """systemctl reload: what may change has changed, in the same process, and the journal says what"""
    configured()
    fill(10)
    before = show("MainPID")
    CONFIG.write_text(DURABLE.replace("connections-max = 100", "connections-max = 50"), encoding="utf-8")
    ctl("reload", "sherwoodd.service")
    eventually(lambda: "50" in str(ask("CONFIG", "GET", "maxclients")), "the new limit")
    filled(10)
    equal(show("MainPID"), before, "the process")
    eventually(lambda: "connections-max" in journal(), "the journal says what changed")


@case
def killed():
    """kill -9: started again, nothing that was answered is lost"""
    configured()
    fill(500)
    restarted_after(lambda pid: os.kill(pid, signal.SIGKILL), 1, "restarted after a kill")
    filled(500)


@case
def extended():
    """EXTEND_TIMEOUT: a start that loads for longer than TimeoutStartSec is not ended while it goes on"""
    configured(options("data-dir = /var/lib/sherwood\n", slots="8M"), "TimeoutStartSec=2\n")
    run("sherwood-load", "--keys", "4000000", timeout=60)

    def loading():
        try:
            with urllib.request.urlopen("http://127.0.0.1:9379/metrics", timeout=5) as reply:
                samples = parse_metrics(reply.read().decode())
        except OSError:
            return None
        if samples["sherwood_ready"] == 1:
            return "ready"
        return "partly" if samples["sherwood_persistence_loading_percent"] > 0 else None

    def start():
        ctl("stop", "sherwoodd.service")
        ctl("start", "--no-block", "sherwoodd.service")
        return eventually(loading, "loads")
    # It may be ready before the first look.
    check(any(start() == "partly" for _ in range(10)), "a daemon that loads")
    # Held for longer than the limit, whatever the speed of this machine.
    pid = int(show("MainPID"))
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    equal((show("ActiveState"), int(show("MainPID"))), ("activating", pid), "after 3 s")
    os.kill(pid, signal.SIGCONT)
    equal(ask("DBSIZE"), 4000000, "keys")
    eventually(lambda: show("ActiveState") == "active", "started")
    equal((int(show("MainPID")), show("NRestarts")), (pid, "0"), "the same process")


@case
def wrong_options():
    """wrong options: the start fails with status 2 and is not tried again; the journal names the line"""
    configured()
    CONFIG.write_text("[server]\nport = many\n", encoding="utf-8")
    ctl("restart", "sherwoodd.service", rc=1)
    equal([show(name) for name in ("ActiveState", "ExecMainStatus", "NRestarts")], ["failed", "2", "0"], "the service")
    check(re.search(r"sherwood.conf:2: .*port", journal()), "the journal says why")
    configured()


@case
def activated():
    """sockets: the first connection starts the service; while it restarts connections wait, none is refused"""
    configured()
    ctl("stop", "sherwoodd.service")
    ctl("start", "sherwoodd.socket")
    equal(show("ActiveState"), "inactive", "before a connection")
    equal(ask("SET", 1, 2, path=SOCKET), "OK", "the first connection")
    equal(show("ActiveState"), "active", "after it")
    owner = os.stat(SOCKET)
    equal((owner.st_uid, stat.S_IMODE(owner.st_mode)), (pwd.getpwnam("sherwood").pw_uid, 0o660), "the Unix socket")
    failures, count, going = [], [0], [True]

    def connect():
        while going[0]:
            try:
                equal(ask("GET", 1), b"2", "GET by TCP")
                equal(ask("GET", 1, path=SOCKET), b"2", "GET by the Unix socket")
                count[0] += 1
            except wire.Closed:
                pass  # it was connected to the daemon that stopped
            except (OSError, AssertionError) as failure:
                failures.append(failure)
    client = threading.Thread(target=connect)
    client.start()
    for _ in range(3):
        at = count[0]
        ctl("restart", "sherwoodd.service")
        eventually(lambda: count[0] > at + 5, "served again")
    going[0] = False
    client.join()
    equal(failures, [], "connections while it restarts")
    ctl("stop", "sherwoodd.service")
    equal(ask("GET", 1, path=SOCKET), b"2", "the sockets outlive the service")


@case
def tried_again():
    """a start that fails for another reason than its options is tried again, for longer than systemd's own limit"""
    configured(settings="RestartSec=100ms\n")
    STATE.chmod(0o700)
    (STATE / "lock").unlink(missing_ok=True)
    drop_in("RestartSec=100ms\nReadOnlyPaths=/var/lib/sherwood\n")
    ctl("restart", "sherwoodd.service", rc=1)
    eventually(lambda: int(show("NRestarts")) >= 8, "more than five starts", 20)
    drop_in("")
    eventually(serves, "it serves when the reason is gone", 20)


@case
def instances():
    """sherwoodd@: two daemons beside each other, each with its configuration, directories and restarts"""
    configured()
    ports = {"gpu0": 7380, "gpu1": 7381}
    for name, port in ports.items():
        pathlib.Path(f"/etc/sherwood/{name}.conf").write_text(
            options(f"data-dir = /var/lib/sherwood/{name}\n", f"port = {port}\nhttp-port = {port + 2000}\n"
                    f"unix-socket = /run/sherwood/{name}/sherwood.sock\n"), encoding="utf-8")
        ctl("start", f"sherwoodd@{name}.service")
    for name, port in ports.items():
        equal(ask("SET", 1, port, port=port), "OK", name)
        check(name in show("Description", f"sherwoodd@{name}.service"), name)
    ctl("restart", "sherwoodd@gpu0.service")
    ctl("stop", "sherwoodd@gpu1.service")
    equal(ask("GET", 1, path="/run/sherwood/gpu0/sherwood.sock"), b"7380", "gpu0")
    check(not serves(port=7381), "gpu1 is stopped")
    equal(ask("GET", 1), None, "the daemon without a name has nothing of theirs")
    ctl("start", "sherwoodd@gpu1.service")
    equal(ask("GET", 1, port=7381), b"7381", "gpu1")
    ctl("stop", "sherwoodd@gpu0.service", "sherwoodd@gpu1.service")


@case
def credentials():
    """credentials: a password in /etc/credstore is asked for, nobody but the daemon reads it; it may be absent"""
    store = pathlib.Path("/etc/credstore")
    store.mkdir(mode=0o700, exist_ok=True)
    secret = store / "sherwood.password"
    secret.write_text("a secret\n", encoding="utf-8")
    secret.chmod(0o600)
    configured(DURABLE.replace("[server]\n", "[server]\nrequirepass-file = sherwood.password\n"))
    check(str(eventually(lambda: ask("GET", 1), "a reply")).startswith("NOAUTH"), "a password is asked for")
    equal(ask("AUTH", "a secret"), "OK", "with it")
    secret.write_text("another\n", encoding="utf-8")
    ctl("restart", "sherwoodd.service")
    check(str(ask("AUTH", "a secret")).startswith("WRONGPASS"), "the one before")
    equal(ask("AUTH", "another"), "OK", "a new one, after a restart")
    copy = pathlib.Path("/run/credentials/sherwoodd.service/sherwood.password")
    pathlib.Path("/etc/sherwood/one.conf").write_text(options("", "port = 7390\nhttp-port = 9390\n"), encoding="utf-8")
    (store / "sherwood.one.password").write_text("of one\n", encoding="utf-8")
    ctl("start", "sherwoodd@one.service")
    equal(pathlib.Path("/run/credentials/sherwoodd@one.service/sherwood.password").read_text(encoding="utf-8"),
          "of one\n", "an instance has its own")
    ctl("stop", "sherwoodd@one.service")
    equal(run("runuser", "-u", "sherwood", "--", "cat", copy), "another\n", "as the daemon's user")
    shown = run("runuser", "-u", "nobody", "--", "cat", copy, rc=1)
    check("Permission denied" in shown, shown)
    secret.unlink()
    configured()
    check(not copy.exists(), "no credential, and no file")


@case
def purged():
    """apt's remove keeps data and configuration, an installation finds them, purge leaves nothing behind"""
    configured()
    fill(100)
    dpkg("-r", "sherwood-server")
    check(not serves() and CONFIG.exists() and any(STATE.iterdir()), "removed, but for data and configuration")
    equal(ctl("is-active", "sherwoodd.service", rc=None).strip(), "inactive", "the service")
    dpkg("-i", package("sherwood-server"))
    filled(100)
    purge_without_traces("sherwood-server")


def purge_without_traces(name):
    drop_in("")
    shutil.rmtree(CONFIG.parent / "none", ignore_errors=True)
    for left in CONFIG.parent.glob("*.conf*"):
        if left.name != "sherwood.conf":
            left.unlink()
    dpkg("-P", name)
    check(not serves(), "purged")
    left = [path for path in ("/etc/sherwood", "/var/lib/sherwood", "/var/cache/sherwood", "/usr/bin/sherwoodd",
                              "/etc/systemd/system/multi-user.target.wants/sherwoodd.service") if os.path.lexists(path)]
    equal(left, [], "after a purge")


@case
def variants():
    """sherwood-server-cuda takes the place of sherwood-server, and the data stay, also when that is purged"""
    dpkg("-i", package("sherwood-server"))
    configured()
    fill(100)
    if glob.glob(f"{PACKAGES}/sherwood-server-cuda_*.deb"):
        change_to_cuda(package("sherwood-server-cuda"))
        return
    # No nvcc: the same package under the other's name and with its relations.
    with repacked("sherwood-server", lambda root: replace(
            root / "DEBIAN/control", r"(?m)^Package: .*$", "Package: sherwood-server-cuda\nProvides: sherwood-server\n"
            "Conflicts: sherwood-server\nReplaces: sherwood-server")) as other:
        change_to_cuda(other)


def change_to_cuda(file):
    # As apt does: one run removes the old package and installs the new one.
    run("dpkg", "--force-confold", "--force-confdef", "--auto-deconfigure", "-B", "-i", file, timeout=120)
    filled(100)
    equal(run("dpkg-query", "-W", "-f", "${db:Status-Status}", "sherwood-server"), "config-files", "sherwood-server")
    dpkg("-P", "sherwood-server")
    check(any(STATE.iterdir()) and CONFIG.exists(), "the purge of the one takes nothing from the other")
    ctl("restart", "sherwoodd.service")
    filled(100)
    purge_without_traces("sherwood-server-cuda")


if __name__ == "__main__":
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL)
    main()
