# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
#
# servers.sh - starting and stopping a daemon; sourced by bench/demo.sh and bench/demo-cluster.sh.
#
# Expects `set -euo pipefail`, and two variables: build (folder of the programs) and work (an empty
# folder for logs and sockets, removed by stop_servers). Sets sherwood_pid, sherwood_port,
# http_port.

sherwood_pid=''

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# wait_until SECONDS command...: true as soon as the command succeeds.
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# port_of TEXT N: the port of the N-th 127.0.0.1:port in a text.
port_of() {
    grep -oE '127\.0\.0\.1:[0-9]+' <<<"$1" | sed -n "$2s/.*://p"
}

sherwood_says_ports() {
    kill -0 "$sherwood_pid" || return 0 # the server has ended: do not wait longer
    [ -n "$(port_of "$(cat "$work/sherwoodd.log")" 2)" ]
}

# start_sherwood [flags...]: on ports that the kernel picks; returns when it is ready.
start_sherwood() {
    "$build/sherwoodd" --bind 127.0.0.1 --port 0 --http-bind 127.0.0.1 --http-port 0 \
        --unix-socket "$work/sherwood.sock" "$@" >"$work/sherwoodd.log" 2>&1 &
    sherwood_pid=$!
    wait_until 60 sherwood_says_ports || true
    # Not /dev/fd: the log is small and grows while it is read.
    local log
    log=$(cat "$work/sherwoodd.log")
    sherwood_port=$(port_of "$log" 1)
    http_port=$(port_of "$log" 2)
    if ! kill -0 "$sherwood_pid" 2>/dev/null || [ -z "$http_port" ]; then
        cat "$work/sherwoodd.log" >&2
        fail "sherwoodd did not start"
    fi
    wait_until 30 curl -fs "http://127.0.0.1:$http_port/readyz" ||
        fail "sherwoodd does not answer /readyz"
}

# stop_sherwood: SIGTERM; sets stop_status (exit status) and stop_ms.
stop_sherwood() {
    local start
    start=$(date +%s%N)
    kill -TERM "$sherwood_pid"
    stop_status=0
    wait "$sherwood_pid" || stop_status=$?
    stop_ms=$((($(date +%s%N) - start) / 1000000))
    sherwood_pid=''
}

# For an EXIT trap: stops the daemon if it still runs, and removes $work.
stop_servers() {
    if [ -n "$sherwood_pid" ] && kill -TERM "$sherwood_pid" 2>/dev/null; then
        wait_until 5 not_running "$sherwood_pid" || kill -KILL "$sherwood_pid" 2>/dev/null || true
        wait "$sherwood_pid" 2>/dev/null || true
    fi
    rm -rf "$work"
}
not_running() {
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status"
}
