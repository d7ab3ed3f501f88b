#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo.sh - what Sherwood does, in about a minute: `make demo`, or bench/demo.sh [BUILD-FOLDER].
#
# A daemon on free ports, 10 million pairs in by bulk frames and read back, redis-cli, the counters
# by curl, a clean stop; then a daemon with a log, killed while it is written to, and a restart with
# nothing lost. Every answer is checked; the first wrong one ends the demo with exit status
# 1 and the name of the step. Nothing is left behind.
#   KEYS=10000000   BACKEND=auto
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
keys=${KEYS:-10000000}
backend=${BACKEND:-auto}
work=$(mktemp -d /tmp/sherwood-demo.XXXXXX)

# shellcheck source=bench/serve/servers.sh
. bench/serve/servers.sh

# shellcheck source=bench/demo-steps.sh
. bench/demo-steps.sh

# asked EXPECTED command...: does what shown does, for a command that redis-cli sends to the daemon.
asked() {
    local expected=$1
    shift
    shown "$expected" redis-cli -p "$sherwood_port" "$@"
}

# counted SERIES EXPECTED: shows a counter, which must have grown by exactly the work of the demo.
counted() {
    local value
    value=$(awk -v series="$1" '$1 == series { printf "%.0f", $2 }' "$work/metrics")
    printf '%-44s %s\n' "$1" "$value"
    [ "$value" = "$2" ] || fail "$1 is '$value', not $2"
}

began=$SECONDS
title 'start the daemon'
start_sherwood --backend "$backend"
cat "$work/sherwoodd.log"

title "$keys pairs in by bulk frames, read back and verified"
echo "\$ sherwood-load -a 127.0.0.1:$sherwood_port -n $keys"
"$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" | tee "$work/load"

title 'the Redis protocol on the same port and the same table'
asked OK SET 42 7
asked 7 GET 42
asked OK MSET 1 100 2 200
asked $'100\n\n200' MGET 1 3 2
asked 107 INCRBY 1 7
asked $((keys + 3)) DBSIZE
key=$("$build/sherwood-load" --key-of 5)
echo "  a key of the bulk load:"
asked "$("$build/sherwood-load" --value-of "$key")" GET "$key"
asked 4 DEL 42 1 2 "$key"

title 'the counters'
echo "\$ curl -s 127.0.0.1:$http_port/metrics"
curl -fs "http://127.0.0.1:$http_port/metrics" >"$work/metrics" || fail "curl /metrics"
counted 'sherwood_inserted_total' $((keys + 3))
counted 'sherwood_updated_total' 1
counted 'sherwood_deleted_total' 4
counted 'sherwood_hits_total{operation="get"}' $((keys + 4))
counted 'sherwood_misses_total{operation="get"}' 1
counted 'sherwood_failures_total' 0
grep '^sherwood_probes_total' "$work/metrics" || fail "/metrics has no sherwood_probes_total"

title 'stop with SIGTERM'
stop_sherwood
[ "$stop_status" -eq 0 ] || fail "sherwoodd ended with status $stop_status"
[ "$stop_ms" -le 2000 ] || fail "the stop took $stop_ms ms"
echo "exit status 0 after $stop_ms ms"

title 'a daemon with a write-ahead log, killed while it is written to'
with_log=(--data-dir "$work/data" --appendonly yes --appendfsync always --log-segment-bytes 64M)
mkdir "$work/data"
start_sherwood --backend "$backend" "${with_log[@]}"
tail -n 1 "$work/sherwoodd.log"
asked OK MSET 1 100 2 200
asked 107 INCRBY 1 7
"$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" -o set --seconds 20 >"$work/cut" 2>&1 &
load_pid=$!
sleep 0.5
echo '$ kill -9'
kill -9 "$sherwood_pid"
wait "$sherwood_pid" 2>/dev/null || true
! wait "$load_pid" || fail "the load ended before the daemon was killed"

title 'the next start: what was answered is there'
start_sherwood --backend "$backend" "${with_log[@]}"
grep replayed "$work/sherwoodd.log" || fail "the log says nothing of a replay"
asked $'107\n200' MGET 1 2
stop_sherwood
[ "$stop_status" -eq 0 ] || fail "sherwoodd ended with status $stop_status"

title "done in $((SECONDS - began)) s"
grep -E '^(set|get) ' "$work/load" | while read -r phase _ rate mb _; do
    echo "$phase: $rate keys/s, $mb MB/s"
done
tail -n 1 "$work/load"
