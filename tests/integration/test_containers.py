#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Containerfile agrees with the packages and the daemon."""

import re

from harness import DAEMON, ROOT, case, check, equal, main, run

CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text(encoding="utf-8")


def options_of(text):
    """Returns {option: value} of a configuration."""
    return dict(re.findall(r"^([a-z-]+) = (.*)$", text, re.M))


@case
def images():
    """the Containerfile names the stages, packages, ports and arguments of the packages and the daemon"""
    equal(re.findall(r"^FROM \S+ AS (\w+)$", CONTAINERFILE, re.M), ["base", "cpu", "cuda"], "stages")
    control = (ROOT / "deploy/debian/control.in").read_text(encoding="utf-8")
    packages = set(re.findall(r"^Package: (\S+)$", control, re.M))
    copied = {name for line in re.findall(r"^COPY (.*) /packages/$", CONTAINERFILE, re.M)
              for name in re.findall(r"(\S+)_\*\.deb", line)}
    equal(copied, {"sherwood-server", "sherwood-server-cuda", "sherwood-tools"}, "packages of the images")
    check(copied <= packages, f"{copied - packages} is no package")
    user, = set(re.findall(r"^USER (.*)$", CONTAINERFILE, re.M))
    made = re.search(r"--gid (\d+) .*--uid (\d+)", CONTAINERFILE, re.S).groups()
    equal(user, f"{made[1]}:{made[0]}", "the user that the image makes")
    defaults = options_of(re.sub(r"(?m)^#", "", (ROOT / "deploy/sherwood.conf").read_text(encoding="utf-8")))
    exposed = re.search(r"^EXPOSE (.*)$", CONTAINERFILE, re.M).group(1).split()
    equal(exposed, [defaults["port"], defaults["http-port"]], "ports of the image")
    arguments = re.findall(r'"([^"]*)"', re.search(r"^CMD \[(.*)\]$", CONTAINERFILE, re.M).group(1))
    run(DAEMON, *arguments, "--check-config")


if __name__ == "__main__":
    main()
