// SPDX-License-Identifier: MIT
// cluster_peer.js - what cluster_peers.py asks of node-redis, a line of JSON in and one out:
//   node cluster_peer.js PORT
'use strict';

const readline = require('readline');

let redis;
try {
  redis = require('redis');
} catch {
  console.log(JSON.stringify({ missing: 'node-redis is not installed (Debian\'s node-redis)' }));
  process.exit(0);
}
const client = redis.createCluster({
  rootNodes: [{ url: `redis://127.0.0.1:${process.argv[2]}` }],
  defaults: { socket: { reconnectStrategy: () => 20 } },
});
client.on('error', () => {});

// All commands of a call are sent before the first reply is waited for.
const all = (keys, ask) => Promise.all(keys.map(ask));
const calls = {
  set: (keys, add) => all(keys, key => client.set(String(key), String(key + add))),
  get: keys => all(keys, key => client.get(String(key))),
  incr: keys => all(keys, key => client.incr(String(key))),
  multi: keys => {
    const transaction = client.multi();
    keys.forEach(key => transaction.incr(String(key)));
    return transaction.exec();
  },
  mget: keys => client.mGet(keys.map(String)),
};

async function main() {
  await client.connect();
  console.log(JSON.stringify({ ready: true }));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, keys, add] = JSON.parse(line);
    let answer;
    try {
      answer = { reply: await calls[name](keys, add) };
    } catch (error) {
      answer = { error: error.message };
    }
    console.log(JSON.stringify(answer));
  }
  process.exit(0);
}
main();
