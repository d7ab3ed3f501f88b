#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The status page: its headers and parts, its functions in node, and the whole page in headless Chromium."""

import base64
import contextlib
import functools
import hashlib
import html.parser
import http.server
import json
import re
import threading
import time

import browser
from harness import PACE, ROOT, Server, Skip, case, check, equal, eventually, main, run

HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
VOID = {"meta", "link", "input", "br"}


class Parts(html.parser.HTMLParser):
    """The parts of the page; unbalanced tags are an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.inline = [], [], [], {"script": [], "style": []}
        self.feed(text)
        self.close()
        equal(self.open, [], "tags that are open at the end")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.inline:
            self.inline[tag].append("")

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, f"</{tag}> within {self.open}")
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inline:
            self.inline[self.open[-1]][-1] += data


@case
def headers():
    """a browser gets HTML with a strict policy, other clients get text"""
    with Server() as server:
        status, had, text = server.http("/", headers=HTML)
        equal((status, had["Content-Type"]), (200, "text/html; charset=utf-8"), "for a browser")
        check(len(text) < 100 * 1024, f"{len(text)} bytes")
        parts = Parts(text)
        hashes = {tag: [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]
                  for tag, texts in parts.inline.items()}
        equal((len(hashes["script"]), len(hashes["style"])), (1, 1), "one script, one style")
        equal(had["Content-Security-Policy"],
              f"default-src 'none'; script-src 'sha256-{hashes['script'][0]}'; "
              f"style-src 'sha256-{hashes['style'][0]}'; connect-src 'self'; img-src data:; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", "the policy")
        for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                            ("X-Frame-Options", "DENY"), ("Vary", "Accept"), ("Cache-Control", "no-store"),
                            ("Cross-Origin-Opener-Policy", "same-origin")):
            equal(had.get(name), value, name)
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "text/plain"}, {"Accept": "text/html;q=0"}):
            status, had, text = server.http("/", headers=accept)
            equal((status, had["Content-Type"]), (200, "text/plain; charset=utf-8"), accept)
            check("/status.json" in text and "/metrics" in text, text)
            equal(had.get("Vary"), "Accept", "Vary")
        equal(server.http("/", "HEAD", HTML)[2], "", "HEAD")


@case
def parts():
    """the page is one file without remote parts, with labels, languages and ids that exist"""
    with Server() as server:
        text = server.http("/", headers=HTML)[2]
    page = Parts(text)
    equal(len(page.ids), len(set(page.ids)), "ids")
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            check(not name.startswith("on") and name != "style", f"{tag} {name}")
            if name in ("src", "href"):
                check(value.startswith(("data:", "/")) and not value.startswith("//"), f"{tag} {name}={value}")
            if name in ("aria-labelledby", "aria-describedby", "for"):
                check(value in page.ids, f"{name}={value}")
    equal(dict(page.tags).get("html"), {"lang": "en"}, "the language")
    tags = [tag for tag, _ in page.tags]
    check(tags.count("h1") == 1 and "main" in tags and "noscript" in tags, tags)
    script = page.inline["script"][0]
    for name in re.findall(r"\bat\('([\w-]+)'\)", script):
        check(name in page.ids, f"no element {name}")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http:"):
        check(word not in script.replace("http://www.w3.org/2000/svg", ""), word)


@case
def functions():
    """node runs the page's functions on numbers, samples, restarts and every text of a real document"""
    with Server() as server:
        eventually(lambda: json.loads(server.http("/status.json")[2])["history"]["newest"] >= 2, "samples")
        document = server.http("/status.json")[2]
    said = run("node", ROOT / "tests" / "integration" / "status_parts.js",
               ROOT / "server" / "observe" / "status", stdin=document)
    equal(said.count("ok "), 8, said)


# --- in a browser -----------------------------------------------------------------------------------

@functools.cache
def started():
    """The browser of all cases. A start of its own took half of the processor time of most of them."""
    if browser.program() is None:
        raise Skip("chromium is not installed (apt-get install chromium)")
    return of_script.enter_context(browser.Browser())


@contextlib.contextmanager
def chromium():
    """The browser, for a case. Its tabs are closed at the end."""
    one = started()
    try:
        yield one
    finally:
        one.close_tabs()


