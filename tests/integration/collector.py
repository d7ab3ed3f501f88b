# SPDX-License-Identifier: MIT
"""collector - a receiver of OTLP over HTTP that keeps what it gets."""

import http.server
import json
import ssl
import threading

from harness import equal, eventually


class Collector:
    """Receives exports. `answers` has (status, body, headers) for the next ones; then 200 follows. While
    `free` is not set, it answers nothing."""

    def __init__(self, tls=None):
        collector = self
        self.exports, self.wrong, self.answers = [], [], []
        self.free = threading.Event()
        self.free.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            """One export."""
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if (self.path, self.headers["Content-Type"]) != ("/v1/traces", "application/json"):
                    collector.wrong.append((self.path, self.headers["Content-Type"]))
                collector.exports.append(json.loads(body))
                collector.free.wait(60)
                status, answer, headers = collector.answers.pop(0) if collector.answers else (200, b"{}", {})
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *arguments: None # a server that does not trust the certificate leaves
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.free.set()
        self.http.shutdown()
        self.http.server_close()
        equal(self.wrong, [], "paths and types of exports")

    def spans(self, count=0):
        """Returns the spans of all exports, once there are at least `count`."""
        def received():
            return [span for export in list(self.exports) for resource in export["resourceSpans"]
                    for scope in resource["scopeSpans"] for span in scope["spans"]]
        if count:
            eventually(lambda: len(received()) >= count, lambda: f"{count} spans; it has {received()}")
        return received()


def attributes(holder):
    """Returns {name: value} of OTLP's attributes. Integers are texts there."""
    values = {}
    for each in holder["attributes"]:
        (kind, value), = each["value"].items()
        values[each["key"]] = int(value) if kind == "intValue" else value
    return values
