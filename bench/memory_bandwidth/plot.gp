# SPDX-License-Identifier: MIT
#
# plot.gp - bytes a second over F against the ceilings, or rates of shapes of buckets (--shapes) over F.
# Run it in the folder that holds summary.csv:
#   gnuplot .../plot.gp      writes bandwidth.svg or shapes.svg
set datafile separator ","
set key outside right
set grid
set xlabel "F: keys offered / slots"
set yrange [0:*]

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
shapes = system("awk -F, '$2 ~ /^slots_/ && !seen[$2]++ { print $2 }' summary.csv")
if (words(shapes) > 0) {
    shape(library, operation, bits) = sprintf("< awk -F, '$2 == \"%s\" && $3 == \"%s\" && $4 == %s && $7 == \"gops\"' summary.csv", library, operation, bits)
    set terminal svg size 1400,860 background "white"
    set output "shapes.svg"
    set key below
    set multiplot layout 2, 3 title "Slots of a bucket and threads a key: G operations / s"
    do for [bits in "64 128"] {
        do for [operation in "get get_miss100 insert"] {
            set title sprintf("%s, %s-bit slots", operation, bits) noenhanced
            plot for [i = 1:words(shapes)] shape(word(shapes, i), operation, bits) using 5:8 with linespoints linewidth (word(shapes, i) eq "slots_4_threads_1" ? 3 : 1) title word(shapes, i) noenhanced
        }
    }
    unset multiplot
    exit
}

set ylabel "GB/s looked at (total\\_probes * 32 bytes / time)"
set title "Sherwood's insert and get, and what memory can do" noenhanced

of(library, operation) = sprintf("< awk -F, '$2 == \"%s\" && $3 == \"%s\" && $7 == \"bandwidth\"' summary.csv", library, operation)
ceiling(operation) = real(system(sprintf("awk -F, '$2 == \"memory\" && $3 == \"%s\" && $7 == \"bandwidth\" { rate = $8 } END { printf \"%%.6f\", rate }' summary.csv", operation)))

ceilings = "copy_memcpy copy_uint4 gather_32 gather_64 gather_128"

set terminal svg size 1000,600 background "white"
set output "bandwidth.svg"
plot for [operation in "insert get"] of("sherwood", operation) using 5:8 with linespoints linewidth 2 title operation noenhanced, \
     for [name in ceilings] ceiling(name) with lines dashtype 2 title name noenhanced