class Load(threading.Thread):
    """Writes, gets and deletes until the block ends."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.running = server, True

    def run(self):
        with self.server.replies() as replies:
            first = 0
            while self.running:
                keys = range(first, first + 100)
                replies.ask("MSET", *[n for k in keys for n in (k, k)])
                replies.ask("MGET", *range(first + 50, first + 150))
                replies.ask("DEL", *range(first, first + 20))
                first = (first + 100) % 100000
                time.sleep(5 * PACE)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.join(20)


OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
# The least contrast of any text with what is behind it (WCAG 2).
CONTRAST = """(() => {
  const rgb = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; };
  const light = (m) => { const [r, g, b] = m.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = [99, ''];
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || node.closest('.hidden, script, noscript, title, [hidden]')) continue;
    const style = getComputedStyle(node);
    const ink = light(rgb(node.closest('svg') ? style.fill : style.color));
    let behind = node;
    while (behind && !rgb(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
    const ground = light(rgb(getComputedStyle(behind).backgroundColor));
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (ratio < least[0]) least = [ratio, walk.currentNode.data];
  }
  return least;
})()"""


@case
def under_load():
    """Chromium: rates change, values are the daemon's, and no request fails or goes elsewhere"""
    with Server() as server, Load(server), chromium() as tab:
        address = f"http://{server.host}:{server.http_port}/"
        page = tab.open(address)
        page.until("document.getElementById('state').textContent === 'ready'")
        page.until("document.querySelectorAll('figure').length === 10")
        check(page.value("document.querySelectorAll('.tiles dt').length") == 7, "tiles")
        # a line goes through samples, and the rate that is shown is not zero
        page.until("document.querySelector('path.line0').getAttribute('d').length > 30")
        page.until("/^[1-9]/.test(document.querySelector('.legend output').textContent)")
        page.until("document.title === 'Sherwood: ready'")
        shown = page.value("document.getElementById('facts').innerText")
        check("robin_hood" in shown and "cpu" in shown, shown)
        check(page.value("document.getElementById('problems').innerText").startswith("Nothing is wrong."), "problems")
        # by keyboard: each plot is a slider through time that says what it shows
        page.value("document.querySelector('svg.plot').focus()")
        said = "document.activeElement.getAttribute('aria-valuetext')"
        check(re.match(r"\d\d:\d\d:\d\d: gets \S+.*, writes .*, deletes .* a second$", page.value(said)),
              page.value(said))
        page.key("Home")
        equal(page.value("document.activeElement.getAttribute('aria-valuenow')"), "0", "Home")
        check("no sample" in page.value(said), page.value(said))
        page.key("Escape")
        page.until(f"!{said}.includes('no sample')")
        page.value("document.querySelector('input[value=\"1\"]').click()")
        equal(page.value("document.getElementById('span').textContent"), "minute", "the last minute")
        equal(page.complaints(), [], "errors in the browser")
        check(all(a.startswith((address, "data:")) for a in page.addresses()), page.addresses())


@case
def widths_and_colours():
    """Chromium: the page fits a phone and a wide screen; light and dark text has a contrast of 4.5 or more"""
    with Server() as server, chromium() as tab:
        page = tab.open("about:blank")
        for width, dark in ((360, True), (360, False), (1600, True), (1600, False)):
            page.load(f"http://{server.host}:{server.http_port}/", width=width, dark=dark)
            page.until("document.querySelectorAll('figure').length === 10")
            check(page.value(OVERFLOW) <= 0, f"{width}: {page.value(OVERFLOW)} pixels too wide")
            least, text = page.value(CONTRAST)
            check(least >= 4.5, f"{text!r} has a contrast of {least:.2f}, dark {dark}")


# Cards of figures whose table is wider than they are, and pairs that lie on each other.
OVER_CARDS = """(() => {
  const cards = [...document.querySelectorAll('.facts section')], over = [];
  for (const card of cards) {
    const box = card.getBoundingClientRect(), table = card.querySelector('table');
    if (table && table.getBoundingClientRect().right > box.right) over.push(card.firstChild.textContent);
  }
  cards.forEach((one, i) => cards.slice(i + 1).forEach((other) => {
    const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
      over.push(one.firstChild.textContent + ' on ' + other.firstChild.textContent);
  }));
  return over;
})()"""


ABBREVIATED = """[...document.querySelectorAll('.facts section:first-child tbody tr')].every((row) => /[kM]$/.test(row.cells[1].textContent))"""

# Heads of columns of numbers that do not end where the numbers end.
SHIFTED_HEADS = """(() => {
  const end = (cell) => getComputedStyle(cell).textAlign === 'right'
    ? cell.getBoundingClientRect().right - parseFloat(getComputedStyle(cell).paddingRight) : null;
  return [...document.querySelectorAll('.facts thead th')].filter((head) =>
    end(head) === null || Math.abs(end(head) - end(head.closest('table').tBodies[0].rows[0].cells[head.cellIndex])) > 1)
    .map((head) => head.textContent);
})()"""


