#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make install: what it gives users of the library, operators and packagers."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness import BACKEND, BUILD, ROOT, Server, Skip, case, check, equal, main, run


def install(prefix, destdir=""):
    run("make", "-C", ROOT, "--no-print-directory", "install", f"PREFIX={prefix}",
        f"DESTDIR={destdir}", timeout=300)


def files_of(folder):
    return sorted(p.relative_to(folder).as_posix() for p in pathlib.Path(folder).rglob("*")
                  if not p.is_dir())


@case
def example():
    """the examples build with pkg-config's flags alone, and find their million keys"""
    with tempfile.TemporaryDirectory() as prefix, \
            Server("--capacity", "4M", "--unix-socket", prefix + "/socket") as server:
        addresses = {"million.c": server.address(), "region.c": f"unix:{prefix}/socket"}
        install(prefix)
        environment = {**os.environ, "PKG_CONFIG_PATH": prefix + "/lib/pkgconfig",
                       "LD_LIBRARY_PATH": prefix + "/lib"}
        def shell(command):
            result = subprocess.run(command, shell=True, cwd=prefix, env=environment, text=True,
                                    capture_output=True, timeout=120, check=False)
            equal(result.returncode, 0, f"{command}: {result.stderr}")
            return result.stdout
        for name in addresses:
            source = pathlib.Path(prefix, "share/doc/sherwood/examples", name)
            for static in ("", "--static"):
                shell(f"gcc -std=c11 -Wall -Wextra -Werror {source} -o example "
                      f"$(pkg-config --cflags --libs {static} sherwood)")
                shell(f"./example {addresses[name]}")
        equal(server.redis_cli("GET", str(7919 * 3)).strip(), "9", "a key of the example")
        check("-lsherwood-cuda" in shell("pkg-config --libs sherwood-cuda").split(), "sherwood-cuda.pc")
        exported = shell("nm -D --defined-only lib/libsherwood.so | awk '{ print $3 }'").split()
        check(exported and all(n.startswith("sherwood_") for n in exported), f"exports {exported}")


@case
def dropped_results():
    """the compiler warns in C and C++ if a program ignores a result, unless SHERWOOD_MUST_CHECK is empty"""
    program = '#include "sherwood.h"\nvoid f(struct sherwood *c) { sherwood_ping(c); }\n'
    for language in ("c", "c++"):
        for allowed in (False, True):
            option = ["-DSHERWOOD_MUST_CHECK="] if allowed else []
            built = subprocess.run(["gcc", "-x", language, "-Wall", "-Werror", "-Iclient", *option, "-c", "-o", "/dev/null", "-"],
                                   input=program, capture_output=True, text=True, check=False)
            equal(built.returncode == 0, allowed, f"{language}, allowed {allowed}: {built.stderr}")
            check(allowed or "unused-result" in built.stderr, built.stderr)


@case
def device_example():
    """the example of libsherwood-cuda builds if CUDA's headers are installed, and reports a missing GPU"""
    cuda = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    if not (cuda / "include" / "cuda_runtime_api.h").exists():
        raise Skip(f"CUDA's headers are not in {cuda}")
    with tempfile.TemporaryDirectory() as prefix, \
            Server("--capacity", "4M", "--unix-socket", prefix + "/socket") as server:
        install(prefix)
        source = f"{prefix}/share/doc/sherwood/examples/device.c"
        environment = {**os.environ, "PKG_CONFIG_PATH": prefix + "/lib/pkgconfig",
                       "LD_LIBRARY_PATH": f"{prefix}/lib:{cuda}/lib64"}
        built = subprocess.run(f"gcc -std=c11 -Wall -Wextra -Werror {source} -o {prefix}/device -I{cuda}/include "
                               f"-L{cuda}/lib64 $(pkg-config --cflags --libs sherwood-cuda) -lcudart",
                               shell=True, env=environment, capture_output=True, text=True, check=False)
        equal(built.returncode, 0, built.stderr)
        ran = subprocess.run([prefix + "/device", f"unix:{prefix}/socket"], env=environment, timeout=120,
                             capture_output=True, text=True, check=False)
        if BACKEND == "cuda":
            equal((ran.returncode, ran.stdout.count("1000000")), (0, 3), ran.stdout + ran.stderr)
        else:
            check(ran.returncode == 1 and ran.stderr.strip() != "", f"{ran.returncode}: {ran.stderr}")
        print("  it said: " + (ran.stdout + ran.stderr).strip())
        check(server.alive(), "the daemon goes on")


