#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# end-to-end.sh - rates from socket to table and back, every kind of client, one generator:
#   bench/serve/end-to-end.sh [BUILD-FOLDER]
#
# Bulk frames of 256Ki and 4Ki keys by TCP and Unix sockets, RESP at depth 1 and 64, MGET of 100, one
# client alone, the same with 10,000 idle connections, and single GETs beside saturating frames; the
# RESP loads against redis-server, too; then fresh inserts and deletes by frames of 4Ki, 64Ki and 256Ki.
# sherwood-load sends gets and sets of stored keys in frames drawn beforehand (bench/load/README.md) and
# does not compare replies: `make demo` and the tests do. Medians. In the environment:
#   REPETITIONS=5       SECONDS_EACH=2      KEYS=50000000      CAPACITY=134217728
#   BACKEND=auto        CONNECTIONS=16 (bulk)   LOAD_THREADS (half the cores)   IDLE=10000
#   REDIS_IO_THREADS=8  SHERWOOD_FLAGS      OUTPUT=output/<time>/end-to-end   COMMIT
# It writes raw.csv, summary.csv and run_info.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
repetitions=${REPETITIONS:-5}
seconds=${SECONDS_EACH:-2}
keys=${KEYS:-50000000}
resp_keys=1000000
capacity=${CAPACITY:-134217728}
connections=${CONNECTIONS:-16}
cores=$(nproc)
threads=${LOAD_THREADS:-$((cores > 1 ? cores / 2 : 1))}
idle=${IDLE:-10000}
io_threads=${REDIS_IO_THREADS:-8}
output=${OUTPUT:-output/$(date +%Y%m%d-%H%M%S)/end-to-end}
read -ra sherwood_flags <<<"${SHERWOOD_FLAGS:-}"
work=$(mktemp -d /tmp/sherwood-end-to-end.XXXXXX)
ulimit -n "$(ulimit -Hn)"

# shellcheck source=bench/serve/servers.sh
. bench/serve/servers.sh

