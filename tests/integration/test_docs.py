#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""README.md and deploy/docs: every sample runs as it is written, and every name that a page quotes exists.

A page's samples run in a folder of their own, against a daemon for the default ports. Ports are replaced by free ones.
A line behind "$ " ends with status 0, and its output is the lines below it, if there are any. A line that ends with & starts
a daemon. A C program compiles and ends with status 0. A block whose first line is "# NAME.py: .." is that file, for the lines
after it. test_python_docs.py runs the Python of README.md and of tutorial.md.
A block behind the line "<!-- not run: REASON -->" does not run, and the case prints the reason."""

import contextlib
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from harness import (BUILD, ROOT, SANITIZED, SLOWER, SLOW_REPLY, Server, Skip, case, check, equal, eventually, free_port, main,
                     redis_server)

PAGES = ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("deploy/docs/*.md"))]
BLOCK = re.compile(r"(?P<skip>^<!-- not run: .* -->\n+)?(?:^```\w*\n(?P<fenced>(?:(?!```).*\n)*)```$|(?P<plain>(?:^    .*\n(?:^\n(?=    ))?)+))",
                   re.MULTILINE)


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def samples(page):
    """Returns each block of code of a page that runs, and prints why the others do not."""
    for block in BLOCK.finditer(text_of(page)):
        if block["skip"]:
            print(f"# {page}: {block['skip'].strip()}")
            continue
        yield block["fenced"] or re.sub(r"^    ", "", block["plain"], flags=re.MULTILINE)


class Shell:
    """Runs the lines of one page."""

    def __init__(self, folder, server):
        os.symlink(BUILD, pathlib.Path(folder) / "build")
        self.folder, self.started = folder, []
        self.ports = {"7379": str(server.port), "9379": str(server.http_port)}

    def port(self, number):
        if number not in self.ports:
            self.ports[number] = str(free_port())
        return self.ports[number]

    def free(self, text):
        """Returns the text with the free ports in place of the page's."""
        return re.sub(r"\b[79]3[789]\d\b", lambda m: self.port(m.group()), text)

    def typed(self, line):
        """Returns the line for this folder: free ports, the server for the tools, and a load short enough for a test."""
        line = re.sub(r"\s+# .*$", "", line)
        line = line.replace("build/sherwood-load", "build/sherwood-load -n 20K")
        line = line.replace("redis-cli ", "redis-cli --no-raw ")  # as on a terminal
        line = re.sub(r"^python3 ", f"{sys.executable} ", line)
        line = self.free(line)
        if re.search(r" -[ap] ", line):
            return line
        return re.sub(r"^(build/sherwood-(?:cli|load))", rf"\1 -a 127.0.0.1:{self.ports['7379']}", line)

    def start(self, line):
        line = line.rstrip("& ")
        words = shlex.split(line)
        process = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        port = words[words.index("--port") + 1]
        eventually(lambda: subprocess.run(["redis-cli", "-p", port, "PING"], check=False, capture_output=True,
                                          text=True).stdout.startswith(("PONG\n", "NOAUTH ")), f"{line}: it serves")

    def run(self, line, shown):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, text=True, capture_output=True,
                              timeout=120 * SLOWER, check=False)
        equal(done.returncode, 0, f"{line}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        if any(shown):
            equal(re.sub(SLOW_REPLY, "", done.stdout).rstrip("\n"), "\n".join(shown).rstrip("\n"), line)
        else:
            check(not re.search(r"(?m)^\(error\)|^-?ERR ", done.stdout), f"{line}: {done.stdout[-1000:]}")

    def console(self, text):
        count = 0
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, *shown = part.rstrip("\n").split("\n")
            if line.startswith("xdg-open "):
                continue
            typed = self.typed(line)
            count += 1
            if typed.endswith("&"):
                self.start(typed)
            else:
                self.run(typed, [self.free(line) for line in shown])
        return count

    def program(self, text):
        source = pathlib.Path(self.folder) / "program.c"
        source.write_text(re.sub(r"\b7379\b", self.ports["7379"], text), encoding="utf-8")
        self.run(f"cc -Wall -Wextra -Werror -I{ROOT}/client program.c -Lbuild -lsherwood -o program && LD_LIBRARY_PATH=build ./program", [])
        return 1

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(30)


def page_runs(page, least):
    """Runs the samples of a page, at least `least` of them."""
    with tempfile.TemporaryDirectory(prefix="sherwood-docs-") as folder, Server("--max-capacity", "auto") as server:
        shell, ran = Shell(folder, server), 0
        with contextlib.ExitStack() as stack:
            stack.callback(shell.end)
            for text in samples(page):
                if re.search(r"^\$ ", text, re.MULTILINE):
                    ran += shell.console(text)
                elif "int main(void)" in text:
                    ran += shell.program(text)
                elif name := re.match(r"# (\w+\.py): ", text):
                    (pathlib.Path(folder) / name.group(1)).write_text(text, encoding="utf-8")
            for process in shell.started:
                equal(process.wait(30), 0, f"{page}: a daemon that the page started and stopped")
        check(ran >= least, f"{page}: {ran} samples, at least {least} expected")


@case
def pages():
    """the samples of README.md and of each page of deploy/docs run and print what the page shows"""
    if SANITIZED:
        raise Skip("the programs of the pages are those of a plain build")
    if not all(map(shutil.which, ("redis-cli", "redis-server", "curl"))):
        raise Skip("redis-cli, redis-server or curl is not installed")
    least = {"README.md": 7, "deploy/docs/start.md": 20}
    for page in PAGES:
        page_runs(page, least.get(page, 0))


@functools.cache
def known_options():
    """Returns every option of the daemon, the tools and the examples."""
    texts = [subprocess.run([BUILD / name, "--help"], check=True, capture_output=True, text=True).stdout
             for name in ("sherwoodd", "sherwood-cli", "sherwood-load")]
    texts += [path.read_text(encoding="utf-8") for path in ROOT.glob("client/python/examples/*.py")]
    return set(re.findall(r"--[a-z][a-z0-9-]+", "\n".join(texts)))


def missing_names(page):
    text = text_of(page)
    folder = (ROOT / page).parent
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for code in quoted:
        if "$(pkg-config" in code:
            continue
        for option in re.findall(r"(?<!\S)--[a-z][a-z0-9-]+", code):
            if option not in known_options() | {"--help", "--version"}:
                yield f"{page}: no program has the option {option}"
        for metric in re.findall(r"\bsherwood_\w+(?!\w*\()", code):
            if metric not in text_of("deploy/docs/ref/metrics.md") and metric not in api_names():
                yield f"{page}: neither metrics.md nor a header has {metric}"
        if re.fullmatch(r"(?:server|table|proto|client|bench|tests|deploy)/[\w./-]+", code) and not (ROOT / code).exists():
            yield f"{page}: no file {code}"
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = folder / path if path else ROOT / page
        if not target.exists():
            yield f"{page}: no file for the link {link}"
        elif anchor and anchor not in anchors(target):
            yield f"{page}: no heading for the link {link}"


def anchors(path):
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@functools.cache
def api_names():
    return "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("client/sherwood*.h"))


@case
def names():
    """the options, metrics, functions, files and links that a page names exist"""
    problems = [problem for page in PAGES for problem in missing_names(page)]
    check(not problems, "\n".join(problems))


@case
def commands_of_redis():
    """migrate-from-redis.md lists each command of redis once, as supported or unsupported"""
    page = text_of("deploy/docs/migrate-from-redis.md")
    lists = re.split(r"^### .*$", page[page.index("\n## Commands\n"):page.index("\n## Write to both\n")], flags=re.MULTILINE)[1:]
    cells = ["\n".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE) or [text]) for text in lists]
    same, different, absent = (re.findall(r"`([A-Z][A-Z0-9_ -]*)`", text) for text in cells)
    have = set(re.findall(r'^    X\(\w+, "(\w+)"', text_of("server/resp/command_map.h"), re.MULTILINE))
    with redis_server() as path: # 7.0 has no WAITAOF yet
        listed = subprocess.run(["redis-cli", "-s", path, "COMMAND", "LIST"], check=True, capture_output=True, text=True).stdout.split()
    equal(sorted(same + different), sorted(name.upper() for name in have & {*listed, "waitaof"}), "commands of command_map.h and of redis")
    source, = (text for text in (p.read_text(encoding="utf-8") for p in ROOT.glob("server/resp/*.c")) if "} groups[] = {" in text)
    groups = re.findall(r'",\n((?: +"[a-z0-9_|\- ]+"\s*)+)\}|", "([a-z0-9_|\- ]+)"\}', source)
    names = [name for group in groups for text in group for name in "".join(re.findall(r'"([^"]+)"', text) or [text]).split()]
    whole = [name for name in names if name.partition("|")[0] not in names or "|" not in name]
    equal(sorted(absent), sorted(name.replace("|", " ").upper() for name in whole), "absent commands")


