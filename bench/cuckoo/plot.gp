# SPDX-License-Identifier: MIT
#
# plot.gp - the experiments of the cuckoo study, a line a table, readable on any background.
# Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes cuckoo.svg
set datafile separator ","
set terminal svg size 1400,860 font "sans-serif,13"
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey noenhanced
set key below center textcolor rgb grey
set yrange [0:*]
color(i) = word("#4a90d9 #e08a1e #3fa45b #d65a5a #b565c9 #2aa5a5", (i - 1) % 6 + 1)

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit. An operation is an experiment, _ and
# x. A point is the keys over the mean time; a table that could not be filled has none.
rates(experiment) = "$3 ~ /^" . experiment . "_[0-9.]+$/ && $7 == \"mops\" && $8 != \"\""
tables = system("awk -F, '$7 == \"mops\" && !seen[$2]++ { print $2 }' summary.csv")
count(experiment) = 0 + system("awk -F, '" . rates(experiment) . "' summary.csv | wc -l")
points(experiment, table) = "< awk -F, '" . rates(experiment) . " && $2 == \"" . table . "\" { x = $3; sub(/.*_/, \"\", x); print x \",\" $8 }' summary.csv"
title_of(experiment) = experiment eq "insert" ? "insert into an empty table" : experiment eq "lookup" ? "look-up" : experiment eq "size" ? "insert n keys into tables of different sizes" : experiment eq "bound" ? "insert n keys with different bounds" : "insert and look-up in one call"
x_of(experiment) = experiment eq "insert" ? "s: 2^s keys inserted" : experiment eq "lookup" ? "i: 10i percent of the look-ups miss" : experiment eq "size" ? "size / n (cuckoo: of each array)" : experiment eq "bound" ? "l: at most l log2 n exchanges (Robin Hood: buckets)" : "s: 2^s keys inserted and 2^s looked up"

set output "cuckoo.svg"
set multiplot layout 2, 3 title "M operations / s" textcolor rgb grey
do for [experiment in "insert lookup size bound insert_and_lookup"] {
    if (count(experiment) > 0) {
        if (experiment eq "bound") { set logscale x } else { unset logscale x }
        set title title_of(experiment)
        set xlabel x_of(experiment) textcolor rgb grey noenhanced
        plot for [i = 1:words(tables)] points(experiment, word(tables, i)) using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(tables, i) noenhanced
    } else {
        set multiplot next
    }
}
unset multiplot
