# SPDX-License-Identifier: MIT
"""prometheus - a real Prometheus for tests, with the scrape job and the rules of deploy/prometheus."""

import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

from harness import ROOT, equal, free_port

RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "sherwood.rules.yml").read_text(encoding="utf-8"))


class Prometheus:
    """Prometheus with deploy's own configuration, except the address and the scrape interval."""

    def __init__(self, servers, folder, secrets=(), rules=RULES):
        """`secrets`: the root of the daemon's certificate, and its token."""
        self.folder = pathlib.Path(folder)
        text = (ROOT / "deploy/prometheus/scrape.yml").read_text(encoding="utf-8")
        if secrets:
            text, lines = re.subn(r"(?m)^    # ((?:  )?[a-z_]+:.*)$", r"    \1", text)
            equal(lines, 5, "lines of scrape.yml for TLS and a token")
        configuration = yaml.safe_load(text)
        configuration["global"].update(scrape_interval="500ms", evaluation_interval="500ms")
        job, = configuration["scrape_configs"]
        job["static_configs"] = [{"targets": [f"{server.host}:{server.http_port}" for server in servers]}]
        if secrets:
            job["tls_config"]["ca_file"], job["authorization"]["credentials_file"] = map(str, secrets)
        (self.folder / "scrape.yml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        (self.folder / "sherwood.rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        self.port, self.count = free_port(), len(servers)

    def __enter__(self):
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/scrape.yml", f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        self.process.wait(20)
        if kind is not None:
            print("  prometheus: " + (self.folder / "log").read_text(errors="replace")[-1500:])

    def get(self, path, **arguments):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as refused:
            if refused.code == 503:  # it starts
                raise
            raise AssertionError(f"{arguments}: {refused.read().decode()}") from None

    def query(self, expression):
        """Returns [(labels, value)] of an expression now."""
        result = self.get("query", query=expression)
        equal(result["resultType"], "vector", expression)
        return [(sample["metric"], float(sample["value"][1])) for sample in result["result"]]

    def up(self, wanted):
        try:
            return [value for _, value in self.query("up")] == [wanted] * self.count
        except OSError:
            return False
