# SPDX-License-Identifier: MIT
#
# plot.gp - rates of the cache study over the load, a picture a size of values, a line a library,
# readable on any background. Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes dim8.svg, dim32.svg, dim64.svg, and fill.svg: a cache that is filled,
# also with LRU
set datafile separator ","
set terminal svg size 1400,1250 font "sans-serif,13"
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey noenhanced
set key below center textcolor rgb grey samplen 2
set yrange [0:*]
color(i) = word("#4a90d9 #3fa45b #e08a1e #d65a5a #b565c9 #2aa5a5 #c8a000 #a0785a", (i - 1) % 8 + 1)

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit. An operation ends with _dim and
# the number of floats.
wanted = "$5 != \"\" && $7 == \"gops\" && $8 != \"\""
dims = system("awk -F, '" . wanted . " { d = $3; sub(/.*_dim/, \"\", d); if (!seen[d]++) print d }' summary.csv | sort -n")
operations(dim) = system("awk -F, '" . wanted . " && $2 ~ /^sherwood/ && $3 !~ /^fill_/ && $3 ~ /_dim" . dim . "$/ && !seen[$3]++ { print $3 }' summary.csv")
libraries = system("awk -F, '" . wanted . " && $3 !~ /^fill_/ && !seen[$2]++ { print $2 }' summary.csv")
of(library, operation) = "< awk -F, '" . wanted . " && $3 == \"" . operation . "\" && $2 == \"" . library . "\"' summary.csv"

do for [dim in dims] {
    names = operations(dim)
    if (words(names) > 0) {
        set output sprintf("dim%s.svg", dim)
        set multiplot layout (words(names) + 2) / 3, 3 title sprintf("The cache alone, values of %s floats: G operations / s over the load", dim) textcolor rgb grey
        do for [operation in names] {
            set title operation
            plot for [i = 1:words(libraries)] of(word(libraries, i), operation) using 5:8 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(libraries, i) noenhanced
        }
        unset multiplot
        unset output
    }
}

# Values in device memory and in host memory: their rates differ too much for one panel.
is_host = "($2 ~ /_host$/ || $2 == \"hkv_memory\")"
of_fill(operation, is_it) = "$3 ~ /^" . operation . "_dim/ && " . is_it . " && " . wanted
fillers(operation, is_it) = system("awk -F, '" . of_fill(operation, is_it) . " && !seen[$2]++ { print $2 }' summary.csv")
if (words(fillers("fill_insert", "1")) > 0) {
    set terminal svg size 1400,1300 font "sans-serif,13"
    set output "fill.svg"
    set multiplot layout 3, 2 title "A cache is filled: G keys / s up to a load" textcolor rgb grey
    do for [operation in "fill_insert fill_insert_lru fill_find"] {
        do for [place in "device host"] {
            is_it = place eq "host" ? is_host : "!" . is_host
            names = fillers(operation, is_it)
            set title operation . ", values in " . place . " memory"
            if (words(names) > 0) {
                plot for [i = 1:words(names)] "< awk -F, '" . of_fill(operation, is_it) . " && $2 == \"" . word(names, i) . "\"' summary.csv" using 5:8 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(names, i) noenhanced
            } else {
                set multiplot next
            }
        }
    }
    unset multiplot
    unset output
}
