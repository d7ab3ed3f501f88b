#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tls - what TLS costs: gets by bulk frames and by RESP, plain and by TLS, beside the cipher alone.

    bench/serve/tls.py [SECONDS]

The daemon is sherwoodd-null, whose table costs nothing, with one loop; daemon, sherwood-load and openssl
speed come from one run of one machine. A rate by the clock counts what the two shared, on a busy machine
what others took, too; a rate by the server's processor time does not. Prints a line a figure:
name, value, unit.
"""

import argparse
import os
import pathlib
import re
import socket
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from failures import Failed, ended, program_in  # noqa: E402

BUILD = pathlib.Path(__file__).resolve().parents[2] / os.environ.get("SHERWOOD_BUILD", "build")
KEY_BYTES = 8 + 8 + 1 / 8  # of a get: the key, its value, its found bit


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def output_of(*command):
    """What a program printed."""
    done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def cipher_bytes_per_second(cipher):
    output = output_of("openssl", "speed", "-evp", cipher, "-bytes", "16384", "-seconds", "2")
    return float(re.search(r"([\d.]+)k\s*$", output).group(1)) * 1000


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def get(pid, seconds, *options):
    """Keys a second by the clock, and by a second of the server's processor."""
    before = processor_seconds(pid)
    output = output_of(program_in(BUILD, "sherwood-load", "SHERWOOD_BUILD"), "--operation", "get", "--seconds", str(seconds), "-t", "1", *options)
    used = processor_seconds(pid) - before
    keys, rate = re.search(r"^get\s+([\d,]+)\s+([\d,]+)", output, flags=re.M).groups()
    return int(rate.replace(",", "")), int(keys.replace(",", "")) / used


def tell(name, value, unit):
    print(f"{name:32} {value:12.4g} {unit}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=int, nargs="?", default=4, help="of each load (4)")
    seconds = parser.parse_args().seconds
    null = program_in(BUILD, "sherwoodd-null", "SHERWOOD_BUILD")
    if shutil.which("openssl") is None:
        raise Failed("openssl is not installed: install it, it makes the certificate and measures the cipher")
    with tempfile.TemporaryDirectory(prefix="sherwood-tls-") as folder:
        cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
        output_of("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                  "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
        plain, secure = free_port(), free_port()
        with subprocess.Popen([null, "--port", str(plain), "--tls-port", str(secure),
                               "--tls-cert", cert, "--tls-key", key, "--http-bind", "", "--loops", "1",
                               "--capacity", "16M"], stdout=subprocess.PIPE, text=True) as daemon:
            if not daemon.stdout.readline():
                raise Failed("sherwoodd-null did not start: the lines above have its error")
            time.sleep(0.2)
            ways = {"plain": ["-a", f"127.0.0.1:{plain}"],
                    "tls": ["-a", f"tls://127.0.0.1:{secure}", "--cacert", cert]}
            try:
                cipher = cipher_bytes_per_second("aes-128-gcm")
                tell("cipher_aes_128_gcm", cipher, "bytes/s a core")
                tell("cipher_aes_256_gcm", cipher_bytes_per_second("aes-256-gcm"), "bytes/s a core")
                rates = {}
                for way, where in ways.items():
                    bulk = get(daemon.pid, seconds, *where, "-n", "4000000", "-c", "2", "--frames-prefilled", "8")
                    resp = get(daemon.pid, seconds, *where, "-n", "1000000", "-c", "16", "-d", "64", "--protocol",
                               "resp", "--no-verify")
                    rates[way] = bulk, resp
                    tell(f"bulk_get_{way}", bulk[0], "keys/s")
                    tell(f"bulk_get_{way}_processor", bulk[1], "keys a processor second of the server")
                    tell(f"resp_get_p64_{way}", resp[0], "keys/s")
                    tell(f"resp_get_p64_{way}_processor", resp[1], "keys a processor second of the server")
                tell("bulk_tls_to_cipher", rates["tls"][0][1] * KEY_BYTES / cipher, "of the cipher alone")
                tell("bulk_tls_to_cipher_and_sockets",
                     rates["tls"][0][1] / (1 / (1 / rates["plain"][0][1] + KEY_BYTES / cipher)),
                     "of what plain sockets and the cipher take one after the other")
                tell("resp_p64_tls_to_plain", rates["tls"][1][1] / rates["plain"][1][1], "by processor time")
            finally:
                daemon.terminate()


if __name__ == "__main__":
    sys.exit(ended(main))
