# SPDX-License-Identifier: MIT
"""cluster_peers - clients of Redis Clusters by other authors, with one interface: set, get and incr of many keys, a
transaction, and MGET. All commands are in flight at once, or as many as the client sends. A client that is not
installed raises Skip."""

import asyncio
import ctypes
import json
import os
import pathlib
import shutil
import subprocess

import redis

from harness import Skip, check

HERE = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    """The error that the client raised."""


class RedisPy:
    """redis-py's RedisCluster."""

    def __init__(self, port):
        self.client = redis.RedisCluster(host="127.0.0.1", port=port)

    def pipeline(self, commands):
        try:
            with self.client.pipeline() as pipeline:
                for words in commands:
                    pipeline.execute_command(*words)
                return pipeline.execute()
        except redis.RedisError as error:
            raise Failed(str(error)) from error

    def set(self, keys, add):
        self.pipeline([("SET", key, key + add) for key in keys])

    def get(self, keys):
        return [value and value.decode() for value in self.pipeline([("GET", key) for key in keys])]

    def incr(self, keys):
        return self.pipeline([("INCRBY", key, 1) for key in keys])

    def multi(self, keys):
        """RedisCluster of 4.3.4 has no transactions, so this uses its own connection to the node of the slot."""
        node = self.client.get_node_from_key(str(keys[0]))
        with self.client.get_redis_connection(node).pipeline(transaction=True) as pipeline:
            for key in keys:
                pipeline.incrby(key, 1)
            return pipeline.execute()

    def mget(self, keys):
        """RedisCluster sends nothing if the keys have several slots, so this asks a node directly."""
        try:
            node = self.client.get_node_from_key(str(keys[0]))
            return self.client.get_redis_connection(node).execute_command("MGET", *keys)
        except redis.RedisError as error:
            raise Failed(str(error)) from error

    def close(self):
        self.client.close()


