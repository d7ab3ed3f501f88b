#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The online store for Feast gives the answers of Feast's own store for SQLite. client/python/feast_suite runs Feast's
own tests of online stores."""

import asyncio
import contextlib
import datetime
import importlib.util
import os
import pathlib
import random
import tempfile

from harness import Skip, case, drawn_seed, equal, main
from package import daemon, np, raises, sherwood

os.environ["FEAST_USAGE"] = "False"
ROWS = ("--backend", "cpu", "--value-bytes", "512", "--frame-ops-max", "256")
UTC = datetime.timezone.utc
NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=UTC)
TOP = 2**63 - 1


def needs_feast():
    if importlib.util.find_spec("feast") is None:
        raise Skip("feast is not installed (pip install feast)")


def definitions(folder, name="numbers", extra=()):
    """Returns an entity of two keys, and a view with a feature of every supported kind."""
    from feast import Entity, FeatureView, Field, FileSource  # pylint: disable=import-outside-toplevel
    from feast import types, value_type  # pylint: disable=import-outside-toplevel

    user = Entity(name="user", join_keys=["user_id"], value_type=value_type.ValueType.INT64)
    shop = Entity(name="shop", join_keys=["shop_id"], value_type=value_type.ValueType.STRING)
    schema = [Field(name="user_id", dtype=types.Int64), Field(name="shop_id", dtype=types.String),
              Field(name="i32", dtype=types.Int32), Field(name="i64", dtype=types.Int64),
              Field(name="f32", dtype=types.Float32), Field(name="f64", dtype=types.Float64),
              Field(name="yes", dtype=types.Bool), Field(name="at", dtype=types.UnixTimestamp),
              *(Field(name=what, dtype=kind) for what, kind in extra)]
    source = FileSource(path=str(pathlib.Path(folder, "rows.parquet")), timestamp_field="event_timestamp")
    view = FeatureView(name=name, entities=[user, shop], schema=schema, source=source, online=True,
                       ttl=datetime.timedelta(days=36500))
    return [user, shop, view]


def frame(rng, count):
    import pandas  # pylint: disable=import-outside-toplevel

    whole = {
        "user_id": np.array([rng.randrange(-50, 50) for _ in range(count)], np.int64),
        "shop_id": [rng.choice(("a", "b", "ä")) for _ in range(count)],
        "i32": np.array([rng.randrange(-2**31, 2**31) for _ in range(count)], np.int32),
        "i64": np.array([rng.choice((0, TOP, -TOP - 1, rng.randrange(-TOP, TOP))) for _ in range(count)]),
        "f32": np.array([rng.choice((0.0, -1.5, 3e38, rng.random())) for _ in range(count)], np.float32),
        "f64": np.array([rng.choice((0.0, -1e300, rng.random())) for _ in range(count)]),
        "yes": np.array([rng.random() < .5 for _ in range(count)]),
        "at": [NOW + datetime.timedelta(seconds=rng.randrange(10**6)) for _ in range(count)],
        "event_timestamp": [NOW + datetime.timedelta(milliseconds=i) for i in range(count)]}
    return pandas.DataFrame(whole)


@contextlib.contextmanager
def stores(*flags, **settings):
    """Yields a feature store on a daemon, one on SQLite, and the folder of their source."""
    from feast import FeatureStore, RepoConfig  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder, daemon(*flags) as server:
        made = []
        for number, online in enumerate((
                {"type": "sherwood.feast.SherwoodOnlineStore", "address": server.unix, **settings},
                {"type": "sqlite", "path": f"{folder}/online.db"})):
            made.append(FeatureStore(config=RepoConfig(
                project="p", provider="local", registry=f"{folder}/registry{number}.db", online_store=online,
                offline_store={"type": "file"}, entity_key_serialization_version=3)))
        yield (*made, folder, server)


NAMES = ("i32", "i64", "f32", "f64", "yes", "at")


def read(store, entities, names=NAMES, view="numbers"):
    return store.get_online_features(features=[f"{view}:{name}" for name in names], entity_rows=entities).to_dict()


@case
def beside_sqlite():
    """rows written, overwritten, null and absent give the answers of SQLite's store, also by materialize"""
    needs_feast()
    rng = random.Random(drawn_seed())
    everybody = [{"user_id": user, "shop_id": shop} for user in range(-55, 55) for shop in ("a", "b", "ä")]
    with stores("--frame-ops-max", "256") as (ours, theirs, folder, _):
        first = frame(rng, 200).drop_duplicates(["user_id", "shop_id"])
        first.to_parquet(f"{folder}/rows.parquet")
        for store in (ours, theirs):
            store.apply(definitions(folder))
            store.materialize(NOW - datetime.timedelta(days=1), NOW + datetime.timedelta(days=1))
        got = read(ours, everybody)
        equal(got, read(theirs, everybody))
        equal(sum(value is not None for value in got["i64"]), len(first))
        for _ in range(5):
            rows = frame(rng, 80).drop_duplicates(["user_id", "shop_id"])
            rows["i64"] %= 2**50  # Feast makes floats of a column of integers with nulls
            rows = rows.astype({"f64": object, "i64": object, "yes": object})
            for column in ("f64", "i64", "yes"):
                rows[column] = [None if rng.random() < .2 else value for value in rows[column]]
            for store in (ours, theirs):
                store.write_to_online_store("numbers", rows)
            equal(read(ours, everybody), read(theirs, everybody))
        equal(read(ours, everybody[:7], ["f32", "i64"]), read(theirs, everybody[:7], ["f32", "i64"]))


