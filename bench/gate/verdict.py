# SPDX-License-Identifier: MIT
"""verdict - the arithmetic of the gate: turns, ratios, the printed table, and the file with a row for each commit."""

import csv
import io
import statistics

from failures import write_file

LEAST = 0.95
# A character of the bar is this difference of a ratio from 1; each half of the bar has BAR_WIDTH characters.
BAR_STEP = 0.02
BAR_WIDTH = 10
HEAD = ("date", "commit", "base", "rounds", "lowest")


def turns(number):
    """Returns the order of both builds in round `number` (from 0): A B, B A, A B, .. Drift of the machine then meets both."""
    return ("this", "base") if number % 2 == 0 else ("base", "this")


def median(rounds):
    """Returns the median of a rate's values, {round: value}; None: it was not measured."""
    return statistics.median(rounds.values()) if rounds else None


def ratio(this, base, is_time=False):
    """Returns the speed of this build as a part of the base's; None: one of both has no value. A longer time is slower."""
    if not this or not base:
        return None
    return base / this if is_time else this / base


def bar(value):
    """Returns a ratio as characters around a line: '-' for each BAR_STEP below 1, '+' for each above."""
    if value is None:
        return ""
    steps = max(-BAR_WIDTH, min(BAR_WIDTH, round((value - 1) / BAR_STEP)))
    return f"{'-' * -steps:>{BAR_WIDTH}}|{'+' * steps}".rstrip()


def shown(value, unit):
    """Returns a value with its unit in three digits: 2.31 G/s, 96.2 us."""
    if value is None:
        return "-"
    value = float(f"{value:.3g}")
    if unit != "1/s":
        return f"{value:g} {unit}"
    power = next(power for power in (3, 2, 1, 0) if value >= 1000 ** power or power == 0)
    return f"{value / 1000 ** power:g} {('', 'k', 'M', 'G')[power]}/s"


class Measured:
    """One rate of both builds: its name, what it is of, and {round: value} of each."""

    def __init__(self, name, path, about, unit):
        self.name, self.path, self.about, self.unit = name, path, about, unit
        self.values = {"this": {}, "base": {}}

    def median(self, side):
        return median(self.values[side])

    def ratio(self):
        """The ratio of the medians."""
        return ratio(self.median("this"), self.median("base"), self.unit == "us")

    def rounds(self):
        """Rounds that have a value of both builds."""
        return sorted(set(self.values["this"]) & set(self.values["base"]))

    def spread(self):
        """The least and the highest ratio of a round; None: fewer than two rounds have both."""
        found = [ratio(self.values["this"][r], self.values["base"][r], self.unit == "us") for r in self.rounds()]
        return (min(found), max(found)) if len(found) > 1 and None not in found else None


def slower(measured, least=LEAST):
    """Returns the rates below `least` of the base's."""
    return [rate for rate in measured if rate.ratio() is not None and rate.ratio() < least]


def lost(measured):
    """Returns the rates that only the base has: this build failed to give them."""
    return [rate for rate in measured if rate.median("this") is None and rate.median("base") is not None]


def table(measured):
    """The lines of the table."""
    yield f"{'path':14} {'rate':34} {'this build':>11} {'base':>11} {'ratio':>6} {'of each round':>14}  {'slower':>{BAR_WIDTH}}|faster"
    for rate in measured:
        found, spread = rate.ratio(), rate.spread()
        yield (f"{rate.path:14} {rate.about:34} {shown(rate.median('this'), rate.unit):>11} "
               f"{shown(rate.median('base'), rate.unit):>11} {'-' if found is None else f'{found:.3f}':>6} "
               f"{'-' if spread is None else f'{spread[0]:.2f} to {spread[1]:.2f}':>14}  {bar(found)}").rstrip()


def verdict(measured, least=LEAST):
    """(exit status, lines): 1 if a rate is below `least`, is lost, or none could be compared."""
    below, gone = slower(measured, least), lost(measured)
    compared = [rate.ratio() for rate in measured if rate.ratio() is not None]
    lines = [f"SLOWER: {rate.name}: {rate.ratio():.3f} of the base, at least {least:g} is required" for rate in below]
    lines += [f"LOST: {rate.name}: the base has {shown(rate.median('base'), rate.unit)}, this build failed" for rate in gone]
    if not compared:
        return 1, [*lines, "FAILED: no rate was measured with both builds"]
    lines.append(f"{'FAILED' if below or gone else 'passed'}: {len(compared)} rates compared, the lowest ratio is {min(compared):.3f}")
    return 1 if below or gone else 0, lines


def record(file, date, commit, base, measured):
    """Writes the row of this commit and base to a CSV file: a rate's median, and its ratio in the column <rate>_ratio.
    Replaces an earlier row of both. Rates that the file lacks become columns at its end."""
    rows = []
    names = list(HEAD)
    if file.exists():
        with open(file, encoding="utf-8", newline="") as old:
            reader = csv.DictReader(old)
            rows = [row for row in reader if (row["commit"], row["base"]) != (commit, base)]
            names = list(reader.fieldnames or HEAD)
    ratios = [rate.ratio() for rate in measured if rate.ratio() is not None]
    row = {"date": date, "commit": commit, "base": base, "rounds": max((len(rate.rounds()) for rate in measured), default=0),
           "lowest": f"{min(ratios):.3f}" if ratios else ""}
    for rate in measured:
        value, found = rate.median("this"), rate.ratio()
        row[rate.name] = "" if value is None else f"{value:.5g}"
        row[f"{rate.name}_ratio"] = "" if found is None else f"{found:.3f}"
    names += [name for name in row if name not in names]
    file.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*rows, row])
    write_file(file, text.getvalue())