@case
def staged():
    """DESTDIR: every file is installed below it, and no installed text names it"""
    with tempfile.TemporaryDirectory() as stage:
        install("/usr", stage)
        names = files_of(stage)
        for name in ("usr/bin/sherwoodd", "usr/bin/sherwood-cli", "usr/bin/sherwood-load",
                     "usr/include/sherwood.h", "usr/include/sherwood-words.h", "usr/include/sherwood-times.h", "usr/include/sherwood-regions.h", "usr/lib/libsherwood.a", "usr/lib/libsherwood.so",
                     "usr/lib/pkgconfig/sherwood.pc", "usr/include/sherwood-cuda.h", "usr/include/sherwood-cluster.h",
                     "usr/include/sherwood-replicas.h", "usr/include/sherwood-tables.h", "usr/include/sherwood-trace.h",
                     "usr/lib/libsherwood-cuda.so", "usr/lib/pkgconfig/sherwood-cuda.pc", "usr/lib/systemd/system/sherwoodd.service",
                     "etc/sherwood/sherwood.conf"):
            check(name in names, f"{name} is missing from {names}")
        for name in names:
            path = pathlib.Path(stage, name)
            if path.is_symlink() or name.startswith("usr/bin/"):
                continue
            data = path.read_bytes()
            check(stage.encode() not in data or name.endswith(".a"), f"{name} names DESTDIR")
            # In a program's code such bytes come about by chance.
            check(b"\0" in data or not re.search(rb"@[A-Z]+@", data), f"{name}: not filled in")


@case
def manual():
    """the man pages are built, and the daemon's page names every option"""
    if not shutil.which("scdoc"):
        raise Skip("scdoc is not installed")
    with tempfile.TemporaryDirectory() as stage:
        install("/usr", stage)
        pages = {n.rsplit("/", 1)[1] for n in files_of(stage + "/usr/share/man")}
        check({"sherwoodd.8", "sherwood-cli.1", "sherwood-load.1", "libsherwood.3"} <= pages, pages)
        text = pathlib.Path(stage, "usr/share/man/man8/sherwoodd.8").read_text()
        text = text.replace("\\-", "-").replace("\\&", "")
        options = re.findall(r"^\s*--([a-z-]+)", run(stage + "/usr/bin/sherwoodd", "--help"), re.M)
        check(len(options) > 20, options)
        missing = [o for o in options if o not in text]
        check(not missing, f"sherwoodd(8) says nothing of {missing}")


@case
def operator():
    """the daemon accepts the installed configuration, systemd the units, and promtool the rules"""
    with tempfile.TemporaryDirectory() as prefix:
        install(prefix)
        configuration = prefix + "/etc/sherwood/sherwood.conf"
        run(prefix + "/bin/sherwoodd", "--config", configuration, "--check-config")
        if shutil.which("systemd-analyze"):
            units = sorted(pathlib.Path(prefix, "lib/systemd/system").iterdir())
            shown = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units,
                        rc=None)
            ours = [l for l in shown.splitlines() if "sherwood" in l]
            check(not ours, ours)
        for rules in (ROOT / "deploy" / "prometheus").glob("*.rules.yml"):
            run("promtool", "check", "rules", rules)


@case
def hardened():
    """the programs are built with PIE, full RELRO, stack protector, FORTIFY"""
    for program in ("sherwoodd", "sherwood-cli", "sherwood-load"):
        shown = run("readelf", "--wide", "--file-header", "--program-headers", "--dynamic",
                    "--dyn-syms", BUILD / program)
        for what, pattern in (("PIE", r"Type:\s+DYN \(Position-Independent Executable"),
                              ("RELRO", r"^\s*GNU_RELRO\s"), ("immediate binding", r"\bBIND_NOW\b"),
                              ("stack protector", r"\b__stack_chk_fail\b"),
                              ("FORTIFY", r"\b__\w+_chk@GLIBC")):
            check(re.search(pattern, shown, re.M), f"{program} has no {what}:\n{shown}")


@case
def flags_are_added():
    """CFLAGS, CPPFLAGS and LDFLAGS from make or the environment are added to the build's own"""
    target = "build/obj/server/main.o"
    given = {"CFLAGS": "-O3", "CPPFLAGS": "-DGIVEN=1"}
    ways = (([f"{name}={value}" for name, value in given.items()], {}), ([], given))
    for arguments, environment in ways:
        shown = subprocess.run(
            ["make", "-C", ROOT, "-n", "-W", "server/main.c", *arguments, target], text=True,
            env={**os.environ, **environment}, capture_output=True, check=True).stdout
        line = next(l for l in shown.splitlines() if f"-o {target}" in l)
        for flag in ("-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-O2 ", " -O3", "-DGIVEN=1",
                     "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"):
            check(flag in line, f"{flag} is missing: {line}")
        check(line.index(" -O3") > line.index("-O2"), "what is given comes last")
    shown = run("make", "-C", ROOT, "-n", "CFLAGS=-O0", "-W", "server/main.c", target)
    check("-D_FORTIFY_SOURCE" not in shown, "FORTIFY is for optimised code")
    shown = run("make", "-C", ROOT, "-n", "LDFLAGS=-Wl,--given", "-W", "server/main.c", "build/sherwoodd")
    check(re.search(r"-z,relro,-z,now.*-Wl,--given.* -o build/sherwoodd", shown), shown[-2000:])


if __name__ == "__main__":
    main()
