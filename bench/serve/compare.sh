#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# compare.sh - Sherwood beside redis-server on one machine: `make bench-serve`.
#   bench/serve/compare.sh [BUILD-FOLDER]
#
# (a) bulk GET in frames of 65,536 keys against redis MGET of 100 keys, in keys per second;
# (b) RESP SET and GET, 50 connections, pipelines of 64, each pair by the same tool.
# Both servers run all the time. The script loads one after the other, in an order that changes with
# each repetition, and reports medians. In the environment:
#   REPETITIONS=5       SECONDS_EACH=3 (of a measurement)   KEYS=1000000
#   BACKEND=auto        CONNECTIONS=4, DEPTH=2 (bulk)       SHERWOOD_FLAGS='--loops 4 ...'
#   LOAD_THREADS        of the load generators; half the cores
#   REDIS_IO_THREADS    1; redis recommends more only for hosts with at least 4 cores
#   OUTPUT=output/<time>/serve   COMMIT (where there is no git checkout)
# It writes raw.csv (every measurement), summary.csv, run_info.txt, and the servers' logs.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build}
repetitions=${REPETITIONS:-5}
seconds=${SECONDS_EACH:-3}
keys=${KEYS:-1000000}
backend=${BACKEND:-auto}
connections=${CONNECTIONS:-4}
depth=${DEPTH:-2}
cores=$(nproc)
threads=${LOAD_THREADS:-$((cores > 1 ? cores / 2 : 1))}
io_threads=${REDIS_IO_THREADS:-1}
output=${OUTPUT:-output/$(date +%Y%m%d-%H%M%S)/serve}
read -ra sherwood_flags <<<"${SHERWOOD_FLAGS:-}"
capacity=16777216
frame=65536
mget=100
work=$(mktemp -d /tmp/sherwood-serve.XXXXXX)

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
echo 'repetition,library,tool,operation,batch,metric,value,unit' >"$raw"

port_of_library() {
    [ "$1" = redis ] && echo "$redis_port" || echo "$sherwood_port"
}

record() { # repetition library tool operation batch metric value unit
    local IFS=,
    echo "$*" >>"$raw"
}

# by_load REPETITION LIBRARY OPERATION BATCH options...: sherwood-load, keys/s and p99.
by_load() {
    local repetition=$1 library=$2 operation=$3 batch=$4
    shift 4
    "$build/sherwood-load" -a "127.0.0.1:$(port_of_library "$library")" -n "$keys" -t "$threads" \
        --seconds "$seconds" --json "$@" >"$work/load.json" 2>"$work/load.err" || {
        cat "$work/load.json" "$work/load.err" >&2
        fail "sherwood-load $* against $library"
    }
    record "$repetition" "$library" sherwood-load "$operation" "$batch" keys_per_second \
        "$(jq '.phases[-1].keys_per_second | round' "$work/load.json")" 1/s
    record "$repetition" "$library" sherwood-load "$operation" "$batch" latency_p99 \
        "$(jq '.phases[-1].latency_us.p99' "$work/load.json")" us
}

# by_redis_benchmark REPETITION LIBRARY OPERATION BATCH REQUESTS PIPELINE KEYS-A-COMMAND command...
by_redis_benchmark() {
    local repetition=$1 library=$2 operation=$3 batch=$4 requests=$5 pipeline=$6 each=$7
    shift 7
    local flags=(-h 127.0.0.1 -p "$(port_of_library "$library")" -c 50 -P "$pipeline"
        -n "$requests" -r "$keys" --csv)
    [ "$threads" -le 1 ] || flags+=(--threads "$threads")
    redis-benchmark "${flags[@]}" "$@" >"$work/benchmark.csv" 2>"$work/benchmark.err" || {
        cat "$work/benchmark.csv" "$work/benchmark.err" >&2
        fail "redis-benchmark $1 against $library"
    }
    local rate
    rate=$(tail -n 1 "$work/benchmark.csv" | awk -F'","' -v each="$each" '{ printf "%.0f", $2 * each }')
    [ "${rate:-0}" -gt 0 ] || fail "redis-benchmark $1 against $library gave no rate"
    record "$repetition" "$library" redis-benchmark "$operation" "$batch" keys_per_second "$rate" 1/s
}

# mget_words: MGET and its 100 keys.
mapfile -t mget_words < <(echo MGET && yes __rand_int__ | head -n "$mget")

# One repetition of all measurements of one server.
measure() {
    local repetition=$1 library=$2
    local resp=(--protocol resp -c 50)
    local pipelined=$((seconds * 1000000))
    if [ "$library" = sherwood ]; then
        by_load "$repetition" sherwood get_bulk "$frame" -o get -f "$frame" -c "$connections" \
            -d "$depth"
    fi
    by_load "$repetition" "$library" mget_p1 "$mget" "${resp[@]}" -o mget --mget "$mget" -d 1
    by_load "$repetition" "$library" mget_p16 "$mget" "${resp[@]}" -o mget --mget "$mget" -d 16
    by_redis_benchmark "$repetition" "$library" mget_p16 "$mget" $((seconds * 20000)) 16 "$mget" \
        "${mget_words[@]}"
    by_load "$repetition" "$library" set_p64 1 "${resp[@]}" -o set -d 64
    by_load "$repetition" "$library" get_p64 1 "${resp[@]}" -o get -d 64
    by_redis_benchmark "$repetition" "$library" set_p64 1 "$pipelined" 64 1 SET __rand_int__ 42
    by_redis_benchmark "$repetition" "$library" get_p64 1 "$pipelined" 64 1 GET __rand_int__
}

