#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# latency-over-rate.sh - latency at a series of arrival rates, as CSV and, with gnuplot, as a plot.
#   bench/load/latency-over-rate.sh RATE... -- sherwood-load options
#   bench/load/latency-over-rate.sh 10k 20k 50k 100k 200k -- --protocol resp -n 1M -o get -d 1
#
# Each rate is an open loop of its own (sherwood-load --rate). The keys must be there: run
# sherwood-load with -o set before, unless the options are a mix, which writes them. In the
# environment:
#   SECONDS_EACH=5   LOAD=build/sherwood-load   OUTPUT=output/<time>/rate
# It writes latency.csv (a row for each rate), latency.gnuplot, and latency.svg if gnuplot is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
load=${LOAD:-build/sherwood-load}
seconds=${SECONDS_EACH:-5}
output=${OUTPUT:-output/$(date +%Y%m%d-%H%M%S)/rate}

rates=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    rates+=("$1")
    shift
done
if [ "${#rates[@]}" -eq 0 ] || [ "${1:-}" != -- ]; then
    sed -n '4,6s/^# *//p' "$0" >&2
    exit 2
fi
shift

mkdir -p "$output"
csv=$output/latency.csv
all=$output/phases.csv
rm -f "$all"
for rate in "${rates[@]}"; do
    "$load" "$@" --rate "$rate" --seconds "$seconds" --quiet --csv "$all"
done
# Only the phases with a rate; the column is found by its name.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rate") column = i; print; next }
         $column > 0' "$all" >"$csv"
rm "$all"

cat >"$output/latency.gnuplot" <<'END'
set terminal svg size 800,500 background "white"
set output "latency.svg"
set datafile separator ","
set key top left
set grid
set xlabel "keys a second, asked for"
set ylabel "latency of a unit from its due time, us"
set logscale xy
set format x "%.0s%c"
plot for [name in "p50_us p90_us p99_us p99_9_us max_us"] \
    "latency.csv" using (column("rate")):(column(name)) with linespoints title name noenhanced
END

awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i
                   printf "%14s %14s %10s %10s %10s %10s %8s %8s\n", "rate", "keys/s", "p50 us",
                          "p99 us", "p99.9 us", "max us", "late", "unsent"; next }
         { printf "%14s %14s %10s %10s %10s %10s %8s %8s\n", $at["rate"], $at["keys_per_second"],
                  $at["p50_us"], $at["p99_us"], $at["p99_9_us"], $at["max_us"], $at["late"],
                  $at["unsent"] }' "$csv"
if command -v gnuplot >/dev/null; then
    (cd "$output" && gnuplot latency.gnuplot)
    echo "$output/latency.csv, latency.svg"
else
    echo "$output/latency.csv (no gnuplot here: run it on latency.gnuplot for the plot)"
fi
