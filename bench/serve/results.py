# SPDX-License-Identifier: MIT
"""results - what the study of served rates has measured: raw.csv, summary.csv, and the bars it is held to."""

import statistics

from failures import write_file

HEAD = "study,library,operation,slot_bits,F,batch,metric,value,unit"
RATE = "keys_per_second"
# Operations with a ratio of their rate to the rate of gets by the same frames or pipelines.
GET_OF = {"insert": "get", "update": "get", "delete": "get", "get_beside_updates": "get",
          "resp_set_p64": "resp_get_p64"}
# Operations with a ratio of their rate to the rate of the same operation by the next smaller frames.
BY_SIZE = ("get", "get_ring")
# Single GETs beside frames: p99 of the daemon without a table is its ceiling.
BESIDE_FRAMES = ("resp_get_p1_beside_gets", "resp_get_p1_beside_updates")


class Row:
    """What a rate is of: the columns of a row but the last three."""

    def __init__(self, operation, bits, load, batch, library="sherwood", study="served"):
        self.study, self.library, self.operation = study, library, operation
        self.bits, self.load, self.batch = bits, "" if load is None else f"{load:.3g}", batch

    def key(self):
        return (self.study, self.library, self.operation, str(self.bits), self.load, str(self.batch))


class Results:
    """Measurements in the order in which they were made. Every one is written at once."""

    def __init__(self, output):
        self.output = output
        self.values = {}  # (row's key, metric, unit): {repetition: value}
        with open(output / "raw.csv", "w", encoding="ascii") as file:
            file.write("repetition," + HEAD + "\n")

    def add(self, repetition, row, metric, value, unit):
        self.values.setdefault((row.key(), metric, unit), {})[repetition] = value
        with open(self.output / "raw.csv", "a", encoding="ascii") as file:
            file.write(f"{repetition},{','.join(row.key())},{metric},{value:.12g},{unit}\n")

    def rates(self, **wanted):
        """{repetition: rate} of the first row that is as wanted; None if there is none."""
        names = ("study", "library", "operation", "bits", "load", "batch")
        for (key, metric, _), values in self.values.items():
            found = dict(zip(names, key))
            if metric == RATE and all(found[name] == value for name, value in wanted.items()):
                return values
        return None

    def ratio(self, key, values, metric, base):
        """Adds the median of the ratios of the repetitions that have both."""
        both = [values[r] / base[r] for r in values if base and base.get(r)]
        return [(key, metric, "", statistics.median(both))] if both else []

    def summary(self):
        """(row's key, metric, unit, median) of everything, with the ratios."""
        out = []
        for (key, metric, unit), values in self.values.items():
            study, library, operation, bits, load, batch = key
            same = {"study": study, "bits": bits, "batch": batch}
            out.append((key, metric, unit, statistics.median(values.values())))
            if metric == RATE and operation in GET_OF:
                gets = {**same, "library": library, "operation": GET_OF[operation]}
                base = self.rates(**gets, load=load) or self.rates(**gets)
                out += self.ratio(key, values, "ratio_to_get", base)
            if metric == RATE and library == "sherwood":
                null = {**same, "library": "sherwood-null", "operation": operation}
                base = self.rates(**null, load=load) or self.rates(**null, load="")
                out += self.ratio(key, values, "ratio_to_null", base)
            if metric == RATE and operation in BY_SIZE:
                out += self.ratio(key, values, "ratio_to_smaller", self.smaller(key))
            if metric == RATE and study == "host_served" and operation == "get":
                lines = self.rates(study=study, operation="random_lines_read")
                out += self.ratio(key, values, "ratio_to_lines", lines)
            if metric == "latency_p99" and operation == "resp_get_p1":
                base = self.values.get((key, "latency_p50", unit))
                out += self.ratio(key, values, "p99_to_p50", base)
        return out + self.ceilings(out)

    def smaller(self, key):
        """{repetition: rate} of the same operation by the next smaller frames; None: there are none."""
        sizes = {int(other[5]): values for (other, metric, _), values in self.values.items()
                 if metric == RATE and other[:5] == key[:5] and int(other[5]) < int(key[5])}
        return sizes[max(sizes)] if sizes else None

    def ceilings(self, figures):
        """What ratios among gets, and latencies beside frames, are without a table: parsing, sockets and cores allow no better."""
        def has_ceiling(key, metric):
            return metric in ("ratio_to_get", "ratio_to_smaller") or metric == "latency_p99" and key[2] in BESIDE_FRAMES

        null = {(key[0], *key[2:4], key[5], metric): (value, unit) for key, metric, unit, value in figures
                if key[1] == "sherwood-null" and has_ceiling(key, metric)}
        out = []
        for key, metric, _, _ in figures:
            value, unit = null.get((key[0], *key[2:4], key[5], metric), (None, ""))
            if key[1] == "sherwood" and value is not None:
                out.append((key, f"ceiling_{metric}", unit, value))
        return out

    def write_summary(self):
        rows = [f"{','.join(key)},{metric},{value:.12g},{unit}" for key, metric, unit, value in self.summary()]
        write_file(self.output / "summary.csv", "\n".join([HEAD, *rows]) + "\n")


