# SPDX-License-Identifier: MIT
"""Feast's own tests of online stores, run on sherwood.feast: FULL_REPO_CONFIGS_MODULE=sherwood_suite.

Each environment of these tests gets its own daemon, on a Unix socket. SHERWOODD is the program of the daemon (sherwoodd),
and SHERWOODD_FLAGS are its options (--backend cpu --value-bytes 1024). deploy/docs/feast.md describes how to run the tests.
They passed with Feast at f0bc070, after version 0.67.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from tests.universal.feature_repos.universal.data_sources.file import FileDataSourceCreator
from tests.universal.feature_repos.universal.online_store_creator import OnlineStoreCreator

START_SECONDS_MAX = 60


class Sherwood(OnlineStoreCreator):
    """A daemon for the length of an environment."""

    def __init__(self, project_name, **more):
        super().__init__(project_name, **more)
        self.folder = self.process = None

    def create_online_store(self):
        self.folder = tempfile.mkdtemp(prefix="sherwood-")
        path = os.path.join(self.folder, "s")
        flags = os.environ.get("SHERWOODD_FLAGS", "--backend cpu --value-bytes 1024").split()
        self.process = subprocess.Popen(
            [os.environ.get("SHERWOODD", "sherwoodd"), "--unix-socket", path, "--port", "0", "--http-port", "0",
             "--capacity", "1M", *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS_MAX
        while not os.path.exists(path):
            if self.process.poll() is not None or time.monotonic() > end:
                self.teardown()
                raise RuntimeError("sherwoodd did not start: see its output above")
            time.sleep(0.01)
        return {"type": "sherwood.feast.SherwoodOnlineStore", "address": "unix:" + path}

    def teardown(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(START_SECONDS_MAX)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert status == 0, f"sherwoodd ended with {status}"


# Also runs tests that Feast selects by the name of one of these stores but that do not depend on the store.
_OURS = ({"type": "sherwood.feast.SherwoodOnlineStore"}, Sherwood)
AVAILABLE_ONLINE_STORES = {name: _OURS for name in os.environ.get("SHERWOOD_FEAST_NAMES", "sqlite").split()}
AVAILABLE_OFFLINE_STORES = [("local", FileDataSourceCreator)]
