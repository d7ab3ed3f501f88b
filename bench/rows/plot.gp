# SPDX-License-Identifier: MIT
#
# plot.gp - rates of the study of rows over the size of a row, a plot a load, a line an operation,
# beside what memory alone does. Run it in the folder that holds summary.csv; it needs gnuplot and
# awk:
#   gnuplot .../plot.gp      writes rows_0.5.svg, ..
set datafile separator ","
set key outside right
set grid
set logscale xy
set xlabel "bytes of a row"
set ylabel "rows / s"

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit. An operation ends with _ and
# the bytes of a row. memory has no load.
wanted = "$7 == \"rows_per_second\" && $8 != \"\""
loads = system("awk -F, '" . wanted . " && $5 != \"\" && !seen[$5]++ { print $5 }' summary.csv")
names(load) = system("awk -F, '" . wanted . " && ($5 == \"" . load . "\" || $5 == \"\") { o = $3; sub(/_[0-9]+$/, \"\", o); n = $2 \":\" o; if (!seen[n]++) print n }' summary.csv")
of(name, load) = "< awk -F, '" . wanted . " && ($5 == \"" . load . "\" || $5 == \"\") { o = $3; b = $3; sub(/_[0-9]+$/, \"\", o); sub(/.*_/, \"\", b); if ($2 \":\" o == \"" . name . "\") print b \",\" $8 }' summary.csv"

set terminal svg size 1000,600 background "white"
do for [load in loads] {
    set title sprintf("load %s", load)
    set output sprintf("rows_%s.svg", load)
    plot for [name in names(load)] of(name, load) using 1:2 with linespoints linewidth 2 title name noenhanced
    unset output
}
