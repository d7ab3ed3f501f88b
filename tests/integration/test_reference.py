#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""deploy/docs/ref: the pages that deploy/reference/write makes are up to date with the sources.

test_metrics.py compares metrics.md, test_status.py status.md, and test_operation_table.py operations.md."""

import http.server
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import wire
from harness import BUILD, ROOT, Server, case, check, equal, main, raises, refusal, run

PAGES = ROOT / "deploy" / "docs" / "ref"


def text_of(name):
    return (PAGES / name).read_text(encoding="utf-8")


@case
def current():
    """the reference pages, and the list of commands in sherwoodd(8), are up to date"""
    done = subprocess.run([ROOT / "deploy/reference/write", "--check", BUILD], text=True, capture_output=True, check=False)
    equal([done.returncode, done.stdout, done.stderr], [0, "", ""], "make docs")


class Web(http.server.BaseHTTPRequestHandler):
    """A proxy behind which /exists is a page with a place, /moved leads to it, /loop to itself, and no other page exists."""

    def do_GET(self):  # pylint: disable=invalid-name
        name = self.path.rsplit("/", 1)[1]
        if name == "garbage":
            self.wfile.write(b"no status line\r\n\r\n")
            return
        self.send_response({"exists": 200, "moved": 301, "loop": 302, "private": 403, "broken": 503}.get(name, 404))
        if name in ("moved", "loop"):
            self.send_header("Location", self.path.replace("moved", "exists"))
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if name == "exists":
            self.wfile.write('<h1 id="place">ä</h1><a name="user-content-other">'.encode())

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@case
def site_links():
    """the check of a site's links finds a missing file, anchor and remote page, and reports an absent network"""
    with tempfile.TemporaryDirectory() as folder, http.server.HTTPServer(("127.0.0.1", 0), Web) as web:
        page = pathlib.Path(folder) / "page.html"

        def links(text, *flags, port=1):
            page.write_text(text, encoding="utf-8")
            proxy = f"http://127.0.0.1:{port}"
            done = subprocess.run([ROOT / "deploy/docs/links", folder, *flags], text=True, capture_output=True, check=False,
                                  env={**os.environ, "http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""})
            return done.returncode, done.stdout + done.stderr
        equal(links('<p id="here"><a href="page.html#here">1</a><a href="#here">2</a><a href="http://x.example/">3</a>'), (0, ""))
        equal(links('<img src="none.svg">'), (1, "links: page.html links to none.svg: no such file\n"))
        equal(links('<a href="page.html#gone">'), (1, "links: page.html links to page.html#gone: the page has no such place\n"))
        rc, said = links('<a href="http://x.example/exists">', "--external")
        check(rc == 2 and "the network is absent: none of 1 external link was checked" in said, (rc, said))
        threading.Thread(target=web.serve_forever, daemon=True).start()
        equal(links('<a href="http://x.example/exists">', "--external", port=web.server_port), (0, "links: 1 external link, 0 dead, 0 not checked\n"))
        rc, said = links('<a href="http://x.example/exists"><a href="http://x.example/gone">', "--external", port=web.server_port)
        check(rc == 1 and "http://x.example/gone: HTTP Error 404" in said and "2 external links, 1 dead" in said, (rc, said))
        for name, wanted in (("moved", (0, "x.example/moved leads to http://x.example/exists")), ("exists#place", (0, "0 dead")),
                             ("exists#other", (0, "0 dead")), ("exists#gone", (1, "exists#gone: the page has no such place")),
                             ("loop", (1, "x.example/loop: HTTP Error 302")), ("garbage", (1, "BadStatusLine")),
                             ("private", (2, "each host or a proxy refused: none of 1 external link was checked")),
                             ("broken", (2, "HTTP Error 503"))):
            rc, said = links(f'<a href="http://x.example/{name}">', "--external", port=web.server_port)
            check(rc == wanted[0] and wanted[1] in said, (name, rc, said))
        rc, said = links('<img srcset="//x.example/secure 1x, HTTP://x.example/private 2x"><a href="http://x.example/exists">', "--external",
                         port=web.server_port)
        check(rc == 1 and "links: https://x.example/secure: " in said and "not checked: http://x.example/private: HTTP Error 403" in said and
              "3 external links, 1 dead, 1 not checked" in said, (rc, said))
        web.shutdown()


@case
def complete():
    """each option, command, C function and Python method has an entry"""
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


def error_modules():
    sys.path.insert(0, str(ROOT / "deploy" / "reference"))
    sys.dont_write_bytecode = True
    return importlib.import_module("errors"), importlib.import_module("messages")


@case
def errors_have_entries():
    """the check finds an error text of the sources that has no cause and action"""
    made, _ = error_modules()
    texts = made.resp_texts()
    check(len(texts) > 150 and "READONLY You can't write against a read only replica." in texts, texts)
    made.resp_texts = lambda: [*texts, "ERR xyzzy"]
    raises(SystemExit, "xyzzy", made.page, BUILD)


@case
def messages_have_entries():
    """the check finds a message without an action, in every form in which the sources write one"""
    made, _ = error_modules()
    sources = {"snprintf": 'snprintf(error, size, "the plugh %s has no xyzzy", name);', "return": 'return "the plugh has no xyzzy";',
               "log": 'sw_log(SW_LOG_ERROR, "plugh: %s has no xyzzy",\n       name);', "choice": 'refuse(x, is ? "it is plugh, xyzzy" : NULL);',
               "macro": '#define PLUGH "the plugh has " "no xyzzy"\nsay(PLUGH);', "remedy": 'refuse(x, ": wave the plugh and say xyzzy");'}
    for name, text in sources.items():
        with tempfile.TemporaryDirectory() as root:
            file = pathlib.Path(root) / "server" / "users" / "new.c"
            file.parent.mkdir(parents=True)
            file.write_text(f"/* no message: the xyzzy of a comment */\nvoid f(void)\n{{\n    {text}\n}}\n", encoding="utf-8")
            try:
                got = made.grouped_messages(pathlib.Path(root))
            except SystemExit as reason:
                check("server/users/new.c" in str(reason) and "plugh" in str(reason), reason)
            else:
                check(False, f"{name}: {got}")


@case
def provoked_errors():
    """errors provoked in a daemon are on the page: at a start, after ERR, and in the reply to a frame"""
    texts = [re.split(r"%[-.*0-9]*(?:ll|z|j)?[a-z]", text) for text in re.findall(r"^- `(.*)`$", text_of("errors.md"), re.M)]
    patterns = [(len(re.findall(r"\w+", " ".join(parts))), re.compile(".*".join(map(re.escape, parts)))) for parts in texts]

    def known(shown):
        """A text of the page with at least three words of its own is in the text that was shown."""
        return any(words >= 3 and pattern.search(shown) for words, pattern in patterns)
    check(not known("the plugh has no xyzzy"), "each text is known")
    for flags in (["--prot", "1"], ["--port", "x"], ["--value-bytes", "7"], ["--appendonly", "yes"], ["--data-dir", "/nowhere"],
                  ["--replicaof", "a b c"], ["--ha", "etcd://x"], ["--config", "/nowhere"], ["--tls-port", "1"], ["--capacity", "1024T"],
                  ["--unix-users", "x"], ["--max-load", "9"]):
        said = refusal(*flags)
        check(said and known(said), f"{flags}: {said}")
    with Server() as server, server.connect() as connection:
        replies = wire.Replies(connection)
        for words in ("ACL SETUSER x %R~7", "ACL SETUSER x +nothing", "CONFIG SET port 1", "CONFIG SET maxclients -1", "REPLICAOF a b",
                      "CLUSTER SETTOPOLOGY {}", "HA STATUS", "LPUSH 1 2", "DIGEST 1 2", "CONFIG REWRITE"):
            connection.sendall(wire.command(*words.split()))
            said = replies.read()
            check(isinstance(said, wire.Error) and known(said), f"{words}: {said!r}")
    with Server() as server:
        for frame in (wire.frame(wire.GET, [1], width=4), wire.frame(wire.SET, [1]), wire.frame(wire.GET, [1], count=9),
                      wire.frame(wire.SET, [1], [2], each_ms=[0]), wire.envelope(b"")):
            with server.connect() as connection:
                connection.sendall(frame)
                reply = wire.read_frame(connection)
                check(reply.status != 0 and known(reply.message), f"{reply.status} {reply.message}")


if __name__ == "__main__":
    main()
