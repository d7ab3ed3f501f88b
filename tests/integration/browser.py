# SPDX-License-Identifier: MIT
"""browser - a headless Chromium, driven by its DevTools protocol over a pair of pipes.

    with Browser() as browser:
        page = browser.open(url, width=1280, height=900, dark=True)
        page.value("document.title")
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def program():
    """The path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A Chromium for the length of a "with" block. Messages are JSON, each ended by a zero byte."""

    def __init__(self):
        self.number = 0
        self.received = b""
        self.events = []
        self.tabs = []

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="sherwood-browser-")
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        # Chromium reads 3 and writes 4. These numbers may be taken here, so that a shell assigns them.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_read, from_write)]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}', "bash", program(), "--headless=new",
             "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-sync", "--disable-background-networking",
             "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb",
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=ends, start_new_session=True)
        for end in ends:
            os.close(end)
        os.close(to_read)
        os.close(from_write)
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(Exception):
            self.call("Browser.close", seconds=5)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, seconds=60, **parameters):
        """Sends a command and returns its result. Events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            answer = self._next(end, method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, end, what):
        while b"\0" not in self.received:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the browser did not answer: {what}")
            got = os.read(self.answers, 1 << 20)
            if not got:
                raise AssertionError(f"the browser has ended: {what}")
            self.received += got
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def open(self, url, **screen):
        """Opens a tab, which Page.load takes to the address."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.tabs.append(target)
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(domain + ".enable")
        page.load(url, **screen)
        return page

    def close_tabs(self):
        """Closes the tabs that open() opened, and forgets their events."""
        for target in self.tabs:
            self.call("Target.closeTarget", targetId=target)
        self.tabs, self.events = [], []


class Page:
    """A tab."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def load(self, url, width=1280, height=900, dark=False, scale=1):
        """Loads an address, or loads it again, on a screen of this size. A new tab would need a new process."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """Returns the value of a JavaScript expression, as JSON has it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, seconds=20):
        """Waits until a JavaScript expression is true, and returns it. It may throw until the page has loaded."""
        end = time.monotonic() + seconds
        while True:
            value = None
            with contextlib.suppress(AssertionError):
                value = self.value(expression)
            if value:
                return value
            if time.monotonic() > end:
                body = self.value("document.body ? document.body.innerText : ''")
                raise AssertionError(f"not within {seconds} s: {expression}; the page says: {body[:1500]}")
            time.sleep(0.05)

    def key(self, key, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)

    def screenshot(self, height=None, kind="png"):
        """Returns an image of the page, of this kind, down to this height; by default of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        options = {"format": kind, "captureBeyondViewport": True, **({"quality": 80} if kind == "webp" else {})}
        options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])

    def complaints(self):
        """Returns the errors and policy violations that the browser reported."""
        told = []
        for event in self._events():
            parameters = event.get("params", {})
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                told.append(parameters["entry"]["text"])
            if event.get("method") == "Runtime.exceptionThrown":
                told.append(str(parameters["exceptionDetails"]))
        return told

    def addresses(self):
        """Returns every address that the page requested."""
        return [event["params"]["request"]["url"] for event in self._events()
                if event.get("method") == "Network.requestWillBeSent"]

    def _events(self):
        self.value("0") # what the browser has told by now is received before this answer
        return [event for event in self.browser.events if event.get("sessionId") == self.session]
