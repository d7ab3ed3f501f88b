#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""deploy/docs/ref: the pages that deploy/reference/write makes are those of the sources.

test_metrics.py compares metrics.md, test_status.py status.md, and test_word_table.py operations.md."""

import importlib
import re
import subprocess
import sys

from harness import BUILD, ROOT, case, check, equal, main, run

PAGES = ROOT / "deploy" / "docs" / "ref"


def text_of(name):
    return (PAGES / name).read_text(encoding="utf-8")


@case
def current():
    """the pages, and the list of commands in sherwoodd(8), are not old"""
    done = subprocess.run([ROOT / "deploy/reference/write", "--check", BUILD], text=True, capture_output=True, check=False)
    equal([done.returncode, done.stdout, done.stderr], [0, "", ""], "make docs")


@case
def complete():
    """each option, command, function of C and method of Python has its place"""
    listed = set(re.findall(r"^### (\S+)$", text_of("options.md"), re.M))
    template = run(BUILD / "sherwoodd", "--print-template")
    equal(listed, set(re.findall(r"^#([a-z][a-z0-9-]*) =", template, re.M)), "options")
    rows = (ROOT / "server/resp/command_map.h").read_text(encoding="utf-8")
    equal(sorted(re.findall(r"^\| ([A-Z_]+) \|", text_of("commands.md"), re.M)),
          sorted(name.upper() for name in re.findall(r'X\([A-Z_]+, "([a-z_]+)"', rows)), "commands")
    headings = " ".join(re.findall(r"^### (.*)$", text_of("c.md"), re.M)).replace("\\", "")
    exported = [line.split()[2] for library in ("libsherwood", "libsherwood-cuda")
                for line in run("nm", "-D", "--defined-only", BUILD / f"{library}.so").splitlines()]
    check(len(exported) > 40, exported)
    equal([name for name in exported if not re.search(rf"\b{name}\b", headings)], [], "functions of libsherwood")
    python = text_of("python.md").replace("\\", "")
    package = (ROOT / "client/python/src/sherwood/_many.py").read_text(encoding="utf-8")
    for method in re.findall(r"^    def ([a-z]\w+)\(self", package, re.M):
        check(f"#### Client.{method}\n" in python, method)


@case
def errors_have_entries():
    """an error text in the sources, or a status of frames, without a cause and an action is found"""
    sys.path.insert(0, str(ROOT / "deploy" / "reference"))
    sys.dont_write_bytecode = True
    made = importlib.import_module("errors")
    texts = made.resp_texts()
    check(len(texts) > 150 and "READONLY You can't write against a read only replica." in texts, texts)
    made.resp_texts = lambda: [*texts, "ERR xyzzy"]
    try:
        made.page(BUILD)
    except SystemExit as reason:
        check("xyzzy" in str(reason), reason)
    else:
        check(False, "no failure")


if __name__ == "__main__":
    main()
