#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run-gpu-tests.sh - runs the GPU tests and writes what they print into a folder.
#
#   run-gpu-tests.sh FOLDER            everything but the huge table
#   run-gpu-tests.sh FOLDER --tests    only the tests, without checkers
#   run-gpu-tests.sh FOLDER --checkers only compute-sanitizer's memcheck and racecheck, a part of the
#                                      rounds of each program
#   run-gpu-tests.sh FOLDER --quick    the cases at reduced size, and memcheck of bulk merges: minutes
#   run-gpu-tests.sh FOLDER --huge     a table of 40 GiB: 5 * 2^30 slots of 64 bits
#
# Lies beside the programs in the bundle. compute-sanitizer is used if it is installed. The last
# line of FOLDER/summary.txt says whether everything passed; so does the exit status.
set -u

usage="usage: run-gpu-tests.sh FOLDER [--tests|--checkers|--quick|--huge]"
out=${1:?$usage}
mode=${2:---all}
here=$(cd "$(dirname "$0")" && pwd)
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
failed=0
HUGE_SLOTS=5368709120
# The tuning that runs every kernel of the table: it forces bulk merges and hints, and cases that
# cannot be merged fall back to the other kernels.
ALL_KERNELS="bulk always, hints always, holes never, block 0"

mkdir -p "$out" || exit 1
{
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    nproc
} >"$out/machine.txt" 2>&1
: >"$out/summary.txt"

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

# checker TOOL NAME COMMAND..: a step under compute-sanitizer. Some tests cause errors of CUDA's
# functions on purpose: these are not reported.
checker() {
    tool=$1
    name=$2
    shift 2
    if [ -n "$sanitizer" ]; then
        step "$tool-$name" 150 "$sanitizer" --tool "$tool" --error-exitcode 9 \
            --report-api-errors no "$@"
    else
        echo "$tool-$name: not run, compute-sanitizer was not found" | tee -a "$out/summary.txt"
    fi
}

# checker_of_suite TOOL SUITE [ENGINE]: a part of its rounds
checker_of_suite() {
    checker "$1" "suite-$2${3:+-$3}" --target-processes all env SW_TEST_BACKEND=cuda \
        SW_TEST_SHARE=40 SW_TEST_ENGINE="${3:-robin_hood}" "$here/suite_$2" </dev/null
}

# The programs of tests/table, on the GPU: on Robin Hood or an engine of their own, then on others.
run_suite() {
    for program in "$here"/suite_*; do
        suite=${program##*/suite_}
        step "suite-$suite" 120 env SW_TEST_BACKEND=cuda "$program"
    done
    grep -v '^#' "$here/engines.txt" >"$out/engines.txt"
    while read -r suite engine; do
        step "suite-$suite-$engine" 120 env SW_TEST_BACKEND=cuda SW_TEST_ENGINE="$engine" \
            "$here/suite_$suite" </dev/null
    done <"$out/engines.txt"
}

run_tests() {
    run_suite
    step test-full 480 "$here/test_table_gpu" --full
    step test-full-own-choice 180 "$here/test_table_gpu" --full --own-choice
    step test-write-path 60 "$here/test_write_path_gpu"
    step test-rows 60 "$here/test_rows_gpu"
    step test-shared 60 "$here/test_shared_gpu"
    step test-cuckoo-engine 180 "$here/test_cuckoo_engine_gpu"
    step test-cache 300 "$here/test_cache_gpu"
    step test-attach 300 "$here/test_attach_gpu" "$here/sherwoodd"
}

# racecheck looks at shared memory inside a kernel. With several streams busy it did not end in
# minutes, so it checks the cases of one queue, and direct reads by calls that wait.
run_checkers() {
    for program in "$here"/suite_*; do
        checker_of_suite memcheck "${program##*/suite_}"
    done
    grep -v '^#' "$here/engines.txt" >"$out/engines.txt"
    while read -r suite engine; do
        checker_of_suite memcheck "$suite" "$engine"
    done <"$out/engines.txt"
    checker_of_suite racecheck shared_reads
    checker memcheck table "$here/test_table_gpu" --quick --few --one-of 3
    checker racecheck table "$here/test_table_gpu" --quick --one-queue --only "$ALL_KERNELS"
    checker memcheck write-path "$here/test_write_path_gpu"
    checker memcheck rows "$here/test_rows_gpu" --small --worlds 8
    checker memcheck cuckoo-engine "$here/test_cuckoo_engine_gpu" --quick --one-of 5
    checker memcheck cache "$here/test_cache_gpu" --quick --one-of 29
    checker memcheck shared --target-processes application-only "$here/test_shared_gpu" --small
    for tool in memcheck racecheck; do
        checker "$tool" direct --target-processes application-only "$here/test_attach_gpu" \
            "$here/sherwoodd" --direct --few
    done
}

run_quick() {
    run_suite
    step test-quick 60 "$here/test_table_gpu" --quick --few
    step test-write-path 60 "$here/test_write_path_gpu"
    step test-rows 60 "$here/test_rows_gpu"
    step test-shared 60 "$here/test_shared_gpu"
    step test-cuckoo-engine 60 "$here/test_cuckoo_engine_gpu" --quick
    step test-cache 180 "$here/test_cache_gpu" --quick
    checker memcheck table "$here/test_table_gpu" --quick --one-queue --only "bulk: " \
        --only "$ALL_KERNELS"
}

case $mode in
--all)
    run_tests
    run_checkers
    ;;
--tests) run_tests ;;
--checkers) run_checkers ;;
--quick) run_quick ;;
--huge) step test-huge 300 "$here/test_table_gpu" --huge "$HUGE_SLOTS" ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac

if [ "$failed" -eq 0 ]; then
    echo "all steps passed" | tee -a "$out/summary.txt"
else
    echo "$failed steps failed" | tee -a "$out/summary.txt"
    exit 1
fi
