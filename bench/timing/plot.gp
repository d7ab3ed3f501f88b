# SPDX-License-Identifier: MIT
#
# plot.gp - rates of every operation, a line a library, readable on any background.
# Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes table_64.svg and table_128.svg, one for each width of slots; if the run
#                            measured them, also writes_64.svg and writes_128.svg, writes of several sizes,
#                            blocks_64.svg and blocks_128.svg, block sizes, and sets_64.svg and
#                            sets_128.svg, key sets beside pairs
set datafile separator ","
set terminal svg size 1400,1250 font "sans-serif,13"
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey noenhanced
set key below center textcolor rgb grey
set yrange [0:*]
color(i) = word("#4a90d9 #e08a1e #3fa45b #d65a5a #b565c9 #2aa5a5 #c8a000 #a0785a", (i - 1) % 8 + 1)

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit.
# A panel is an operation, a colon, and the keys of a call if they do not follow from F.
panels = "get: get_miss50: get_miss100: insert: insert_batch:1048576 upsert_at_F:16777216 delete:1048576 delete:16777216 get_batch:"
operation(panel) = substr(panel, 1, strstrt(panel, ":") - 1)
batch(panel) = substr(panel, strstrt(panel, ":") + 1, strlen(panel))
rates(bits, panel) = sprintf("$3 == \"%s\" && $4 == %s && (\"%s\" == \"\" || $6 == \"%s\") && $7 == \"gops\" && $8 != \"\"", operation(panel), bits, batch(panel), batch(panel))
libraries(bits) = system("awk -F, '$4 == " . bits . " && $2 != \"memory\" && $7 == \"gops\" && $8 != \"\" && !seen[$2]++ { print $2 }' summary.csv")
all_rates(bits, panels) = sum [i = 1:words(panels)] count(bits, word(panels, i))
count(bits, panel) = 0 + system("awk -F, '" . rates(bits, panel) . "' summary.csv | wc -l")
of(library, bits, panel) = "< awk -F, '" . rates(bits, panel) . " && $2 == \"" . library . "\"' summary.csv"

do for [bits in "64 128"] {
    # Every library has one color in all panels.
    names = libraries(bits)
    if (all_rates(bits, panels) > 0) {
        set output sprintf("table_%s.svg", bits)
        set multiplot layout 3, 3 title sprintf("The table alone, keys in GPU memory, %s-bit slots: G operations / s", bits) textcolor rgb grey
        do for [panel in panels] {
            if (count(bits, panel) > 0) {
                is_batch = operation(panel) eq "get_batch"
                if (is_batch) { set logscale x 2; set format x "2^{%L}" } else { unset logscale x; set format x "%g" }
                set xlabel is_batch ? "keys a call" : "F: keys offered / slots" textcolor rgb grey
                set title operation(panel) . (strlen(batch(panel)) > 0 ? " of " . batch(panel) . " keys" : "")
                plot for [i = 1:words(names)] of(word(names, i), bits, panel) using (is_batch ? $6 : $5):8 with linespoints linewidth (i == 1 ? 3 : 1.5) pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(names, i) noenhanced
            } else {
                set multiplot next
            }
        }
        unset multiplot
        unset output
    }
}

# Writes over the keys of a call, at three loads.
at(load) = "&& $5 == " . load
writes(bits) = 0 + system("awk -F, '$3 == \"upsert_at_F\" && $4 == " . bits . " && $7 == \"gops\" && !seen[$6]++' summary.csv | wc -l")
ceiling(bits) = real(system("awk -F, '$2 == \"memory\" && $3 == \"load_cas\" && $4 == " . bits . " && $7 == \"gops\" { rate = $8 } END { print rate + 0 }' summary.csv"))
do for [bits in "64 128"] {
    if (writes(bits) > 2) {
        names = libraries(bits)
        set output sprintf("writes_%s.svg", bits)
        set multiplot layout 3, 3 title sprintf("Writes of the table alone, keys in GPU memory, %s-bit slots: G operations / s", bits) textcolor rgb grey
        set logscale x 2; set format x "2^{%L}"
        set xlabel "keys a call" textcolor rgb grey
        do for [name in "upsert_at_F insert_batch delete"] {
            do for [load in "0.5 0.85 0.95"] {
                set title name . ", F " . load
                plot for [i = 1:words(names)] "< awk -F, '" . rates(bits, name . ":") . at(load) . " && $2 == \"" . word(names, i) . "\"' summary.csv" using 6:8 with linespoints linewidth (i == 1 ? 3 : 1.5) pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(names, i) noenhanced, \
                     (ceiling(bits) > 0 ? ceiling(bits) : NaN) with lines dashtype 2 linecolor rgb grey title (ceiling(bits) > 0 ? "load_cas" : "") noenhanced
            }
        }
        unset multiplot
        unset output
    }
}

# Rates over the threads of a block.
of_blocks(bits, name) = "$3 == \"" . name . "\" && $4 == " . bits . " && $7 ~ /^gops_block/ && $8 != \"\""
blocks(bits) = system("awk -F, '$4 == " . bits . " && $7 ~ /^gops_block/ && $8 != \"\" && !seen[$3 \",\" $5]++ { print $3 \",\" $5 }' summary.csv")
blockers(bits) = system("awk -F, '$4 == " . bits . " && $7 ~ /^gops_block/ && !seen[$2]++ { print $2 }' summary.csv")
do for [bits in "64 128"] {
    panels = blocks(bits)
    names = blockers(bits)
    if (words(panels) > 0) {
        set output sprintf("blocks_%s.svg", bits)
        set multiplot layout (words(panels) + 2) / 3, 3 title sprintf("Threads of a block, %s-bit slots: G operations / s", bits) textcolor rgb grey
        set logscale x 2; set format x "%g"
        set xlabel "threads of a block" textcolor rgb grey
        do for [panel in panels] {
            name = panel[1:strstrt(panel, ",") - 1]
            load = panel[strstrt(panel, ",") + 1:*]
            set title name . ", F " . load
            plot for [i = 1:words(names)] "< awk -F, '" . of_blocks(bits, name) . at(load) . " && $2 == \"" . word(names, i) . "\" { b = $7; sub(/gops_block/, \"\", b); print b \",\" $8 }' summary.csv" using 1:2 with linespoints linewidth (i == 1 ? 3 : 1.5) pointtype 7 pointsize 0.5 linecolor rgb color(i) title word(names, i) noenhanced
        }
        unset multiplot
        unset output
    }
}

sets = "get:1048576 insert:1048576 delete:1048576 get:16777216 insert:16777216 delete:16777216"
do for [bits in "64 128"] {
    if (count(bits, "set_get:") > 0) {
        set output sprintf("sets_%s.svg", bits)
        set multiplot layout 2, 3 title sprintf("Key sets beside pairs, %s-bit slots of pairs: G operations / s", bits) textcolor rgb grey
        unset logscale x; set format x "%g"
        set xlabel "F: keys offered / slots" textcolor rgb grey
        do for [panel in sets] {
            set title operation(panel) . " of " . batch(panel) . " keys"
            plot for [i = 1:2] of("sherwood", bits, word("set_ pair_", i) . panel) using 5:8 with linespoints linewidth 3 pointtype 7 pointsize 0.5 linecolor rgb color(i) title word("sets pairs", i)
        }
        unset multiplot
        unset output
    }
}