def more_types(rng, rows):
    """Returns columns of types that only rows hold, and their names in Feast."""
    from feast import types  # pylint: disable=import-outside-toplevel

    def drawn(value):
        return [None if rng.random() < .2 else value() for _ in range(len(rows))]

    def words():
        return "".join(rng.choice("aäß\0 ") for _ in range(rng.randrange(9)))

    columns = {"text": (types.String, words), "raw": (types.Bytes, lambda: rng.randbytes(rng.randrange(9))),
               "numbers": (types.Array(types.Int64), lambda: [rng.randrange(-TOP, TOP) for _ in range(rng.randrange(4))]),
               "texts": (types.Array(types.String), lambda: [words() for _ in range(rng.randrange(1, 4))]),
               "floats": (types.Array(types.Float32), lambda: [float(rng.randrange(99)) for _ in range(rng.randrange(4))])}
    for name, (_, value) in columns.items():
        rows[name] = drawn(value)
    return [(name, kind) for name, (kind, _) in columns.items()]


@case
def rows_of_any_type():
    """a server of rows takes strings, bytes and lists as features, null or not, with SQLite's answers.
    The asynchronous calls give the same. A row that is too long is refused and changes nothing."""
    needs_feast()
    rng = random.Random(drawn_seed())
    everybody = [{"user_id": user, "shop_id": shop} for user in range(-50, 50) for shop in ("a", "b", "ä")]
    with stores(*ROWS) as (ours, theirs, folder, server):
        for turn in range(3):
            rows = frame(rng, 150).drop_duplicates(["user_id", "shop_id"])
            extra = more_types(rng, rows)
            names = NAMES + tuple(name for name, _ in extra)
            for store in (ours, theirs):
                if turn == 0:
                    frame(rng, 3).to_parquet(f"{folder}/rows.parquet")
                    store.apply(definitions(folder, extra=extra))
                store.write_to_online_store("numbers", rows)
            got = read(ours, everybody, names)
            equal(got, read(theirs, everybody, names))
        equal(read(ours, everybody[:9], ["texts", "i32"]), read(theirs, everybody[:9], ["texts", "i32"]))
        features = [f"numbers:{name}" for name in names]
        equal(asyncio.run(ours.get_online_features_async(features=features, entity_rows=everybody)).to_dict(), got, "async")
        equal(sum(value is not None for value in got["texts"]) > 50, True, "texts")
        rows.at[rows.index[0], "text"] = "x" * 600
        raises(sherwood.Refused, "of this server have 512", ours.write_to_online_store, "numbers", rows)
        equal(read(ours, everybody, names), got, "nothing was written")
        with sherwood.connect(server.unix) as c:
            equal(len(c) <= 300, True, "a row an entity")


@case
def views_go():
    """a view that is deleted or torn down has no rows when it is created again; another view keeps its own. With
    table_per_view each has a table, which goes with it, and the default table is not used"""
    needs_feast()
    for flags in ((), ROWS):
        view_goes(random.Random(drawn_seed()), flags)
    for flags, options in (((), {}), (ROWS, {}), (("--engine", "cache", "--value-bytes", "8", "--frame-ops-max", "256"), {"engine": "robin_hood", "value_bytes": 256}),
                           (("--key-bits", "32"), {"key_bits": 64, "max_capacity": "1M"})):
        view_goes(random.Random(drawn_seed()), flags, table_per_view=True, table_options=options)


