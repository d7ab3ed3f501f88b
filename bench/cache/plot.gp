# SPDX-License-Identifier: MIT
#
# plot.gp - rates of the cache study over the load, a plot an operation and dimension, a line a
# library. Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes find_dim64.png, find_dim64.svg, ..
set datafile separator ","
set key outside right
set grid
set yrange [0:*]
set xlabel "load: entries a slot"
set ylabel "G operations / s"

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
rates(operation) = sprintf("$3 == \"%s\" && $5 != \"\" && $7 == \"gops\" && $8 != \"\"", operation)
operations = system("awk -F, '$5 != \"\" && $7 == \"gops\" && $8 != \"\" && !seen[$3]++ { print $3 }' summary.csv")
libraries(operation) = system("awk -F, '" . rates(operation) . " && !seen[$2]++ { print $2 }' summary.csv")
of(library, operation) = "< awk -F, '" . rates(operation) . " && $2 == \"" . library . "\"' summary.csv"

do for [format in "png svg"] {
    if (format eq "png") { set terminal pngcairo size 1000,600 } else { set terminal svg size 1000,600 background "white" }
    do for [operation in operations] {
        names = libraries(operation)
        set title operation noenhanced
        set output sprintf("%s.%s", operation, format)
        plot for [name in names] of(name, operation) using 5:8 with linespoints linewidth 2 title name noenhanced
        unset output
    }
}
