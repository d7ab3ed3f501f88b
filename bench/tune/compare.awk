# SPDX-License-Identifier: MIT
#
# compare.awk - the timing study before and after, several runs of each: medians, what changed, and
# whether that is more than the runs differ among themselves. bench/tune/prove calls it:
#   awk -f bench/tune/compare.awk -v kinds='b a b a' SUMMARY.csv ..    the table, then a verdict
#   awk -f bench/tune/compare.awk -v kinds='b a b a' -v only=b SUMMARY.csv ..    one summary.csv
#
# The files are in the order of kinds. Exit status: 0; 1 if anything is more than `loss` (2) percent
# slower after, and every run after slower than every run before; 3 if there is nothing to compare.

BEGIN {
    FS = OFS = ","
    loss = loss == "" ? 2 : loss
    runs = split(kinds, kind, " ")
}

FNR == 1 {
    run++
    header = $0
    next
}

{
    key = $1 FS $2 FS $3 FS $4 FS $5 FS $6
    row = key FS $7
    if (!(row in rows)) {
        rows[row] = ++row_count
        names[row_count] = row
        keys[row_count] = key
        metrics[row_count] = $7
    }
    units[rows[row]] = $9
    if ($8 != "") {
        side = kind[run]
        values[rows[row], side, ++counts[rows[row], side]] = $8 + 0
    }
}

# The values of a row in ascending order are sorted[1..]; returns how many.
function sort_values(r, side, n, i, j, held) {
    n = counts[r, side] + 0
    for (i = 1; i <= n; i++) {
        held = values[r, side, i]
        for (j = i - 1; j > 0 && sorted[j] > held; j--) {
            sorted[j + 1] = sorted[j]
        }
        sorted[j + 1] = held
    }
    return n
}

function median(n) {
    return n % 2 == 1 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

# A summary.csv of all runs of one side.
function write_side(r, n, value) {
    print header
    for (r = 1; r <= row_count; r++) {
        n = sort_values(r, only)
        value = n == 0 ? "" : metrics[r] ~ /_min$/ ? sorted[1] : metrics[r] ~ /_max$/ ? sorted[n] : median(n)
        value = value == "" ? "" : sprintf("%.10g", value)
        print names[r], value, units[r]
    }
}

# Of one row: b and a are the medians, the rest says how far the runs lie apart.
function compare(r, n, m) {
    n = sort_values(r, "b")
    if (n == 0) {
        return 0
    }
    b = median(n)
    b_least = sorted[1]
    apart = (sorted[n] - sorted[1]) / b
    m = sort_values(r, "a")
    if (m == 0 || b <= 0) {
        return 0
    }
    a = median(m)
    a_most = sorted[m]
    a_least = sorted[1]
    apart = (sorted[m] - sorted[1]) / a > apart ? (sorted[m] - sorted[1]) / a : apart
    b_most = b_least
    sort_values(r, "b")
    b_most = sorted[n]
    return 1
}

function verdict(change) {
    if (change < -loss / 100 && a_most < b_least) {
        slower++
        return "SLOWER"
    }
    if (change > loss / 100 && a_least > b_most) {
        faster++
        return "faster"
    }
    return change < -loss / 100 ? "slower within the noise" : ""
}

function write_table(r, part, change, said) {
    printf "%-14s %4s %5s %10s %11s %11s %8s %8s\n", "operation", "bits", "F", "batch",
        "before Gops", "after Gops", "change", "noise"
    for (r = 1; r <= row_count; r++) {
        if (metrics[r] != "gops" || !compare(r)) {
            continue
        }
        split(keys[r], part, FS)
        change = a / b - 1
        said = verdict(change)
        printf "%-14s %4s %5s %10s %11.4f %11.4f %+7.2f%% %7.2f%%%s\n", part[3], part[4], part[5],
            part[6], b, a, 100 * change, 100 * apart, said == "" ? "" : "  " said
        compared++
        if (compared == 1 || change < worst) {
            worst = change
            worst_at = part[3] " of " part[4] "-bit slots, F " part[5] ", batch " part[6]
        }
        if (compared == 1 || change > best) {
            best = change
            best_at = part[3] " of " part[4] "-bit slots, F " part[5] ", batch " part[6]
        }
    }
}

END {
    if (only != "") {
        write_side()
        exit 0
    }
    write_table()
    if (compared == 0) {
        print "There is nothing to compare: no row of metric gops is in both."
        exit 3
    }
    printf "%d workloads of the timing study, %d runs; %d faster and %d slower by more than %g %% " \
        "and more than the noise.\n", compared, runs, faster, slower, loss
    printf "best %+.2f %% (%s), worst %+.2f %% (%s)\n", 100 * best, best_at, 100 * worst, worst_at
    exit slower > 0
}
