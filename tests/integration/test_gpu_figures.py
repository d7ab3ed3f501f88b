#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Memory and utilisation of the GPU: a daemon with the CUDA backend on the emulator (make emulated-daemon), and a
library in place of the driver's NVML that returns what a file says."""

import json
import re
import shutil
import tempfile

from harness import BUILD, ROOT, Server, case, check, equal, eventually, main, run

EMULATED = BUILD / "emulator" / "sherwoodd"
FLAGS = ("--backend", "cuda", "--capacity", "4K", "--loops", "1")
GIB = 1 << 30
NAMES = ("gpu_memory_used_bytes", "gpu_memory_total_bytes", "gpu_busy_ratio", "gpu_memory_busy_ratio")


class Watched(Server):
    """The daemon with that library; `says` is what it says, "bus-id init total used busy memory-busy"."""

    def __init__(self, says, *flags, library=BUILD / "emulator" / "nvml", **options):
        self.file = tempfile.NamedTemporaryFile("w+", prefix="sherwood-nvml-")
        self.say(says)
        super().__init__(*FLAGS, *flags, program=EMULATED, **options, environment={
            "FAKE_NVML": self.file.name, "LD_LIBRARY_PATH": str(library)})

    def say(self, says):
        self.file.seek(0)
        self.file.write(says + "\n" + " " * 64)
        self.file.flush()

    def gpu(self):
        return json.loads(self.http("/status.json")[2])["gpu"]

    def samples(self):
        samples = self.metrics()
        return [samples.get("sherwood_" + name) for name in NAMES]

    def figures(self):
        text = run(BUILD / "sherwood-cli", "-h", self.host, "-p", self.port, "INFO")
        return {name: int(value) for name, value in re.findall(r"(gpu_\w+)\W+(\d+)", text)}

    def top(self):
        text = run(BUILD / "sherwood-cli", "-h", self.host, "-p", self.port, "top", "--once")
        return [line for line in text.splitlines() if line.startswith("GPU")]


@case
def shown():
    """/metrics, /status.json with its history, STATS and top show NVML's changing values"""
    with Watched(f"0000:0E:00.0 0 {80 * GIB} {20 * GIB} 75 30") as server:
        gpu = eventually(server.gpu, "an answer")
        equal(gpu, {"bus_id": "0000:0e:00.0", "memory_used_bytes": 20 * GIB, "memory_total_bytes": 80 * GIB,
                    "busy_percent": 75, "memory_busy_percent": 30}, "/status.json")
        equal(server.samples(), [20 * GIB, 80 * GIB, 0.75, 0.3], "/metrics")
        equal(server.figures(), {"gpu_memory_used_bytes": 20 * GIB, "gpu_memory_total_bytes": 80 * GIB,
                                 "gpu_busy_percent": 75, "gpu_memory_busy_percent": 30}, "STATS")
        equal(server.top(), ["GPU      20.0 of 80.0 GiB in use, 75 % busy"], "top")
        def column(name):
            return json.loads(server.http("/status.json")[2])["history"][name]
        eventually(lambda: 75 in column("gpu_busy_percent"), "a sample")
        server.say(f"0000:0e:00.0 0 {80 * GIB} {40 * GIB} 0 0")
        eventually(lambda: server.samples() == [40 * GIB, 80 * GIB, 0, 0], "the next answer")
        eventually(lambda: column("gpu_memory_used_bytes")[-1] == 40 * GIB, "the next sample")
        document = (ROOT / "deploy/docs/ref/status.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"^\| `(gpu\.[^`]+)` \|", document, re.M))
        equal(listed, {"gpu." + name for name in server.gpu()}, "status.md")
        check("NVML" not in server.log(), server.log())


@case
def in_part():
    """values that NVML does not return are left out, and the others are shown"""
    with Watched(f"0000:0e:00.0 0 {80 * GIB} {20 * GIB} -3 0") as server:
        gpu = eventually(server.gpu, "an answer")
        equal((gpu["memory_used_bytes"], gpu["busy_percent"]), (20 * GIB, None), "/status.json")
        equal(server.samples(), [20 * GIB, 80 * GIB, None, None], "/metrics")
        equal(sorted(server.figures()), ["gpu_memory_total_bytes", "gpu_memory_used_bytes"], "STATS")
        equal(server.top(), ["GPU      20.0 of 80.0 GiB in use"], "top")
        server.say(f"0000:0e:00.0 0 {80 * GIB} -15 60 5") # as of a GPU that was lost
        eventually(lambda: server.samples() == [None, None, 0.6, 0.05], "the next answer")
        equal(server.top(), ["GPU      60 % busy"], "top")


def absent(server, why):
    """Checks that no GPU value is shown, and that one line of the log says why."""
    eventually(lambda: "NVML" in server.log(), "a line of the log")
    equal((server.gpu(), server.samples(), server.figures()), (None, [None] * 4, {}), "figures")
    equal(server.top(), ["GPU      no figures, because NVML does not reply: see the server's log"], "top")
    for name in NAMES: # the families are there, without a sample
        check(f"# TYPE sherwood_{name} gauge\n" in server.http("/metrics")[2], name)
    lines = [line for line in server.log().splitlines() if "NVML" in line]
    equal(len(lines), 1, lines)
    check(re.search(r"warning: memory and utilisation of the GPU at 0000:0e:00.0 are not shown, because NVML "
                    r"\(libnvidia-ml.so.1\) cannot be used: " + why, lines[0]), lines)


@case
def missing():
    """a missing library, a failing one, or one without this GPU gives one log line with the reason"""
    with tempfile.TemporaryDirectory(prefix="sherwood-nvml-") as empty:
        with Watched("- 0 0 0 0 0", library=empty) as server:
            absent(server, ".*cannot open shared object file")
        shutil.copy(BUILD / "libsherwood.so", f"{empty}/libnvidia-ml.so.1")
        with Watched("- 0 0 0 0 0", library=empty) as server:
            absent(server, "it has no nvmlInit_v2$")
    with Watched("0000:0e:00.0 18 0 0 0 0") as server:
        absent(server, "Driver/library version mismatch$")
    with Watched("0000:0f:00.0 0 0 0 0 0") as server:
        absent(server, "Not Found$")


@case
def stops():
    """SIGTERM stops a daemon that uses NVML, because the driver's thread does not take the signal"""
    with Watched(f"0000:0E:00.0 0 {80 * GIB} {20 * GIB} 75 30", "--max-capacity", "auto") as server:
        check("growing to at most" in server.line, server.line)
        server.stop()
        check("SIGTERM" in server.log(), "it stopped by itself")


@case
def host_memory():
    """a table in host memory has no GPU values, and the daemon does not load NVML"""
    with Server("--backend", "cpu") as server:
        equal(json.loads(server.http("/status.json")[2])["gpu"], None, "/status.json")
        check("GPU" not in run(BUILD / "sherwood-cli", "-p", server.port, "top", "--once"), "top")
        check("NVML" not in server.log(), server.log())


if __name__ == "__main__":
    main()
