# SPDX-License-Identifier: MIT
#
# plot.gp - rate, tail, hot shards and the map of a growing cluster, readable on any background.
# Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes scaling.svg
set datafile separator ","
set terminal svg size 1100,860 font "sans-serif,13"
set output "scaling.svg"

# Colors of lines and text that are readable on white and on black.
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey
set key top left textcolor rgb grey
set xlabel "nodes" textcolor rgb grey
color(i) = word("#4a90d9 #e08a1e #3fa45b #d65a5a", i)

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit; F is the number of nodes.
rows(operation, batch, metric) = sprintf("< awk -F, '$3 == \"%s\" && $6 == %s && $7 == \"%s\"' summary.csv", operation, batch, metric)
set logscale xy
set xrange [1:1024]
set xtics (1, 4, 16, 64, 256, 1024)
set format y "%.0s%c"
set multiplot layout 2, 2

set title "gets of all nodes, by keys a call"
set ylabel "keys / s" textcolor rgb grey
plot rows("get", "16777216", "keys_per_second") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(1) title "16 Mi", \
     rows("get", "1048576", "keys_per_second") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(2) title "1 Mi", \
     rows("get", "65536", "keys_per_second") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(3) title "64 Ki"

set title "a call of 1 Mi gets: 99 % take no longer"
set ylabel "us" textcolor rgb grey
plot rows("get_busy_0.8", "1048576", "latency_p99") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(4) title "nodes busy .8", \
     rows("get_busy_0.6", "1048576", "latency_p99") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(2) title ".6", \
     rows("get_busy_0.3", "1048576", "latency_p99") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(1) title ".3"

set title "nodes that so many are worth, where keys follow Zipf's law"
set ylabel "nodes" textcolor rgb grey
plot rows("zipf_0", "0", "nodes_worth") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(1) title "evenly", \
     rows("zipf_0.8", "0", "nodes_worth") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(2) title "theta .8", \
     rows("zipf_0.99", "0", "nodes_worth") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(3) title ".99", \
     rows("zipf_1.2", "0", "nodes_worth") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(4) title "1.2"

set title "10,000 clients learn a new map"
set ylabel "ms until all have it" textcolor rgb grey
plot rows("map_from_the_refusing_node_at_once", "10000", "until_all_know") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(4) title "all ask the node that refused", \
     rows("map_from_the_refusing_node_within_100ms", "10000", "until_all_know") using 5:8 with linespoints lw 2 dt 2 pt 7 ps 0.5 lc rgb color(2) title "the same, within 100 ms", \
     rows("map_from_any_node_within_100ms", "10000", "until_all_know") using 5:8 with linespoints lw 2 pt 7 ps 0.5 lc rgb color(1) title "any node, within 100 ms"
unset multiplot
