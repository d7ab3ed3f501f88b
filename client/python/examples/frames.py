#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frames - pandas and pyarrow: a column joined with the table, and a Parquet file loaded into it.

    pip install pandas pyarrow
    sherwoodd
    python3 frames.py 127.0.0.1:7379
"""

import os
import sys
import tempfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import sherwood


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: frames.py ADDRESS, as in the first lines of this file")
    with sherwood.connect(sys.argv[1]) as c, tempfile.TemporaryDirectory() as folder:
        # A dimension table, as a data platform exports it.
        path = os.path.join(folder, "prices.parquet")
        pq.write_table(pa.table({"item": pa.array(range(1000), pa.uint64()),
                                 "cents": pa.array(range(0, 5000, 5), pa.uint64())}), path)
        print("loaded", c.load(path, keys="item", values="cents"))

        # A join: one call looks up the whole column.
        orders = pd.DataFrame({"item": [3, 999, 5000, 3], "count": [1, 2, 1, 10]})
        cents, known = c.get_many(orders["item"])
        orders["cents"] = pd.Series(cents).where(known)
        print(orders)

        # Counters: adds the result of an aggregation.
        sold = orders.groupby("item")["count"].sum()
        counters = sold.index.to_numpy() | (1 << 62)
        c.add_many(counters, sold.to_numpy())
        print("sold", c.get_many(counters, default=0))


if __name__ == "__main__":
    main()
