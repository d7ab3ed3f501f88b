#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run-gpu-tests.sh - runs the GPU tests and writes what they print into a folder.
#
#   run-gpu-tests.sh FOLDER [--no-bench]
#
# Lies beside the programs in the bundle. compute-sanitizer is used if it is installed. The last
# line of FOLDER/summary.txt says whether everything passed; so does the exit status.
set -u

out=${1:?usage: run-gpu-tests.sh FOLDER [--no-bench]}
bench=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
failed=0

mkdir -p "$out" || exit 1
{
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    nproc
} >"$out/machine.txt" 2>&1

# step NAME SECONDS COMMAND..: output to FOLDER/NAME.txt, a line in the summary
step() {
    name=$1
    limit=$2
    shift 2
    start=$(date +%s)
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    status=$?
    [ "$status" -eq 0 ] || failed=$((failed + 1))
    echo "$name: exit status $status after $(($(date +%s) - start)) s: $(tail -n 1 "$out/$name.txt")" |
        tee -a "$out/summary.txt"
}

: >"$out/summary.txt"
step test-quick 120 "$here/test_table_gpu" --quick
step test-full 300 "$here/test_table_gpu" --full
step test-full-seed-2 300 "$here/test_table_gpu" --full --seed 2
if [ -n "$sanitizer" ]; then
    step memcheck 300 "$sanitizer" --tool memcheck --error-exitcode 9 \
        "$here/test_table_gpu" --quick
    # It looks at shared memory inside a kernel; with several streams busy it did not end in minutes.
    step racecheck 300 "$sanitizer" --tool racecheck --error-exitcode 9 \
        "$here/test_table_gpu" --quick --one-queue
else
    echo "memcheck, racecheck: not run, compute-sanitizer was not found" | tee -a "$out/summary.txt"
fi
if [ "$bench" != --no-bench ]; then
    step bench 180 "$here/bench_table_gpu"
fi
if [ "$failed" -eq 0 ]; then
    echo "all steps passed" | tee -a "$out/summary.txt"
else
    echo "$failed steps failed" | tee -a "$out/summary.txt"
    exit 1
fi