class NodeRedis:
    """node-redis' cluster, in a process of its own."""

    def __init__(self, port):
        if not shutil.which("node"):
            raise Skip("node is not installed (Debian's nodejs)")
        self.process = subprocess.Popen(["node", HERE / "cluster_peer.js", str(port)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
        said = self.read()
        if "missing" in said:
            self.close()
            raise Skip(said["missing"])

    def read(self):
        line = self.process.stdout.readline()
        check(line, "node has ended")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        said = self.read()
        if "error" in said:
            raise Failed(said["error"])
        return said["reply"]

    def __getattr__(self, name):
        return lambda *words: self.ask(name, *words)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Reply(ctypes.Structure):
    """valkeyReply of libvalkey."""


Reply._fields_ = [("type", ctypes.c_int), ("integer", ctypes.c_longlong), ("dval", ctypes.c_double),
                  ("len", ctypes.c_size_t), ("str", ctypes.c_char_p), ("vtype", ctypes.c_char * 4),
                  ("elements", ctypes.c_size_t), ("element", ctypes.POINTER(ctypes.POINTER(Reply)))]
# Of valkey/read.h.
REPLY_ARRAY, REPLY_INTEGER, REPLY_NIL, REPLY_ERROR = 2, 3, 4, 6


class LibValkey:
    """libvalkey's valkeyCluster*, the successor of hiredis-cluster, by its C calls."""

    def __init__(self, port):
        try:
            self.lib = ctypes.CDLL("libvalkey.so.0")
        except OSError as error:
            raise Skip("libvalkey.so.0 is not installed") from error
        for name in ("valkeyClusterConnect", "valkeyClusterCommandArgv"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.lib.valkeyClusterCommandArgv.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.lib.valkeyClusterAppendCommandArgv.argtypes = self.lib.valkeyClusterCommandArgv.argtypes
        self.lib.valkeyClusterGetReply.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self.lib.valkeyClusterFree.argtypes = self.lib.freeReplyObject.argtypes = (ctypes.c_void_p,)
        self.lib.valkeyClusterReset.argtypes = (ctypes.c_void_p,)
        self.client = self.lib.valkeyClusterConnect(f"127.0.0.1:{port}".encode())
        check(self.client, "valkeyClusterConnect")

    @staticmethod
    def argv(words):
        words = [str(word).encode() for word in words]
        return (len(words), (ctypes.c_char_p * len(words))(*words),
                (ctypes.c_size_t * len(words))(*map(len, words)))

    def value(self, reply):
        if reply.type == REPLY_ERROR:
            raise Failed(reply.str.decode())
        if reply.type == REPLY_ARRAY:
            return [self.value(reply.element[i].contents) for i in range(reply.elements)]
        return {REPLY_INTEGER: reply.integer, REPLY_NIL: None}.get(reply.type, reply.str and reply.str.decode())

    def taken(self, pointer):
        if not pointer:
            self.lib.valkeyClusterReset(self.client)
            raise Failed("no reply")
        try:
            return self.value(ctypes.cast(pointer, ctypes.POINTER(Reply)).contents)
        finally:
            self.lib.freeReplyObject(pointer)

    def one_by_one(self, commands):
        """Pipelines follow no redirection, as the README says. So this sends redirected commands again, one by one."""
        return [self.taken(self.lib.valkeyClusterCommandArgv(self.client, *self.argv(words))) for words in commands]

    def pipeline(self, commands):
        for words in commands:
            if self.lib.valkeyClusterAppendCommandArgv(self.client, *self.argv(words)):
                self.lib.valkeyClusterReset(self.client)
                raise Failed("cannot be sent")
        replies, failure = [], None
        for words in commands:
            pointer = ctypes.c_void_p()
            self.lib.valkeyClusterGetReply(self.client, ctypes.byref(pointer))
            try:
                replies.append(self.taken(pointer.value))
            except Failed as error:
                if str(error).startswith(("MOVED", "ASK", "TRYAGAIN")):
                    replies.append(words)
                else:
                    failure = error
                    break
        if failure:
            raise failure
        return [self.one_by_one([reply])[0] if isinstance(reply, tuple) else reply for reply in replies]

    def set(self, keys, add):
        self.pipeline([("SET", key, key + add) for key in keys])

    def get(self, keys):
        return self.pipeline([("GET", key) for key in keys])

    def incr(self, keys):
        return self.one_by_one([("INCRBY", key, 1) for key in keys])

    def multi(self, keys):
        raise Skip("libvalkey has no transactions over a cluster")

    def mget(self, keys):
        return self.one_by_one([("MGET", *keys)])[0]

    def close(self):
        self.lib.valkeyClusterFree(self.client)


class Glide:
    """valkey-glide of PyPI."""

    def __init__(self, port):
        try:
            import glide  # pylint: disable=import-outside-toplevel,import-error
        except ImportError as error:
            raise Skip("valkey-glide is not installed (PyPI's valkey-glide)") from error
        self.glide, self.loop = glide, asyncio.new_event_loop()
        settings = glide.GlideClusterClientConfiguration([glide.NodeAddress("127.0.0.1", port)], request_timeout=5000)
        self.client = self.loop.run_until_complete(glide.GlideClusterClient.create(settings))

    def all(self, calls):
        async def together():
            return await asyncio.gather(*calls)
        try:
            return self.loop.run_until_complete(together())
        except self.glide.GlideError as error:
            raise Failed(str(error)) from error

    def set(self, keys, add):
        for i in range(0, len(keys), 500):  # the client has at most 1000 commands in flight by default
            self.all([self.client.set(str(key), str(key + add)) for key in keys[i:i + 500]])

    def get(self, keys):
        values = []
        for i in range(0, len(keys), 500):
            values += self.all([self.client.get(str(key)) for key in keys[i:i + 500]])
        return [value and value.decode() for value in values]

    def incr(self, keys):
        return self.all([self.client.incr(str(key)) for key in keys])

    def multi(self, keys):
        batch = self.glide.ClusterBatch(is_atomic=True)
        for key in keys:
            batch.incr(str(key))
        return self.all([self.client.exec(batch, raise_on_error=True)])[0]

    def mget(self, keys):
        """The client splits MGET by itself, so this sends the whole command to one node."""
        route = self.glide.SlotKeyRoute(self.glide.SlotType.PRIMARY, str(keys[0]))
        return self.all([self.client.custom_command(["MGET", *map(str, keys)], route)])[0]

    def close(self):
        self.loop.run_until_complete(self.client.close())
        self.loop.close()
