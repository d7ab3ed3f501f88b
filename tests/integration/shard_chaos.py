# SPDX-License-Identifier: MIT
"""What happens to the members of a shard, and to etcd, while clients write."""

import signal
import time

from harness import eventually


class Chaos:
    """Faults of a shard. Each function returns the member that was primary, if it is no longer primary."""

    def __init__(self, etcd, shard, draw):
        self.etcd, self.shard, self.draw = etcd, shard, draw

    def kill(self, primary):
        primary.server.process.kill()
        return primary.restart

    def stop_cleanly(self, primary):
        primary.server.process.terminate()
        primary.server.process.wait(30)
        return primary.start

    def pause(self, primary):
        primary.signal(signal.SIGSTOP)
        return lambda: primary.signal(signal.SIGCONT)

    def switch(self, _):
        eventually(lambda: self.shard.primary().ask("HA", "SWITCH") == "OK", "a primary hands over")
        return lambda: None

    def kill_beside_paused_etcd(self, primary):
        which = self.draw.randrange(len(self.etcd.processes))
        self.etcd.signal(which, signal.SIGSTOP)
        primary.server.process.kill()

        def after():
            self.etcd.signal(which, signal.SIGCONT)
            primary.restart()
        return after

    def disturb(self, primary):
        """Disturbs a replica or a member of etcd. No other member may take over."""
        replica = self.draw.choice(self.shard.others(primary))
        if self.draw.randrange(2):
            replica.restart()
        else:
            which = self.draw.randrange(len(self.etcd.processes))
            self.etcd.signal(which, signal.SIGSTOP)
            replica.signal(signal.SIGSTOP)
            time.sleep(self.draw.random())
            replica.signal(signal.SIGCONT)
            self.etcd.signal(which, signal.SIGCONT)


def fail_over(chaos, how):
    """Returns the time without a primary."""
    primary = chaos.shard.whole()
    term = primary.term()
    began = time.monotonic()
    after = how(primary)
    chaos.shard.primary(after=term)
    took = time.monotonic() - began
    after()
    return took
