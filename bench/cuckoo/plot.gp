# SPDX-License-Identifier: MIT
#
# plot.gp - the experiments of the cuckoo study, a line a table.
# Run it in the folder that holds raw.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes insert.png, insert.svg, lookup.png, ..
set datafile separator ","
set key outside right
set grid
set yrange [0:*]
set ylabel "M operations / s"

# Columns: study,experiment,library,t,x,keys,cells,slot_bits,rep,time_ms,mops,..
# A point is the keys over the mean time, as in tables.txt; nothing where a repetition did not end.
tables(experiment) = system("awk -F, '$2 == \"" . experiment . "\" && $11 != \"\" && !seen[$3]++ { print $3 }' raw.csv")
points(experiment, table) = "< awk -F, '$2 == \"" . experiment . "\" && $3 == \"" . table . "\" { n[$5]++; time[$5] += $10; keys[$5] = $6 * ($2 == \"insert_and_lookup\" ? 2 : 1); if ($11 == \"\") open[$5] = 1; if (!seen[$5]++) order[++count] = $5 } END { for (i = 1; i <= count; i++) { x = order[i]; if (!open[x]) print x \",\" keys[x] * n[x] / time[x] / 1000 } }' raw.csv"

do for [format in "png svg"] {
    if (format eq "png") { set terminal pngcairo size 1000,600 } else { set terminal svg size 1000,600 background "white" }
    do for [experiment in "insert lookup size bound insert_and_lookup"] {
        names = tables(experiment)
        if (words(names) > 0) {
            unset logscale x
            if (experiment eq "insert") { set xlabel "s: 2^s keys inserted"; set title "insert into an empty table" }
            if (experiment eq "insert_and_lookup") { set xlabel "s: 2^s keys inserted and 2^s looked up"; set title "insert and look-up in one call" }
            if (experiment eq "lookup") { set xlabel "i: 10i percent of the look-ups miss"; set title "look-up" }
            if (experiment eq "size") { set xlabel "size / n (cuckoo: of each array)"; set title "insert n keys into tables of different sizes" }
            if (experiment eq "bound") { set xlabel "l: at most l log2 n exchanges (Robin Hood: buckets)"; set title "insert n keys with different bounds"; set logscale x }
            set output sprintf("%s.%s", experiment, format)
            plot for [name in names] points(experiment, name) using 1:2 with linespoints linewidth 2 title name noenhanced
            unset output
        }
    }
}
