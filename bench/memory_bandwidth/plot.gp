# SPDX-License-Identifier: MIT
#
# plot.gp - bytes a second over F against the ceilings. Run it in the folder that holds summary.csv:
#   gnuplot .../plot.gp      writes bandwidth.svg
set datafile separator ","
set key outside right
set grid
set xlabel "F: keys offered / slots"
set ylabel "GB/s looked at (total\\_probes * 32 bytes / time)"
set yrange [0:*]
set title "Sherwood's insert and get, and what memory can do" noenhanced

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
of(library, operation) = sprintf("< awk -F, '$2 == \"%s\" && $3 == \"%s\" && $7 == \"bandwidth\"' summary.csv", library, operation)
ceiling(operation) = real(system(sprintf("awk -F, '$2 == \"memory\" && $3 == \"%s\" && $7 == \"bandwidth\" { rate = $8 } END { printf \"%%.6f\", rate }' summary.csv", operation)))

ceilings = "copy_memcpy copy_uint4 gather_32 gather_64 gather_128"

set terminal svg size 1000,600 background "white"
set output "bandwidth.svg"
plot for [operation in "insert get"] of("sherwood", operation) using 5:8 with linespoints linewidth 2 title operation noenhanced, \
     for [name in ceilings] ceiling(name) with lines dashtype 2 title name noenhanced