finish() {
    local status=$?
    trap - EXIT INT TERM
    [ ! -d "$output" ] || cp "$work"/*.log "$output" 2>/dev/null || true
    stop_servers
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p "$output"
raw=$output/raw.csv
echo 'repetition,library,operation,slot_bits,batch,metric,value,unit' >"$raw"

# load REPETITION LIBRARY OPERATION SLOT_BITS BATCH options...: rate, p50 and p99.
load() {
    local row="$1,$2,$3,$4,$5" name=$3
    shift 5
    "$build/sherwood-load" --seconds "$seconds" --no-verify --json "$@" >"$work/$name.json" \
        2>"$work/load.err" || fail "sherwood-load $*: $(cat "$work/$name.json" "$work/load.err")"
    jq -r --arg row "$row" '.phases[-1] | ["keys_per_second", .keys_per_second, "1/s"],
        ["latency_p50", .latency_us.p50, "us"], ["latency_p99", .latency_us.p99, "us"] |
        $row + "," + (map(tostring) | join(","))' "$work/$name.json" >>"$raw"
}

# bulk_loads REPETITION: frames to the daemon with 32-bit keys.
bulk_loads() {
    local tcp=127.0.0.1:$sherwood_port unix=unix:$work/sherwood.sock
    local frames=(-n "$keys" -c "$connections" -t "$threads" --frames-prefilled 4)
    load "$1" sherwood e2e_bulk_get_tcp_256k 64 262144 -a "$tcp" -o get -f 262144 -d 2 "${frames[@]}"
    load "$1" sherwood e2e_bulk_get_unix_256k 64 262144 -a "$unix" -o get -f 262144 -d 2 "${frames[@]}"
    load "$1" sherwood e2e_bulk_get_tcp_4k 64 4096 -a "$tcp" -o get -f 4096 -d 32 "${frames[@]}"
    load "$1" sherwood e2e_bulk_upsert_tcp_256k 64 262144 -a "$tcp" -o set -f 262144 -d 2 "${frames[@]}"
    load "$1" sherwood e2e_bulk_get_tcp_256k_idle 64 262144 -a "$tcp" -o get -f 262144 -d 2 \
        "${frames[@]}" --idle-connections "$idle"
    local rss
    rss=$(awk '/^RssAnon/ { printf "%.1f", $2 / 1024 }' "/proc/$sherwood_pid/status")
    echo "$1,sherwood,e2e_idle_connections,64,$idle,memory_anonymous,$rss,MiB" >>"$raw"
}

# resp_loads REPETITION LIBRARY PORT KEY-BITS
resp_loads() {
    local bits='' to=(-a "127.0.0.1:$3" --protocol resp -n "$resp_keys" --key-bits "$4")
    [ "$2" != sherwood ] || bits=$((2 * $4))
    load "$1" "$2" e2e_resp_get_p64 "$bits" 1 "${to[@]}" -o get -c 64 -d 64 -t "$threads"
    load "$1" "$2" e2e_resp_set_p64 "$bits" 1 "${to[@]}" -o set -c 64 -d 64 -t "$threads"
    load "$1" "$2" e2e_resp_get_p1 "$bits" 1 "${to[@]}" -o get -c 64 -d 1 -t "$threads"
    load "$1" "$2" e2e_resp_get_one "$bits" 1 "${to[@]}" -o get -c 1 -d 1 -t 1
    load "$1" "$2" e2e_resp_mget100_keys "$bits" 100 "${to[@]}" -o mget --mget 100 -c 64 -d 16 -t "$threads"
}

entries() { redis-cli -p "$sherwood_port" DBSIZE; }

# gained REPETITION OPERATION FRAME JSON ENTRIES-BEFORE ENTRIES-AFTER: keys/s that the table gained or lost
# during the last phase of a run, and that phase's latency of a frame.
gained() {
    jq -r --arg row "$1,sherwood,$2,64,$3" --argjson keys $(($5 > $6 ? $5 - $6 : $6 - $5)) '.phases[-1] |
        ["keys_per_second", $keys / .seconds, "1/s"], ["latency_p50", .latency_us.p50, "us"],
        ["latency_p99", .latency_us.p99, "us"] | $row + "," + (map(tostring) | join(","))' "$4" >>"$raw"
}

# change_loads REPETITION FRAME NAME DEPTH: KEYS go into the emptied table, all of them fresh, and are deleted.
# Connections that are done before others delete keys of theirs again, which does not count.
change_loads() {
    local json=$work/change.json run
    run=(-a "127.0.0.1:$sherwood_port" -n "$keys" -f "$2" -d "$4" -c "$connections" -t "$threads" --no-verify --json)
    [ "$(redis-cli -p "$sherwood_port" FLUSHALL)" = OK ] || fail "FLUSHALL"
    "$build/sherwood-load" "${run[@]}" -o set >"$json" || fail "inserting: $(cat "$json")"
    local stored
    stored=$(entries)
    gained "$1" "e2e_bulk_insert_fresh_tcp_$3" "$2" "$json" 0 "$stored"
    "$build/sherwood-load" "${run[@]}" --mix delete=100 --distribution sequential >"$json" ||
        fail "deleting: $(cat "$json")"
    gained "$1" "e2e_bulk_delete_tcp_$3" "$2" "$json" "$stored" "$(entries)"
}

# Single GETs while 8 connections send frames as fast as they are answered.
fairness() {
    local bulk
    "$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" -o get -f 262144 -c 8 -d 2 -t 4 \
        --frames-prefilled 4 --seconds $((seconds + 2)) --quiet >/dev/null 2>"$work/bulk.err" &
    bulk=$!
    sleep 1
    load "$1" sherwood e2e_resp_get_p1_beside_bulk 64 1 -a "127.0.0.1:$sherwood_port" --protocol resp \
        -n "$resp_keys" --key-bits 32 -o get -c 64 -d 1 -t 2
    wait "$bulk" || fail "bulk load: $(cat "$work/bulk.err")"
}

write_info() {
    local commit=${COMMIT:-}
    [ -n "$commit" ] || commit=$(git rev-parse -q --verify HEAD 2>/dev/null || echo "not a git checkout")
    {
        echo "date: $(date --utc +%Y-%m-%dT%H:%M:%SZ)"
        echo "command: REPETITIONS=$repetitions SECONDS_EACH=$seconds KEYS=$keys CAPACITY=$capacity" \
            "CONNECTIONS=$connections LOAD_THREADS=$threads IDLE=$idle REDIS_IO_THREADS=$io_threads" \
            "SHERWOOD_FLAGS='${sherwood_flags[*]}' bench/serve/end-to-end.sh $build"
        echo "commit: $commit"
        echo "cpu: $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $cores processors"
        echo "gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
            echo none)"
        echo "kernel: $(uname -srm)"
        echo "sherwoodd: $("$build/sherwoodd" --version | head -n 1)"
        echo "redis-server: $(redis-server --version)"
        echo "redis flags: --save '' --appendonly no --io-threads $io_threads"
        echo "sherwoodd's first line: $(head -n 1 "$work/sherwoodd.log")"
    } >"$output/run_info.txt"
}

flags=(--backend "${BACKEND:-auto}" --capacity "$capacity" --connections-max $((idle + 1000)) "${sherwood_flags[@]}")
start_sherwood --key-bits 32 "${flags[@]}"
start_redis --io-threads "$io_threads"
write_info
cat "$output/run_info.txt"
for to in "127.0.0.1:$sherwood_port --key-bits 32" "127.0.0.1:$redis_port --key-bits 64"; do
    # shellcheck disable=SC2086
    "$build/sherwood-load" -a $to --protocol resp -n "$resp_keys" -o set --quiet || fail "filling $to"
done
"$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" -o set -f 65536 --quiet || fail "filling"
for repetition in $(seq "$repetitions"); do
    echo "repetition $repetition of $repetitions"
    bulk_loads "$repetition"
    resp_loads "$repetition" sherwood "$sherwood_port" 32
    fairness "$repetition"
    resp_loads "$repetition" redis "$redis_port" 64
done
for repetition in $(seq "$repetitions"); do
    change_loads "$repetition" 4096 4k 32
    change_loads "$repetition" 65536 64k 4
    change_loads "$repetition" 262144 256k 2
done
stop_sherwood
start_sherwood --key-bits 64 "${flags[@]}"
"$build/sherwood-load" -a "127.0.0.1:$sherwood_port" -n "$keys" -o set -f 65536 --quiet || fail "filling"
for repetition in $(seq "$repetitions"); do
    load "$repetition" sherwood e2e_bulk_get_u64_tcp_256k 128 262144 -a "127.0.0.1:$sherwood_port" \
        -n "$keys" -o get -f 262144 -d 2 -c "$connections" -t "$threads" --frames-prefilled 4
done

# F: what bulk loads put into the table, of its slots. Redis has neither.
load_factor=$(awk -v k="$keys" -v c="$capacity" 'BEGIN { printf "%.3f", k / c }')
{
    echo 'study,library,operation,slot_bits,F,batch,metric,value,unit'
    tail -n +2 "$raw" | sort -t, -k2,6 -k7,7g | awk -F, -v CONVFMT=%.10g -v f="$load_factor" '
        function flush() {
            if (n) print "end-to-end," key "," (n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2) "," unit
            n = 0
        }
        { k = $2 "," $3 "," $4 "," ($2 == "redis" ? "" : f) "," $5 "," $6
          if (k != key) { flush(); key = k } v[++n] = $7; unit = $8 }
        END { flush() }'
} >"$output/summary.csv"
grep -vE 'latency_p50|e2e_bulk.*latency' "$output/summary.csv"
echo "Raw measurements, summary and machine: $output"
