# SPDX-License-Identifier: MIT
#
# plot.gp - the best variants of each kernel: speed-up over base at all points (lowest, score, highest), readable
# on any background. Run it in the folder that holds summary.csv; it needs gnuplot and awk:
#   gnuplot .../plot.gp      writes variants.svg
set datafile separator ","
grey = "#808080"
set border linecolor rgb grey
set tics textcolor rgb grey
set grid linecolor rgb grey linewidth 0.4 dashtype 3
set title textcolor rgb grey noenhanced
unset key
set ytics font ",10" noenhanced
set yrange [-4.5:0.5]
set xrange [0.5:1.6]
set lmargin 40

# Columns: study,library,operation,slot_bits,F,batch,metric,value,unit. library is a variant, operation a kernel.
kernels = system("awk -F, '$7 == \"score\" && !seen[$3 \":\" $4]++ { print $3 \":\" $4 }' summary.csv")
points(kernel) = "< awk -F, '$3 \":\" $4 == \"" . kernel . "\" { if ($7 == \"score\") { order[++n] = $2; score[$2] = $8 } if ($7 == \"speed_up_min\") low[$2] = $8; if ($7 == \"speed_up_max\") high[$2] = $8; if ($7 == \"base\") base = $2 } END { for (i = 1; i <= n; i++) { v = order[i]; print i - 1 \",\" score[v] \",\" low[v] \",\" high[v] \",\" v (v == base ? \" (base)\" : \"\") } }' summary.csv"

if (words(kernels) > 0) {
    set terminal svg size 1400,190 * ((words(kernels) + 1) / 2) font "sans-serif,13"
    set output "variants.svg"
    set multiplot layout (words(kernels) + 1) / 2, 2 title "The tuner's best variants: rate over that of base" textcolor rgb grey
    do for [kernel in kernels] {
        set title kernel . " bits"
        plot points(kernel) using 2:(-$1):3:4:ytic(5) with xerrorbars linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb "#4a90d9"
    }
    unset multiplot
}