@case
def files_of_an_operation():
    """the files that name MUL are those that CONTRIBUTING.md lists for an operation, and those of make docs"""
    row = re.search(r"^\| an operation on keys \| (.*?); `make docs`", text_of(".github/CONTRIBUTING.md"), re.MULTILINE).group(1)
    named = re.findall(r"`([^`]+)`", row)
    check(len(named) <= 5, named)
    write = text_of("proto/ops/write")
    written = {*re.findall(r'"([\w-]+(?:/[\w.-]+)+)"', write[write.index("PLACES = "):]), "deploy/man/sherwoodd.8.scd",
               "deploy/docs/ref/c.md", "deploy/docs/ref/commands.md"}
    has = re.compile(r"\b(MUL|MULTIPLY|SHERWOOD_MUL|SW_MUL|SW_VERB_MULTIPLY)\b")
    found = {path.relative_to(ROOT).as_posix() for folder in ("proto", "table", "server", "client", "bench", "deploy", "tests")
             for path in (ROOT / folder).rglob("*")
             if path.suffix in (".c", ".h", ".inl", ".cu", ".cuh", ".py", ".proto", ".md", ".scd") and path.is_file()
             and {"build", "csrc"}.isdisjoint(path.relative_to(ROOT).parts)  # what pip install ./client/python leaves
             and has.search(path.read_text(encoding="utf-8", errors="replace"))}
    equal(sorted(found - written - {"tests/integration/test_docs.py"}), sorted(named), "files by hand")


@case
def faults_are_found():
    """the check finds a wrong reply, a wrong option and a dead link in a page"""
    known_options()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text("`--no-such-option` `sherwood_no_such_total` [x](nowhere.md) `server/no_such.c` [y](#nothing)\n", encoding="utf-8")
        equal(len(list(missing_names(page.relative_to(ROOT).as_posix()))), 5, "faults")


if __name__ == "__main__":
    main()