def view_goes(rng, flags, **settings):
    with stores(*flags, **settings) as (ours, _, folder, server), sherwood.connect(server.unix) as c:
        def tables():
            return [table.name for table in c.tables()]
        frame(rng, 3).to_parquet(f"{folder}/rows.parquet")
        rows = frame(rng, 50).drop_duplicates(["user_id", "shop_id"])
        asked = [{"user_id": int(rows.user_id.iloc[0]), "shop_id": rows.shop_id.iloc[0]}]
        ours.apply(definitions(folder) + definitions(folder, "others")[2:])
        for name in ("numbers", "others"):
            ours.write_to_online_store(name, rows)
        kept = read(ours, asked)
        equal(read(ours, asked, view="others")["i32"], kept["i32"])
        view = definitions(folder)[2]
        ours.apply([], objects_to_delete=[view], partial=False)
        ours.apply(definitions(folder))
        equal(read(ours, asked)["i32"], [None], "deleted and made again")
        equal(read(ours, asked, view="others")["i32"], kept["i32"])
        ours.write_to_online_store("numbers", rows)
        equal(read(ours, asked), kept)
        if settings:
            equal((tables(), len(c)), (["default", "feast.p_others", "feast.p_numbers"], 0), "tables")
            c.drop_table("feast.p_numbers")
            raises(sherwood.Refused, "the view numbers has no table feast.p_numbers: feast apply makes it", read, ours, asked)
            ours.apply(definitions(folder))
            equal(read(ours, asked)["i32"], [None], "a new table")
            c.drop_table("feast.p_numbers")
            c.create_table("feast.p_numbers", like="feast.p_others")  # by another process, beside open clients
            ours.write_to_online_store("numbers", rows)
            equal(read(ours, asked), kept)
        ours.teardown()
        equal(tables(), ["default"], "after the teardown")


@case
def names_of_tables():
    """the name of a view's table has only characters and lengths that the server takes, and differs for each view"""
    needs_feast()
    from sherwood._feast_view import table_of  # pylint: disable=import-outside-toplevel

    views = ["p_users", "pröject_users", "prüject_users", "p_" + "x" * 80, "p_" + "x" * 81, "p users", "p_users_v2"]
    names = [table_of(view) for view in views]
    equal((names[0], len(set(names))), ("feast.p_users", len(views)), names)
    with daemon("--capacity", "1K", "--tables-max", "20") as server, sherwood.connect(server.unix) as c:
        for name in names:
            c.create_table(name)


@case
def refused():
    """features that are no numbers where values are, values of another type, and servers that may evict, in words"""
    needs_feast()
    from feast import types  # pylint: disable=import-outside-toplevel
    from feast.protos.feast.types.EntityKey_pb2 import EntityKey  # pylint: disable=import-outside-toplevel
    from feast.protos.feast.types.Value_pb2 import Value  # pylint: disable=import-outside-toplevel

    rng = random.Random(drawn_seed())
    with stores() as (ours, _, folder, server):
        frame(rng, 3).to_parquet(f"{folder}/rows.parquet")
        for kind in (types.String, types.Bytes, types.Array(types.Int64)):
            raises(sherwood.Refused, "values of this server are integers", ours.apply, definitions(folder, extra=[("text", kind)]))
        ours.apply(definitions(folder))
        store, view = ours._get_provider().online_store, ours.get_feature_view("numbers")
        key = EntityKey(join_keys=["user_id"], entity_values=[Value(int64_val=1)])
        raises(sherwood.Refused, "i32", store.online_write_batch, ours.config, view,
               [(key, {"i32": Value(string_val="1")}, NOW, None)], None)
        equal(store.online_read(ours.config, view, [key, key], ["i32"]), [(None, None)] * 2)
        told = []
        store.online_write_batch(ours.config, view, [(key, {"i32": Value(int32_val=5)}, NOW, None)] * 3, told.append)
        (moment, row), = store.online_read(ours.config, view, [key])
        equal((moment, row["i32"].int32_val, row["i64"].WhichOneof("val"), sum(told)), (NOW, 5, None, 3))
        with sherwood.connect(server.unix) as c:
            equal(len(c), 3, "a mark, a time and a number")
    for flags in (("--engine", "cache", "--value-bytes", "8"), ("--key-bits", "32"),
                  ("--value-bytes", "12"), ("--backend", "cpu", "--value-bytes", "20")):
        with stores(*flags) as (ours, _, folder, _):
            frame(rng, 3).to_parquet(f"{folder}/rows.parquet")
            raises(sherwood.Refused, "evicts nothing", ours.apply, definitions(folder))


if __name__ == "__main__":
    main()