@case
def heads_of_columns():
    """Chromium: the heading of a column of numbers ends where the numbers end"""
    with Server() as server, chromium() as tab:
        page = tab.open("about:blank")
        for width in (1150, 1440, 1920):
            page.load(f"http://{server.host}:{server.http_port}/", width=width)
            page.until("document.querySelectorAll('.facts thead th').length > 2")
            equal(page.value(SHIFTED_HEADS), [], f"{width} pixels")


@case
def many_tables():
    """Chromium: 64 tables have a row each, which a click orders; the address names a table whose plots are shown"""
    with Server("--databases", "64", "--capacity", "1K", "--max-capacity", "1M") as server, Load(server), server.replies() as replies, \
            chromium() as tab:
        equal([replies.ask("SELECT", 7), replies.ask("MSET", *range(1000))], ["OK", "OK"], "keys of one table")
        address = f"http://{server.host}:{server.http_port}/"
        first = "document.querySelector('#table-rows th').textContent"
        for width in (360, 1440):
            page = tab.open(address, width=width)
            page.until("document.querySelectorAll('#table-rows tr').length === 64")
            equal(page.value(first), "default (0)", "by number")
            check(page.value(OVERFLOW) <= 0, f"{width}: {page.value(OVERFLOW)} pixels too wide")
            check(page.value(CONTRAST)[0] >= 4.5, page.value(CONTRAST))
            page.until("/^[1-9]/.test(document.querySelector('#table-rows tr').cells[7].textContent)")  # gets/s of the default table
            page.value("[...document.querySelectorAll('#table-heads button')].find((head) => head.textContent === 'memory').click()")
            page.until("document.querySelector('#table-heads [aria-sort=descending]').textContent === 'memory'")
            page.value("document.querySelectorAll('#table-heads button')[0].click()")
            page.value("document.querySelectorAll('#table-heads button')[0].click()")
            equal(page.value(first), "db63 (63)", "the other way")
            page.value("[...document.querySelectorAll('#table-rows button')].find((each) => each.textContent === 'db7 (7)').click()")
            page.until("document.querySelectorAll('#table-plots figure').length === 6")
            equal(page.value("location.hash"), "#table=db7", "the address")
            check(page.value("document.getElementById('table-title').textContent").startswith("db7 (7)"), "title")
            equal(page.value("document.querySelectorAll('#table-plots figure')[2].querySelector('output').textContent"), "500", "its keys")
            equal(page.complaints(), [], "errors in the browser")
        page = tab.open(address + "#table=db7", width=1440)
        page.until("document.querySelectorAll('#table-plots figure').length === 6")
        equal(replies.ask("TABLE", "DROP", "db7"), "OK", "DROP")
        page.until("document.querySelectorAll('#table-plots figure').length === 0")
        page.until("document.querySelectorAll('#table-rows tr').length === 63")
        equal(page.complaints(), [], "errors in the browser")


@case
def cards_of_figures():
    """Chromium: no table of values overlaps the next card on phones, laptops and large screens"""
    with Server() as server, Load(server), chromium() as tab:
        page = tab.open("about:blank")
        for width in (360, 390, 520, 768, 1024, 1150, 1280, 1300, 1440, 1920, 2560):
            page.load(f"http://{server.host}:{server.http_port}/", width=width)
            page.until("document.querySelectorAll('.facts section').length > 5")
            equal(page.value(OVER_CARDS), [], f"{width} pixels")
            page.until(ABBREVIATED)  # these counts never have twelve digits
            # figures of a server that has run for years
            page.value("document.querySelectorAll('.facts td + td, .facts th + td').forEach((cell) => { "
                       "if (/^[0-9,]+$/.test(cell.textContent)) cell.textContent = '123,456,789,012'; })")
            equal(page.value(OVER_CARDS), [], f"{width} pixels, large figures")
            check(page.value(OVERFLOW) <= 0, f"{width}: {page.value(OVERFLOW)} pixels too wide")


@case
def gone_and_back():
    """Chromium: the page survives a daemon that is killed and starts again on its port"""
    with chromium() as tab:
        server = Server(stop_rc=-9).start()
        page = tab.open(f"http://{server.host}:{server.http_port}/")
        page.until("document.getElementById('state').textContent === 'ready'")
        server.kill()
        gone = "!document.getElementById('gone').hidden && document.getElementById('gone').textContent"
        said = page.until(gone)
        check(re.match(r"No answer since \d\d:\d\d:\d\d\. The daemon is gone, or", said), said)
        check("Nothing is wrong" not in page.value("document.body.innerText"), "nobody knows that")
        page.until("document.title.startsWith('Sherwood: no answer')")
        server.stop(None)
        with Server("--http-port", str(server.http_port)):
            page.until("document.getElementById('state').textContent === 'ready'")
            page.until("document.querySelectorAll('.restarts line').length > 0")
            equal(page.value("document.getElementById('gone').hidden"), True, "the message has gone")


