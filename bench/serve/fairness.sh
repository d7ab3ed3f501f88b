#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fairness.sh - single commands beside saturating bulk frames:
#   bench/serve/fairness.sh [BUILD-FOLDER]
#
# BULK connections read large frames as fast as they can; meanwhile RESP connections send one GET at
# a time. Each load alone, then both at once; latency of the GETs and rate of the frames. Medians.
# In the environment:
#   REPETITIONS=5       SECONDS_EACH=5 (of a measurement)   KEYS=10000000     KEY_BITS=32
#   BULK=8, FRAME=262144, DEPTH=2, BULK_THREADS             RESP=64, RESP_THREADS
#   UNIX=1 (bulk frames over the Unix socket)               BACKEND=auto      SHERWOOD_FLAGS='...'
#   P99_MAX_US=0        fail if the p99 beside bulk frames is above it; 0: only report
#   OUTPUT=output/<time>/fairness
# It writes raw.csv, summary.csv and the daemon's log.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
repetitions=${REPETITIONS:-5}
seconds=${SECONDS_EACH:-5}
keys=${KEYS:-10000000}
key_bits=${KEY_BITS:-32}
cores=$(nproc)
bulk=${BULK:-8} frame=${FRAME:-262144} depth=${DEPTH:-2}
bulk_threads=${BULK_THREADS:-$((cores > 3 ? cores / 4 : 1))}
resp=${RESP:-64}
resp_threads=${RESP_THREADS:-$((cores > 7 ? cores / 8 : 1))}
limit_us=${P99_MAX_US:-0}
output=${OUTPUT:-output/$(date +%Y%m%d-%H%M%S)/fairness}
read -ra sherwood_flags <<<"${SHERWOOD_FLAGS:-}"
work=$(mktemp -d /tmp/sherwood-fairness.XXXXXX)
bulk_pid=''

# shellcheck source=bench/serve/servers.sh
. bench/serve/servers.sh

finish() {
    local status=$?
    trap - EXIT INT TERM
    [ -z "$bulk_pid" ] || kill "$bulk_pid" 2>/dev/null || true
    [ ! -d "$output" ] || cp "$work"/*.log "$output" 2>/dev/null || true
    stop_servers
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p "$output"
raw=$output/raw.csv
echo 'repetition,load,metric,value,unit' >"$raw"

# load_bulk SECONDS FILE, load_resp SECONDS FILE: JSON of sherwood-load.
load_bulk() {
    "$build/sherwood-load" -a "$bulk_address" -n "$keys" -o get -f "$frame" -c "$bulk" -d "$depth" \
        -t "$bulk_threads" --seconds "$1" --no-verify --json >"$2" 2>"$work/bulk.err"
}
load_resp() {
    "$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" --key-bits "$key_bits" \
        --protocol resp -o get -c "$resp" -d 1 -t "$resp_threads" --seconds "$1" --json >"$2" \
        2>"$work/resp.err"
}

# note REPETITION LOAD FILE: a row each of rate and latencies.
note() {
    jq -r --arg r "$1" --arg l "$2" '.phases[-1] |
        [$r, $l, "keys_per_second", .keys_per_second, "1/s"],
        (.latency_us | to_entries[] | select(.key | startswith("p") or . == "max") |
            [$r, $l, "latency_" + .key, .value, "us"]) | map(tostring) | join(",")' "$3" >>"$raw"
}

measure() {
    load_bulk "$seconds" "$work/bulk.json" || fail "bulk load: $(cat "$work/bulk.err")"
    note "$1" bulk_alone "$work/bulk.json"
    load_resp "$seconds" "$work/resp.json" || fail "RESP load: $(cat "$work/resp.err")"
    note "$1" resp_alone "$work/resp.json"
    # The bulk load begins first and ends last.
    load_bulk "$((seconds + 2))" "$work/bulk.json" &
    bulk_pid=$!
    sleep 1
    load_resp "$seconds" "$work/resp.json" || fail "RESP load: $(cat "$work/resp.err")"
    kill -0 "$bulk_pid" 2>/dev/null || fail "the bulk load ended too early: $(cat "$work/bulk.err")"
    wait "$bulk_pid" || fail "bulk load: $(cat "$work/bulk.err")"
    bulk_pid=''
    note "$1" bulk_beside_resp "$work/bulk.json"
    note "$1" resp_beside_bulk "$work/resp.json"
}

start_sherwood --backend "${BACKEND:-auto}" --key-bits "$key_bits" --capacity "$((keys * 2))" \
    "${sherwood_flags[@]}"
bulk_address=127.0.0.1:$sherwood_port
[ "${UNIX:-0}" = 0 ] || bulk_address=unix:$work/sherwood.sock
head -n 1 "$work/sherwoodd.log"
"$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" -o set --quiet || fail "filling"
for repetition in $(seq "$repetitions"); do
    echo "repetition $repetition of $repetitions"
    measure "$repetition"
done
tail -n +2 "$raw" | sort -t, -k2,3 -k4,4g | awk -F, -v OFMT=%.10g -v OFS=, '
    function flush() {
        if (n) print "fairness", key, (n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2), unit
        n = 0
    }
    BEGIN { print "study", "load", "metric", "value", "unit" }
    { k = $2 OFS $3; if (k != key) { flush(); key = k } v[++n] = $4; unit = $5 }
    END { flush() }' >"$output/summary.csv"
cat "$output/summary.csv"
echo "$bulk bulk connections, frames of $frame keys, $depth in flight each; $resp RESP connections."
echo "Raw measurements and the daemon's log: $output"
p99=$(awk -F, '$2 == "resp_beside_bulk" && $3 == "latency_p99" { printf "%.0f", $4 }' \
    "$output/summary.csv")
if [ "$limit_us" -gt 0 ] && [ "$p99" -gt "$limit_us" ]; then
    fail "p99 of $p99 us beside bulk frames, more than $limit_us"
fi
