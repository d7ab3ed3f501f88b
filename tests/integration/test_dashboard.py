#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Grafana's dashboard and Prometheus's rules: each expression on a real Prometheus that scrapes a daemon under load."""

import contextlib
import functools
import http.client
import json
import math
import re
import ssl
import subprocess
import tempfile
import time

import wire
from certificates import Authority
from harness import BUILD, ROOT, Server, case, check, equal, eventually, main
from prometheus import RULES, Prometheus

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "sherwood.json").read_text(encoding="utf-8"))
# What Grafana fills in. Scrapes are half a second apart here.
VARIABLES = {"$__rate_interval": "4s", "$instance": ".*"}


class Work:
    """Clients that run some of every operation until they are stopped."""

    def __init__(self, server):
        self.server = server
        load = [BUILD / "sherwood-load", "--address", server.address(), "--seconds", "120"]
        self.commands = [[*load, "--keys", "20000", "--mix", "get=5,set=4,delete=1", "--frame", "512", "--rate", "100000"],
                         [*load, "--protocol", "resp", "-o", "get", "--keys", "20000", "--rate", "20000", "-c", "4"]]

    def __enter__(self):
        self.processes = [subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                          for command in self.commands]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def once(self):
        """Runs what the generator does not: commands, errors, short connections."""
        with self.server.replies() as replies:
            equal(replies.ask("SET", 1, 2), "OK", "SET")
            equal(replies.ask("PING"), "PONG", "PING")
            check(isinstance(replies.ask("NOSUCH"), wire.Error), "NOSUCH")


@functools.cache
def expressions():
    """Returns [(place, expression)] of the dashboard, with its variables replaced."""
    found = [(f"{panel['title']}, {target['refId']}", target["expr"])
             for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    found += [(note["name"], note["expr"].rsplit(" > ", 1)[0]) for note in DASHBOARD["annotations"]["list"]]
    for name, text in VARIABLES.items():
        found = [(where, expression.replace(name, text)) for where, expression in found]
    return found


@contextlib.contextmanager
def watched():
    """Yields a daemon with a log and snapshots, under load, and a Prometheus that has scraped it for some seconds."""
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as folder, \
            Server("--data-dir", data, "--appendonly", "yes", "--log-segment-bytes", "1M") as server:
        server.redis_cli("BGSAVE")
        with Prometheus([server], folder) as prometheus, Work(server) as work:
            eventually(lambda: prometheus.up(1), "a scrape")
            end = time.monotonic() + 3
            while time.monotonic() < end:
                work.once()
                time.sleep(0.2)
            yield server, prometheus, work


def wrong_with(prometheus, expression):
    """Returns why an expression shows nothing; None if it shows something."""
    samples = prometheus.query(expression)
    if not samples:
        return "no series"
    return None if any(math.isfinite(value) for _, value in samples) else f"no number: {samples}"


def metrics_of(expression):
    """Returns the names of metrics in an expression."""
    return set(re.findall(r"\b((?:sherwood|process)_\w+|up)\b", re.sub(r'"[^"]*"|\b(?:on|by)\s*\([^)]*\)', "", expression)))


@case
def shown():
    """no panel is empty, no rule fails and no alert fires while all is well; one fires once the daemon is gone"""
    with watched() as (server, prometheus, work):
        # Expressions of the GPU are absent without one (tests/integration/test_gpu_figures.py has them).
        left = {where: expression for where, expression in expressions() if "sherwood_gpu_" not in expression}
        check(len(left) > 60, f"{len(left)} expressions")

        def all_shown():
            work.once()
            for where in [w for w, e in left.items() if wrong_with(prometheus, e) is None]:
                del left[where]
            return not left
        try:
            eventually(all_shown, "every expression of the dashboard")
        except AssertionError:
            raise AssertionError({where: (wrong_with(prometheus, e), e) for where, e in left.items()}) from None
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        equal(len(rules), sum(len(group["rules"]) for group in RULES["groups"]), "rules")
        for rule in rules:
            equal((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
            for name in metrics_of(rule["query"]):
                eventually(lambda n=name: prometheus.query(n), f"{rule['name']}: there is no {name}")  # a scrape may have failed
            if rule["type"] == "recording":
                eventually(lambda r=rule: wrong_with(prometheus, r["name"]) is None, rule["name"])
        eventually(lambda: prometheus.get("alerts")["alerts"] == [], lambda: f"alerts while all is well: {prometheus.get('alerts')}")
        server.stop()
        eventually(lambda: prometheus.up(0), "a scrape that fails")
        eventually(lambda: [a["labels"]["alertname"] for a in prometheus.get("alerts")["alerts"]] == ["SherwoodDown"],
                   "the alert SherwoodDown")


@case
def by_tls_with_a_token():
    """Prometheus with scrape.yml's settings reads a daemon with TLS and a token; a wrong token is refused"""
    with Authority() as authority, tempfile.TemporaryDirectory() as folder:
        cert, key = authority.sign("server")
        token, wrong = (authority.folder / name for name in ("token", "wrong"))
        for path in (token, wrong):
            path.write_text(f"{path.name}-word\n", encoding="ascii")
            path.chmod(0o600)
        class Secure(Server):
            def http_connection(self):
                return http.client.HTTPSConnection(self.host, self.http_port, timeout=20,
                                                   context=ssl.create_default_context(cafile=str(authority.ca)))
        with Secure("--http-tls", "yes", "--tls-cert", str(cert), "--tls-key", str(key),
                    "--http-token-file", str(token)) as server:
            with Prometheus([server], folder, (authority.ca, token)) as prometheus:
                eventually(lambda: prometheus.up(1), "a scrape")
            with Prometheus([server], folder, (authority.ca, wrong)) as prometheus:
                eventually(lambda: prometheus.up(0), "a scrape that is refused")


@case
def whole():
    """panels have ids, places, sources, units and meanings, and do not overlap; metrics are documented"""
    documented = set(re.findall(r"^\| `(\w+)` ", (ROOT / "deploy/docs/ref/metrics.md").read_text(encoding="utf-8"), re.M))
    names = {re.sub(r"_(bucket|count|sum)$", "", name) for _, e in expressions() for name in metrics_of(e)}
    equal(names - documented, set(), "metrics that metrics.md does not know")
    panels, cells, ids = DASHBOARD["panels"], {}, set()
    for panel in panels:
        title, place = panel["title"], panel["gridPos"]
        check(panel["id"] not in ids, f"{title}: id {panel['id']} occurs twice")
        ids.add(panel["id"])
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                check(x < 24 and (x, y) not in cells, f"{title} overlaps {cells.get((x, y))}")
                cells[x, y] = title
        if panel["type"] != "row":
            check(panel["description"] and panel["fieldConfig"]["defaults"]["unit"], title)
            equal(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"}, title)
    equal([v["name"] for v in DASHBOARD["templating"]["list"]], ["datasource", "instance"], "variables")
    alerts = [rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
    equal(len(alerts), len(set(alerts)), f"names of alerts: {sorted(alerts)}")


if __name__ == "__main__":
    main()