# --- the bars ------------------------------------------------------------------------------------
# Shares of the rate of gets by the same frames, for 32-bit keys; for 64-bit keys, multiply by WIDE.
WIDE = 0.8
PARTS = {
    4096: {("insert", "0.85"): 0.5, ("insert", "0.95"): 0.3, ("update", "0.85"): 0.6, ("delete", "0.5"): 0.4,
           ("delete", "0.85"): 0.4, ("delete", "0.95"): 0.25},
    65536: {("insert", "0.85"): 0.6, ("insert", "0.95"): 0.35, ("update", "0.85"): 0.6, ("delete", "0.5"): 0.5,
            ("delete", "0.85"): 0.5, ("delete", "0.95"): 0.25},
    262144: {("insert", "0.85"): 0.5, ("insert", "0.95"): 0.3, ("update", "0.85"): 0.5, ("delete", "0.5"): 0.4,
             ("delete", "0.85"): 0.4, ("delete", "0.95"): 0.25},
}
ROWS_TO_NULL = 0.8  # rows of a table, over rows of the daemon without a table
# A table in host memory: sets of stored keys over gets by the same frames, and gets over random lines of memory.
HOST = {("update", "ratio_to_get"): 0.6, ("get", "ratio_to_lines"): 0.45}
FLOODED = -20000  # us, of reads of one table while others flood another one
# Several tables: rates over those of one table with the keys and slots of all, by frames of the same size.
TABLES = {("get_by_tables", "4096"): 0.8, ("get_by_tables", "65536"): 0.9, ("get_by_segments", "262144"): 0.9,
          ("set_by_tables", "4096"): 0.4, ("set_by_tables", "65536"): 0.9}
# (operation, metric): at least, or at most where it is negative. They hold for every row.
OTHERS = {
    ("get", "ratio_to_null"): 0.85,
    ("get_ring", "ratio_to_null"): 0.85,
    ("get", "ratio_to_smaller"): 0.95,
    ("get_ring", "ratio_to_smaller"): 0.95,
    ("get_tcp", "ratio_to_null"): 0.9,
    ("get_beside_updates", "ratio_to_get"): 0.85,
    ("resp_set_p64", "ratio_to_get"): 0.7,
    ("resp_get_p1", "ratio_to_null"): 0.7,
    ("resp_get_p1", "p99_to_p50"): -2,
    ("resp_get_p1_beside_updates", "latency_p99"): -300,
    ("resp_get_p1_beside_gets", "latency_p99"): -300,
    ("mixed_12_clients", RATE): 150e6,
    ("mixed_12_clients", "latency_mean"): -300,
}


def bar_of(key, metric):
    """What this figure should be at least; at most, where it is negative; None: there is no bar."""
    study, library, operation, bits, load, batch = key
    if (study, library, metric) == ("rows_served", "sherwood", "ratio_to_null"):
        return ROWS_TO_NULL
    if study == "host_served":
        return HOST.get((operation, metric))
    if (study, operation, metric) == ("tables_served", "get_beside_flood", "latency_p99"):
        return FLOODED
    if (study, metric) == ("tables_served", "ratio_to_one"):
        return TABLES.get((operation, batch))
    if study not in ("served", "gets_served") or library != "sherwood":
        return None
    if metric == "ratio_to_get" and batch.isdigit() and (operation, load) in PARTS.get(int(batch), {}):
        return PARTS[int(batch)][(operation, load)] * (WIDE if bits == "128" else 1)
    return OTHERS.get((operation, metric))


def bars(summary, bar_of=bar_of):
    """A line for each figure that has a bar, as `bar_of` of a row's key and a metric tells: is it over it? Beside it the
    most that it could be, where a study knows that."""
    summary = list(summary)
    ceilings = {(key, metric): value for key, metric, _, value in summary if metric.startswith("ceiling_")}
    head = f"{'':5} {'operation':28} {'bits':>4} {'F':>5} {'batch':>7} {'metric':>16} {'measured':>11} {'bar':>13}"
    yield head + (f" {'ceiling':>11}" if ceilings else "")
    for key, metric, _, value in summary:
        bar = bar_of(key, metric)
        if bar is not None:
            passed = value >= bar if bar > 0 else value <= -bar
            limit = f"{'>=' if bar > 0 else '<='} {abs(bar):.4g}"
            yield (f"{'ok' if passed else 'SHORT':5} {key[2]:28} {key[3]:>4} {key[4]:>5} {key[5]:>7} {metric:>16} "
                   f"{value:11.4g} {limit:>13}" + (f" {ceilings[key, 'ceiling_' + metric]:11.4g}"
                                                   if (key, "ceiling_" + metric) in ceilings else ""))
