# SPDX-License-Identifier: MIT
"""check_module - checks that the libraries of a wheel are fit for it, and prints the wheel's platform.

The extension module, and libsherwood-cuda if the wheel has it, may need only glibc, export only their entry points, and search
no folder of the machine that built them. The platform names the oldest glibc with every symbol, at least 2.17. A module that needs the
system's OpenSSL and protobuf-c runs on machines like this one: its platform is "linux".
"""

import platform
import re
import subprocess
import sys

SYSTEM = ("libssl.so.3", "libcrypto.so.3", "libprotobuf-c.so.1")
ALLOWED = ("libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")


def told(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def needed(module: str) -> "list[str]":
    return re.findall(r"\(NEEDED\).*\[(.*)\]", told("readelf", "--wide", "--dynamic", module))


def problems(module: str) -> "list[str]":
    public = "sherwood_cuda_" if "libsherwood-cuda" in module else "PyInit__native"
    dynamic = told("readelf", "--wide", "--dynamic", module)
    own = ("sw_", "sherwood_", "swpy_", *(() if SYSTEM[2] in needed(module) else ("protobuf_c_",)))
    found = [f"needs the library {name}, which a wheel cannot rely on" for name in needed(module) if name not in ALLOWED + SYSTEM]
    found += [f"searches the folder {path} of this machine: link it without an rpath" for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)]
    for line in told("readelf", "--wide", "--dyn-syms", module).splitlines():
        parts = line.split()
        if len(parts) < 8 or parts[4] not in ("GLOBAL", "WEAK"):
            continue
        if parts[6] != "UND" and not parts[7].startswith(public):
            found.append(f"exports {parts[7]}: only {public} may be global")
        if parts[6] == "UND" and parts[7].startswith(own):
            found.append(f"lacks the function {parts[7]}: add its source file in stage.py")
    return found


def oldest_glibc(module: str) -> "tuple[int, int]":
    text = told("readelf", "--wide", "--version-info", module)
    versions = [(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", text)]
    return max([(2, 17), *versions])


def main() -> int:
    modules = sys.argv[1:]
    found = [f"{module} {problem}" for module in modules for problem in problems(module)]
    for problem in found:
        print(f"check_module: {problem}", file=sys.stderr)
    major, minor = max(map(oldest_glibc, modules))
    kind = "linux" if any(set(needed(module)) & set(SYSTEM) for module in modules) else f"manylinux_{major}_{minor}"
    print(f"{kind}_{platform.machine()}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
