#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo-cluster.sh - several daemons as one key space: `make demo-cluster`, or bench/demo-cluster.sh
# [BUILD-FOLDER].
#
# A daemon on each GPU of this machine, or two without a GPU, with one topology; 10 million pairs in
# by bulk frames and read back from all of them; redis-cli; slots that migrate with their keys while a
# load writes these keys; a clean stop. Every answer is checked; the first wrong one ends the demo with exit
# status 1 and the name of the step. Nothing is left behind.
#   KEYS=10000000   BACKEND=auto   DAEMONS=(GPUs, at least 2)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
keys=${KEYS:-10000000}
backend=${BACKEND:-auto}
gpus=$({ nvidia-smi --list-gpus 2>/dev/null || true; } | wc -l)
daemons=${DAEMONS:-$((gpus > 2 ? gpus : 2))}
work=$(mktemp -d /tmp/sherwood-demo.XXXXXX)

# shellcheck source=bench/serve/servers.sh
. bench/serve/servers.sh

# shellcheck source=bench/demo-steps.sh
. bench/demo-steps.sh

cli() {
    printf '$ sherwood-cli -p %s %s\n' "${ports[0]}" "$*"
    "$build/sherwood-cli" -p "${ports[0]}" "$@" || fail "sherwood-cli $*"
}

loaded() {
    printf '$ sherwood-load --cluster -a %s %s\n' "$addresses" "$*"
    "$build/sherwood-load" --cluster -a "$addresses" "$@"
}

# free_port: an unused port below the kernel's range of ephemeral ports.
free_port() {
    local port
    while port=$((12000 + RANDOM % 17000)); (echo >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}

answers() {
    redis-cli -p "$1" PING | grep -q PONG
}

began=$SECONDS
title "a topology of $daemons nodes"
ports=()
while [ "${#ports[@]}" -lt "$daemons" ]; do
    port=$(free_port)
    [[ " ${ports[*]} " == *" $port "* ]] || ports+=("$port")
done
nodes=$(printf ',127.0.0.1:%s' "${ports[@]}") nodes=${nodes:1}
addresses=$nodes
echo "\$ sherwood-cli cluster create --nodes $nodes --output topology.json"
"$build/sherwood-cli" cluster create --nodes "$nodes" --output "$work/topology.json" >"$work/nodes" ||
    fail "cluster create"
sed "s|$work/||g" "$work/nodes"

title 'start a daemon for each of them'
i=0
while read -r flags; do
    device=()
    [ "$gpus" -eq 0 ] || device=(--device $((i % gpus)))
    mkdir -p "$work/s$i"
    # shellcheck disable=SC2086
    "$build/sherwoodd" --backend "$backend" $flags "${device[@]}" --http-port 0 \
        --loops 2 >"$work/$i.log" 2>&1 &
    pids+=($!)
    i=$((i + 1))
done < <(sed 's/.*sherwoodd //' "$work/nodes")
for port in "${ports[@]}"; do
    wait_until 60 answers "$port" || fail "the daemon of port $port does not answer"
done
cat "$work"/*.log
cli cluster check

title "$keys pairs in by bulk frames: each goes to the daemon that owns its slot, and is read back and verified"
loaded -n "$keys"

title 'redis-cli is sent to the owner'
slot_of_one=$(redis-cli -p "${ports[0]}" CLUSTER KEYSLOT 1)
owner=$((slot_of_one * daemons / 16384))
shown "MOVED $slot_of_one 127.0.0.1:${ports[owner]}" redis-cli -p "${ports[owner == 0 ? 1 : 0]}" SET 1 100
shown OK redis-cli -c -p "${ports[0]}" SET 1 100
shown 107 redis-cli -c -p "${ports[0]}" INCRBY 1 7
shown 1 redis-cli -c -p "${ports[0]}" DEL 1

title 'a thousand slots move with their keys, while a load stores all keys again'
loaded -n "$keys" -o set --seconds 20 >"$work/beside" 2>&1 &
load=$!
pids+=("$load")
sleep 0.5
cli cluster move 0-999 s0 s1
kill -0 "$load" 2>/dev/null || { cat "$work/beside"; fail "the load ended before the slots had moved"; }
wait "$load" || { cat "$work/beside"; fail "the load beside the move"; }
unset 'pids[-1]'
grep '^set ' "$work/beside"
cli cluster slots
cli cluster check
loaded -n "$keys" -o get >"$work/again" || { cat "$work/again"; fail "a key is lost"; }
tail -n 1 "$work/again"

title 'stop with SIGTERM'
kill -TERM "${pids[@]}"
for pid in "${pids[@]}"; do
    wait "$pid" || fail "a daemon ended with status $?"
done
pids=()
title "done in $((SECONDS - began)) s"
