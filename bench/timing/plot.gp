# SPDX-License-Identifier: MIT
#
# plot.gp - rates of insert, get and others over F, and of get over the batch size, a line a library.
# Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes get_64.png, get_64.svg, insert_64.png, ..
set datafile separator ","
set key outside right
set grid
set yrange [0:*]
set ylabel "G operations / s"

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
rates(bits, operation) = sprintf("$3 == \"%s\" && $4 == %s && $7 == \"gops\" && $8 != \"\"", operation, bits)
libraries(bits, operation) = system("awk -F, '" . rates(bits, operation) . " && !seen[$2]++ { print $2 }' summary.csv")
of(library, bits, operation) = "< awk -F, '" . rates(bits, operation) . " && $2 == \"" . library . "\"' summary.csv"

# The sizes of insert_batch and delete: one plot for each.
sizes(bits, operation) = system("awk -F, '" . rates(bits, operation) . " && !seen[$6]++ { print $6 }' summary.csv")
of_size(library, bits, operation, size) = "< awk -F, '" . rates(bits, operation) . " && $2 == \"" . library . "\" && $6 == " . size . "' summary.csv"

do for [format in "png svg"] {
    if (format eq "png") { set terminal pngcairo size 1000,600 } else { set terminal svg size 1000,600 background "white" }
    do for [bits in "64 128"] {
        set xlabel "F: keys offered / slots"
        do for [operation in "insert get get_miss50 get_miss100"] {
            names = libraries(bits, operation)
            if (words(names) > 0) {
                set title sprintf("%s, %s-bit slots", operation, bits) noenhanced
                set output sprintf("%s_%s.%s", operation, bits, format)
                plot for [name in names] of(name, bits, operation) using 5:8 with linespoints linewidth 2 title name noenhanced
                unset output
            }
        }
        do for [operation in "insert_batch upsert_at_F delete"] {
            names = libraries(bits, operation)
            do for [size in sizes(bits, operation)] {
                set title sprintf("%s of %s keys a call, %s-bit slots", operation, size, bits) noenhanced
                set output sprintf("%s_%s_%s.%s", operation, size, bits, format)
                plot for [name in names] of_size(name, bits, operation, size) using 5:8 with linespoints linewidth 2 title name noenhanced
                unset output
            }
        }
        names = libraries(bits, "get_batch")
        if (words(names) > 0) {
            set xlabel "keys a call"
            set logscale x 2
            set format x "2^{%L}"
            set title sprintf("get over the batch size, %s-bit slots", bits) noenhanced
            set output sprintf("get_batch_%s.%s", bits, format)
            plot for [name in names] of(name, bits, "get_batch") using 6:8 with linespoints linewidth 2 title name noenhanced
            unset output
            unset logscale x
            unset format
        }
    }
}

# The main results in one picture, readable on any background: get, inserts and deletes over the load.
reset
set datafile separator ","
set terminal svg size 1200,480 font "sans-serif,13"
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey
set key below center textcolor rgb grey
set yrange [0:*]
set xlabel "F: keys offered / slots" textcolor rgb grey
color(i) = word("#4a90d9 #e08a1e #3fa45b #d65a5a #b565c9 #2aa5a5 #c8a000 #a0785a", (i - 1) % 8 + 1)
# Every library of any panel has one color.
every = system("awk -F, '$3 == \"get\" && $4 == 64 && $7 == \"gops\" && $8 != \"\" && !seen[$2]++ { print $2 }' summary.csv")
at_load(i, operation, batch) = sprintf("< awk -F, '$2 == \"%s\" && $3 == \"%s\" && $4 == 64 && (\"%s\" == \"\" || $6 == \"%s\") && $7 == \"gops\" && $8 != \"\"' summary.csv", word(every, i), operation, batch, batch)
has(operation, batch) = 0 + system(sprintf("awk -F, '$3 == \"%s\" && $4 == 64 && (\"%s\" == \"\" || $6 == \"%s\") && $7 == \"gops\" && $8 != \"\"' summary.csv | wc -l", operation, batch, batch))
if (words(every) > 0) {
    set output "table_by_load.svg"
    set multiplot layout 1, 3 title "The table alone, keys in GPU memory, 64-bit slots" textcolor rgb grey
    set ylabel "G operations / s" textcolor rgb grey
    do for [panel = 1:3] {
        operation = word("get insert_batch delete", panel)
        batch = panel == 1 ? "" : "1048576"
        if (has(operation, batch) > 0) {
            set title panel == 1 ? "get of stored keys" : panel == 2 ? "insert of 2^{20} fresh keys" : "delete of 2^{20} keys"
            plot for [i = 1:words(every)] at_load(i, operation, batch) using 5:8 with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb color(i) title word(every, i) noenhanced
        }
    }
    unset multiplot
    unset output
}
