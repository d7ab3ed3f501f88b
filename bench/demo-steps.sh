# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: MIT
#
# demo-steps.sh - the steps of a demo, and its end; sourced by bench/demo.sh and bench/demo-cluster.sh.
#
# Source bench/serve/servers.sh before, which has further requirements. Sets a trap: the first step that
# fails ends the demo with its name and the logs of the daemons, and removes everything. The trap also
# kills the processes in `pids`.
step='preparing' pids=()

finish() {
    local status=$? log
    trap - EXIT INT TERM
    if [ "$status" -ne 0 ]; then
        echo "$(basename "$0" .sh): failed at: $step" >&2
        for log in "$work"/*.log; do
            [ ! -s "$log" ] || sed 's/^/  sherwoodd: /' "$log" >&2
        done
    fi
    [ "${#pids[@]}" -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true
    stop_servers
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

title() {
    step=$1
    printf '\n== %s\n' "$step"
}

# shown EXPECTED command...: prints the command and its answer, which must be EXPECTED.
shown() {
    local expected=$1 answer
    shift
    printf '$ %s\n' "$*"
    answer=$("$@" 2>&1) || fail "$*: $answer"
    printf '%s\n' "$answer"
    [ "$answer" = "$expected" ] || fail "$*: expected $expected"
}