@case
def token():
    """Chromium: without its token the page shows nothing; a wrong one is refused"""
    server = Server()
    secret = server.directory / "token"
    secret.write_text("T0ken\n", encoding="utf-8")
    secret.chmod(0o600)
    server.flags += ["--http-token-file", str(secret)]
    with server:
        for path, sent, wanted in (("/status.json", {}, 401), ("/", {}, 401), ("/", HTML, 200),
                                   ("/status.json", {"Authorization": "Bearer wrong"}, 401),
                                   ("/status.json", {"Authorization": "Bearer T0ken"}, 200)):
            equal(server.http(path, headers=sent)[0], wanted, f"{path} with {sent}")
        with Server() as other:
            equal(server.http("/", headers=HTML)[2], other.http("/", headers=HTML)[2], "every daemon's page")
        with chromium() as tab:
            page = tab.open(f"http://{server.host}:{server.http_port}/")
            page.until("!document.getElementById('token').hidden")
            equal(page.value("document.querySelectorAll('figure').length"), 0, "plots without a token")
            for sent in ("wrong", "T0ken"):
                failures = page.value("page.failures")
                page.value(f"document.getElementById('token-text').value = '{sent}'")
                page.value("document.getElementById('token').requestSubmit()")
                if sent == "wrong":
                    page.until(f"page.failures > {failures}")
                    equal(page.value("document.getElementById('token').hidden"), False, "asks again")
            page.until("document.getElementById('state').textContent === 'ready'")
            page.until("document.getElementById('token').hidden && document.querySelectorAll('figure').length === 10")


class Fake(http.server.ThreadingHTTPServer):
    """Serves the daemon's page with its headers, and documents of the test."""

    def __init__(self, server):
        _, self.headers, self.page = server.http("/", headers=HTML)
        self.document = json.loads(server.http("/status.json")[2])
        self.status = 200
        super().__init__(("127.0.0.1", 0), Reply)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Reply(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = self.path == "/"
        body = (self.server.page if page else json.dumps(self.server.document)).encode()
        self.send_response(200 if page else self.server.status)
        self.send_header("Content-Type", "text/html; charset=utf-8" if page else "application/json")
        if page:
            self.send_header("Content-Security-Policy", self.server.headers["Content-Security-Policy"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@case
def other_daemons():
    """Chromium: a loading daemon, 10^12 operations/s, a GPU, markup in texts, and an error of the port"""
    with Server() as server:
        eventually(lambda: json.loads(server.http("/status.json")[2])["history"]["newest"] >= 3, "samples")
        fake = Fake(server)
    with chromium() as tab:
        document = fake.document
        document["state"] = "loading"
        document["persistence"].update(loading=True, loading_percent=42, enabled=True)
        document["problems"] = [{"alert": "X", "severity": "critical",
                                 "text": "<img src=x onerror=\"document.title='broken'\"> & more"}]
        for name, column in document["history"].items():
            if isinstance(column, list) and name != "at_ms":
                document["history"][name] = [1.2e12] * len(column)
        document["server"]["backend"] = "cuda"
        document["memory"].update(table_lies_in="device", table_bytes=64 * 2**30)
        document["gpu"] = {"bus_id": "0000:3b:00.0", "memory_used_bytes": 70 * 2**30, "busy_percent": 97,
                           "memory_total_bytes": 80 * 2**30, "memory_busy_percent": None}
        for way in document["ways"]:
            way.update(batches=10**12, operations=10**15)
        page = tab.open(f"http://127.0.0.1:{fake.server_address[1]}/")
        page.until("document.getElementById('state').textContent === 'loading, 42 %'")
        equal(page.value("document.querySelector('#problems .critical').innerText"),
              "Critical. <img src=x onerror=\"document.title='broken'\"> & more", "markup is text")
        page.until("document.title === 'Sherwood: 1 problem'")
        shown = page.value("document.body.innerText").replace("\u202f", " ")
        for words in ("3.60 T", "1.20 T", "GPU memory of the table", "64.0 GiB", "1.00 P", "0000:3b:00.0",
                      "70.0 GiB of 80.0 GiB", "97.0 %", "memory in use"):
            check(words in shown, f"{words}: {shown}")
        check(page.value(OVERFLOW) <= 0, "too wide")
        equal(page.complaints(), [], "errors in the browser")
        fake.status = 500
        page.until("document.getElementById('gone').textContent.includes('answered with status 500')")
    fake.shutdown()
    fake.server_close()


if __name__ == "__main__":
    with contextlib.ExitStack() as of_script:
        main()
