# SPDX-License-Identifier: MIT
#
# plot.gp - served rates over the size of frames, a line a row of the study, readable on any background.
# Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes served.svg
set datafile separator ","
set terminal svg size 1100,520 font "sans-serif,13"
set output "served.svg"

# Colors of lines and text that are readable on white and on black.
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey
set key below center maxrows 2 textcolor rgb grey
set xlabel "keys a frame" textcolor rgb grey
set ylabel "keys / s" textcolor rgb grey
color(i) = word("#4a90d9 #e08a1e #c8a000 #3fa45b #d65a5a #b565c9 #2aa5a5", i)

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
operations = "get insert insert update delete delete delete"
loads = "0.85 0.85 0.95 0.85 0.5 0.85 0.95"
rows(i, bits) = sprintf("< awk -F, '$1 == \"served\" && $2 == \"sherwood\" && $3 == \"%s\" && $5 == \"%s\" && $4 == %d && $7 == \"keys_per_second\"' summary.csv | sort -t, -k6,6n", word(operations, i), word(loads, i), bits)
count(bits) = 0 + system(sprintf("awk -F, '$1 == \"served\" && $2 == \"sherwood\" && $3 == \"get\" && $4 == %d && $7 == \"keys_per_second\"' summary.csv | wc -l", bits))

set logscale x 2
set logscale y 10
set format y "%.0s%c"
set xrange [3000:400000]
set xtics ("4 Ki" 4096, "64 Ki" 65536, "256 Ki" 262144)
set multiplot layout 1, 2 title "What a client is served, by frames through a Unix socket (F: highest load of the step)" textcolor rgb grey
do for [bits in "64 128"] {
    if (count(bits + 0) > 0) {
        set title sprintf("keys and values of %d bits", (bits + 0) / 2)
        plot for [i = 1:words(operations)] rows(i, bits + 0) using 6:8 with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb color(i) title sprintf("%s, F %s", word(operations, i), word(loads, i))
    }
}
unset multiplot