# Both servers get the same contents: the load generator's keys, and redis-benchmark's. 5 r draws of r
# keys leave a share of e^-5 of the keys absent.
fill() {
    local library port
    for library in sherwood redis; do
        port=$(port_of_library "$library")
        "$build/sherwood-load" -a "127.0.0.1:$port" -n "$keys" --protocol resp -o set --quiet ||
            fail "filling $library"
        redis-benchmark -h 127.0.0.1 -p "$port" -c 50 -P 64 -n $((5 * keys)) -r "$keys" -q \
            SET __rand_int__ 42 >/dev/null 2>"$work/benchmark.err" || fail "filling $library"
    done
}

write_info() {
    local commit=${COMMIT:-}
    [ -n "$commit" ] || commit=$(git rev-parse -q --verify HEAD 2>/dev/null || echo "not a git checkout")
    [ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit, with changes"
    {
        echo "date: $(date --utc +%Y-%m-%dT%H:%M:%SZ)"
        echo "command: REPETITIONS=$repetitions SECONDS_EACH=$seconds KEYS=$keys BACKEND=$backend" \
            "CONNECTIONS=$connections DEPTH=$depth LOAD_THREADS=$threads" \
            "REDIS_IO_THREADS=$io_threads SHERWOOD_FLAGS='${sherwood_flags[*]}'" \
            "bench/serve/compare.sh $build"
        echo "commit: $commit"
        echo "cpu: $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $cores processors"
        echo "memory: $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
        echo "gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
            echo none)"
        echo "kernel: $(uname -srm)"
        echo "sherwoodd: $("$build/sherwoodd" --version | head -n 1)"
        echo "sherwood-load: $("$build/sherwood-load" --version)"
        echo "compiler: $(gcc --version | head -n 1)"
        echo "redis-server: $(redis-server --version)"
        echo "redis flags: --save '' --appendonly no --io-threads $io_threads"
        echo "sherwoodd started with: $(tr '\0' ' ' <"/proc/$sherwood_pid/cmdline")"
        echo "sherwoodd's first lines:"
        sed 's/^/  /' "$work/sherwoodd.log"
    } >"$output/run_info.txt"
}

# Medians of raw.csv: library,tool,operation,batch,metric,median,unit.
medians() {
    tail -n +2 "$raw" | sort -t, -k2,6 -k7,7g | awk -F, -v CONVFMT=%.10g '
        function flush() {
            if (n) print key "," (n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2) "," unit
            n = 0
        }
        { k = $2 "," $3 "," $4 "," $5 "," $6; if (k != key) { flush(); key = k } v[++n] = $7; unit = $8 }
        END { flush() }'
}

# median LIBRARY TOOL OPERATION
median() {
    awk -F, -v l="$1" -v t="$2" -v o="$3" \
        '$1 == l && $2 == t && $3 == o && $5 == "keys_per_second" { printf "%.0f", $6 }' \
        "$work/medians"
}

# Writes the row of a median. The fields of slots and load are empty for redis.
write_summary() {
    local load
    load=$(awk -v k="$keys" -v c="$capacity" 'BEGIN { printf "%.3f", 2 * k / c }')
    {
        echo 'study,library,operation,slot_bits,F,batch,metric,value,unit'
        awk -F, -v load="$load" -v OFS=, '{
            bits = $1 == "sherwood" ? 128 : ""
            print "serve", $1, $3 " by " $2, bits, $1 == "sherwood" ? load : "", $4, $5, $6, $7
        }' "$work/medians"
    } >"$output/summary.csv"
}

line() { # name batch sherwood redis
    local ratio
    ratio=$(awk -v a="$3" -v b="$4" 'BEGIN { printf "%.2f", a / b }')
    printf '%-44s %14s %14s %9s\n' "$1" "$3" "$4" "$ratio"
    echo "serve,sherwood/redis,$1,,,$2,ratio,$ratio,1" >>"$output/summary.csv"
}

report() {
    local best=0 rate tool operation batch
    for rate in "$(median redis sherwood-load mget_p1)" "$(median redis sherwood-load mget_p16)" \
        "$(median redis redis-benchmark mget_p16)"; do
        [ "$rate" -le "$best" ] || best=$rate
    done
    printf '\n%-44s %14s %14s %9s\n' "keys/s, medians of $repetitions" sherwood redis ratio
    line "bulk GET of $frame / best redis MGET of $mget" "$frame" \
        "$(median sherwood sherwood-load get_bulk)" "$best"
    for tool in redis-benchmark sherwood-load; do
        for operation in set_p64 get_p64 mget_p16; do
            batch=1
            [ "$operation" != mget_p16 ] || batch=$mget
            line "$operation by $tool" "$batch" "$(median sherwood "$tool" "$operation")" \
                "$(median redis "$tool" "$operation")"
        done
    done
    printf '\nFrames of %s keys on %s connections, %s in flight each; RESP on 50 connections.\n' \
        "$frame" "$connections" "$depth"
    echo "Raw measurements, summary and machine: $output"
}

start_sherwood --backend "$backend" --capacity "$capacity" --key-bits 64 --resp-keys decimal "${sherwood_flags[@]}"
start_redis --io-threads "$io_threads"
write_info
grep -E '^(cpu|gpu|kernel|redis-server|sherwoodd):' "$output/run_info.txt"
echo "filling both servers"
fill
for repetition in $(seq "$repetitions"); do
    echo "repetition $repetition of $repetitions"
    order=(sherwood redis)
    [ $((repetition % 2)) -eq 1 ] || order=(redis sherwood)
    for library in "${order[@]}"; do
        measure "$repetition" "$library"
    done
done
medians >"$work/medians"
write_summary
report
