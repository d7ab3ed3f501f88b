#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls of sherwood.Device and libsherwood-cuda on several tables, in memory of the emulated GPU."""

import concurrent.futures
import ctypes
import itertools
import os
import random
import sys
import threading

import fake_torch
from attached import DRIVER, E_INVALID, EMULATED, GET, LIBRARY, SET, SMALL, STAGE, Attached, Call, Memory, call_of, capture, loaded
from harness import case, check, drawn_seed, equal, eventually, main
from package import daemon, np, raises, sherwood


@case
def tables():
    """calls on named tables by one handle: other widths, in order and waiting, through a stage; names and numbers of no table are refused"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        for words in (("one",), ("rows", "value-bytes", "16", "value-type", "u64")):
            equal(server.ask("TABLE", "CREATE", *words), "OK")
        own, number = Attached(library, driver, server, -1), ctypes.c_uint32()
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        numbers = [0]
        for name in (b"one", b"rows", b"one"):
            equal(library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
            numbers.append(number.value)
        equal(numbers, [0, 1, 2, 1])
        equal(library.sherwood_cuda_table(own.pointer, b"none", ctypes.byref(number), None), -17)  # SHERWOOD_E_TABLE
        check("no such table" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        for kind, in_order in (("shared", 0), ("segment", 2)):
            for table, width, count in ((0, 1, 300), (1, 1, 700), (2, 2, 600)):
                keys, values, previous, found = arrays = [Memory(driver, kind) for _ in range(4)]
                keys.words[:count] = np.arange(count)
                values.words[:count * width] = np.arange(count * width) * (table + 3)
                for operation in (SET, GET):
                    call = call_of(operation, arrays, count, when=in_order)
                    call.table = table
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                    equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
                equal(previous.words[:count * width].tolist(), values.words[:count * width].tolist(), (kind, table))
                call.table = 3
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), E_INVALID)
                check("table 3 was not opened" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal([len(client), len(client.table("one")), len(client.table("rows"))], [300, 700, 600])
        equal(server.ask("TABLE", "DROP", "one"), "OK")
        call.table = 1
        status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
        equal(status, -17, library.sherwood_cuda_error())
        for words in (("CREATE", "one", "value-bytes", "16"), ("RENAME", "rows", "old"), ("CREATE", "rows")):
            equal(server.ask("TABLE", *words), "OK")
        for name, given in ((b"one", 3), (b"rows", 4), (b"old", 2), (b"rows", 4)):  # a name is that of another table by now
            equal(library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
            equal(number.value, given, name)
            call = call_of(SET, (*arrays[:2], None, None), 9 * given)
            call.table = given
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        equal([len(client.table(name)) for name in ("one", "rows", "old")], [27, 36, 600])
        for change, status in ((("CREATE", "keys", "value-type", "none"), 0), (("DROP", "keys"), -17)):  # place 0 has values
            equal(server.ask("TABLE", *change), "OK")
            if status == 0:
                equal(library.sherwood_cuda_table(own.pointer, b"keys", ctypes.byref(number), None), 0)
            call = call_of(SET, (arrays[0], None, None, None), 9)
            call.table = number.value
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), status, library.sherwood_cuda_error())
        equal(server.ask("TABLE", "CREATE", "seven", "NUMBER", "7"), "OK")
        equal(library.sherwood_cuda_table(own.pointer, b"seven", ctypes.byref(number), None), 0)
        for when, shape, status in ((when, *change) for when in (0, 2) for change in (
                ((), 0), (("value-bytes", "16"), -17), ((), 0), ((), 0), (("value-bytes", "16"), -17))):  # the number is that of another table
            equal(server.ask("TABLE", "DROP", "seven"), "OK")
            equal(server.ask("TABLE", "CREATE", "seven", "NUMBER", "7", *shape), "OK")
            call = call_of(SET, (*arrays[:2], None, None), 9, when=when)
            call.table = number.value
            got = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
            equal(got, status, library.sherwood_cuda_error())
            equal(len(client.table("seven")), 0 if status else 9)
        check("another shape lies in the place of 'seven'" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        own.close()
        torch = sys.modules["torch"] = fake_torch.module(driver)
        try:
            given = torch.tensor([5, 600], torch.int64, fake_torch.Device(0))
            with client.table("old").attach() as device:
                values, found = device.get_many(given)
                equal((values.tolist(), found.tolist()), ([[50, 55], [0, 0]], [True, False]))
            device, accepted = client.attach(), server.metrics()["sherwood_connections_accepted_total"]
            old, again = (device.table("old", dtype) for dtype in (None, np.uint32))
            for stream in (None, fake_torch.Stream()):
                old.set_many(given, torch.tensor([[1, 2], [3, 4]], torch.int64, fake_torch.Device(0)), stream=stream)
                device.set_many(given, 9, stream=stream)
                equal([each.get_many(given, default=0, stream=stream).tolist() for each in (old, again, device)],
                      [[[1, 2], [3, 4]], [[1, 0, 2, 0], [3, 0, 4, 0]], [9, 9]])
                fresh, some, more = (torch.tensor(keys, torch.int64, fake_torch.Device(0)) for keys in ([905, 906], np.arange(900, 909), np.arange(900, 916)))
                old.set_many(fresh, torch.tensor([[1, 2], [3, 4]], torch.int64, fake_torch.Device(0)), stream=stream)
                device.set_many(fresh[:1], 9, stream=stream)
                parts = device.get_segments([(None, more), ("old", fresh), (again, some), (again, fresh[:0])], stream=stream)
                equal([(values.shape, found.nonzero()[0].tolist()) for values, found in parts], [((16,), [5]), ((2, 2), [0, 1]), ((9, 4), [5, 6]), ((0, 4), [])])
                equal((parts[0][0][5], parts[1][0].tolist(), parts[2][0][5].tolist()), (9, [[1, 2], [3, 4]], [1, 0, 2, 0]))
                for default in (0, 7, 2**32 - 1):
                    lonely, rows = device.get_segments(iter([(device, fresh), (again, some)]), default=default, stream=stream)
                    equal((lonely.tolist(), rows[4:6].view(np.uint32).tolist()), ([9, default], [[default] * 4, [1, 0, 2, 0]]))
            equal((device.get_segments([]), device.get_segments([], default=1)), ([], []))
            raises(TypeError, "3 is no table", device.get_segments, [(3, given)])
            raises(sherwood.Refused, "no such table", device.get_segments, [("none", given)])
            raises(TypeError, "the dtype is int32", device.get_segments, [(old, given.view(np.int32))])
            raises(ValueError, "default: 4294967296 is not within", device.get_segments, [(again, given)], default=2**32)
            with client.attach() as other:
                raises(sherwood.Refused, "is one of another Device", device.get_segments, [(other, given)])
            equal(server.metrics()["sherwood_connections_accepted_total"], accepted + 1, "they share a connection")
            raises(sherwood.Refused, "no such table", device.table, "none")
            raises(TypeError, "3 is not a text", device.table, 3)
            old.close()
            old.close()
            for call, arguments in ((old.get_many, given), (device.get_segments, [(None, given), (old, given)])):
                raises(sherwood.Refused, "open its table again", call, arguments)
            equal((again.get_many(given, default=0)[0].tolist(), device.delete_many(given).tolist()), ([1, 0, 2, 0], [True, True]))
            device.close()
            raises(sherwood.Refused, "attach again", again.get_many, given)
            again = client.attach().table("old")  # the handle lives while a Device of it does
            equal((again.get_many(given, default=0)[0].tolist(), repr(again)), ([1, 2], f"<sherwood.Device {server.unix} cuda:0 table old>"))
        finally:
            del sys.modules["torch"]


@case
def together():
    """reads of several tables go together: bits and bytes, waiting, in order and in a graph, through a stage, of many allocations; failures"""
    library, driver, rng = loaded(), ctypes.CDLL(str(DRIVER)), np.random.default_rng(40)
    with daemon(*SMALL, "--key-bits", "64", "--direct-readers-max", "1", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        own, number, stream, graph = Attached(library, driver, server, -1), ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_void_p()
        equal(driver.cuStreamCreate(ctypes.byref(stream), 0), 0)
        models = [{}, {}, {}]
        for table, words in enumerate(((), ("one", "NUMBER", "7"), ("rows", "value-bytes", "16", "value-type", "u64"))):
            if words:
                equal(server.ask("TABLE", "CREATE", *words), "OK")
                equal(library.sherwood_cuda_table(own.pointer, words[0].encode(), ctypes.byref(number), None), 0)
            keys = np.arange(table, 900, 3, dtype=np.uint64)
            rows = keys * 7 + table if table < 2 else np.stack((keys, keys + 5), 1)
            (client.table(words[0]) if words else client).set_many(keys, rows)
            models[table] = dict(zip(keys.tolist(), rows.tolist()))

        def reads(count, when, kinds, large=False):
            """Returns the calls, and a function that checks their answers."""
            calls, held = (Call * count)(), []
            for call in calls:
                table, keys_count = int(rng.integers(3)), int(rng.choice((0, 1, 64, 200, 1300) if large else (0, 1, 64, 200)))
                keys, values, found = (Memory(driver, kinds[int(rng.integers(len(kinds)))]) for _ in range(3))
                keys.words[:keys_count] = rng.integers(0, 900, keys_count)
                found.words[:keys_count] = values.words[:2 * keys_count + 8] = 0xa5
                made = call_of(GET, (keys, None, values, found), keys_count, int(rng.choice((0, 8))), when, stream)
                made.table = table
                ctypes.memmove(ctypes.byref(call), ctypes.byref(made), ctypes.sizeof(Call))
                held.append((table, keys_count, made.flags, keys, values, found))

            def compare():
                for at, (table, keys_count, flags, keys, values, found) in enumerate(held):
                    wanted = [models[table].get(key) for key in keys.words[:keys_count].tolist()]
                    width = 1 + (table == 2)
                    got = values.words[:keys_count * width].reshape(-1, width).tolist() if width > 1 else values.words[:keys_count].tolist()
                    equal(got, [([0, 0] if width > 1 else 0) if value is None else value for value in wanted], f"call {at}")
                    bits = found.bytes[:keys_count] if flags else np.unpackbits(found.bytes[:(keys_count + 7) // 8], bitorder="little")[:keys_count]
                    equal(bits.tolist(), [int(value is not None) for value in wanted], f"call {at}, found")

            return calls, compare

        def run_reads(calls, wanted=0):
            equal(library.sherwood_cuda_reads(own.pointer, calls, ctypes.c_size_t(len(calls))), wanted, library.sherwood_cuda_error())

        before, (calls, compare) = server.metrics()["sherwood_ring_requests_total"], reads(9, 0, ("shared",))
        run_reads(calls)
        equal(server.metrics()["sherwood_ring_requests_total"] - before, sum(call.count > 0 for call in calls))
        for when, kinds in itertools.product((0, 1, 2), (("shared",), ("shared", "segment", "small"))):
            for count in (1, 5, 40):  # 40 calls have more allocations than a handle registers
                calls, compare = reads(count, when, kinds, large=kinds[1:] != ())
                run_reads(calls)
                equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
                compare()
        calls, compare = reads(6, 2, ("shared", "segment"))
        driver.fake_asynchronous(1)
        with capture(driver, stream, graph):
            run_reads(calls)
        equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
        compare()
        equal((driver.cuGraphDestroy(graph), library.sherwood_cuda_check(own.pointer, True)), (0, 0))
        driver.fake_asynchronous(0)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            several = [reads(30, when, ("shared",)) for when in (0, 1, 2, 0)]
            list(pool.map(lambda each: [run_reads(each[0]) for _ in range(9)], several))
            equal(library.sherwood_cuda_check(own.pointer, True), 0)
            for _, compare in several:
                compare()
        equal(library.sherwood_cuda_direct(own.pointer), 0, library.sherwood_cuda_error())  # from here on those of the default table are direct reads
        for when in (0, 1, 2):
            calls, compare = reads(4, when, ("shared",))
            run_reads(calls)
            equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
            compare()
        for field, value, text in (("operation", SET, "only GET and PEEK"), ("when", 2, "differs from call 0"), ("table", 9, "table 9 was not opened"),
                                   ("keys", 8, "not in device memory"), ("found", 0, "found is NULL"), ("size", 9, "differs from call 0")):
            for when in (0, 1):
                calls, compare = reads(5, when, ("shared",))
                for call in calls:
                    call.count, call.flags = 9, 8
                setattr(calls[3], field, value)
                run_reads(calls, E_INVALID)
                sentence = library.sherwood_cuda_error().decode()
                check(sentence.startswith("call 3: ") and text in sentence, sentence)
        equal(library.sherwood_cuda_reads(own.pointer, None, ctypes.c_size_t(0)), 0)
        for changes, status in (((("DROP", "one"), ("CREATE", "one", "NUMBER", "7")), 0), ((("DROP", "one"),), -17)):
            for when in (0, 2):
                calls, compare = reads(9, when, ("shared",))
                for change in changes[:2 if when == 0 or status == 0 else 0]:
                    equal(server.ask("TABLE", *change), "OK")
                models[1] = {}
                if status != 0:
                    calls[7].count, calls[7].table = 5, 1
                run_reads(calls, status if when == 0 else 0)
                equal(library.sherwood_cuda_check(own.pointer, True), status if when else 0, library.sherwood_cuda_error())
                if status == 0:
                    compare()
        calls, compare = reads(9, 0, ("shared",))
        for call in calls:
            call.count, call.table = 9, 0
        run_reads(calls)
        server.end_by_kill()
        eventually(lambda: library.sherwood_cuda_reads(own.pointer, calls, ctypes.c_size_t(len(calls))) == -4,  # SHERWOOD_E_CONNECTION
                   "the direct reads end with the server")
        own.close()


@case
def dropped_tables():
    """a handle with 64 tables opens one more in the place of one that was dropped, unless a graph uses that; numbers are not used again"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon(*SMALL, "--key-bits", "64", "--tables-max", "80", program=EMULATED) as server:
        own, number, made = Attached(library, driver, server, -1), ctypes.c_uint32(), []
        stream, graph, arrays = ctypes.c_void_p(), ctypes.c_void_p(), [Memory(driver, "shared") for _ in range(4)]
        equal(driver.cuStreamCreate(ctypes.byref(stream), 0), 0)

        def opened(name):
            status = library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None)
            return status or number.value

        def status_of(table, when=0):
            call = call_of(SET, (*arrays[:2], None, None), 9, when=when, stream=stream)
            call.table = table
            return library.sherwood_cuda_call(own.pointer, ctypes.byref(call))

        def change(*words):
            equal(server.ask("TABLE", *words), "OK")

        for i in range(63):
            change("CREATE", f"t{i}")
            made.append(opened(f"t{i}".encode()))
        equal(made, list(range(1, 64)))
        change("DROP", "t5")
        with capture(driver, stream, graph):
            equal(status_of(6, when=2), 0, library.sherwood_cuda_error())
        seen, ended = [], threading.Event()
        thread = threading.Thread(target=lambda: [seen.append(status_of(64)) for _ in iter(ended.is_set, True)], daemon=True)
        for round_ in range(5):
            change("CREATE", "again")
            eventually(lambda: opened(b"again") > 0, "no call uses the table that was dropped")
            made.append(number.value)
            equal((status_of(made[-1]), status_of(1)), (0, 0), library.sherwood_cuda_error())
            if round_ == 0:
                thread.start()
            change("DROP", "again")
        ended.set()
        thread.join()
        equal((set(seen) - {0}, len(set(made))), ({-17, E_INVALID}, 68), "calls with the number of a dropped table")
        check(not 6 + 64 in made and 64 + 64 * 2 in made, f"a graph keeps its table: {made}")
        equal(status_of(64), E_INVALID)
        check("table 64 was not opened, or was dropped" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal((driver.cuGraphDestroy(graph), status_of(6)), (0, E_INVALID))
        for name in ("again", "more", "full"):
            change("CREATE", name)
        equal([opened(name) for name in (b"again", b"more", b"full", b"t0")], [6 + 64, 64 + 64 * 5, -10, 1], library.sherwood_cuda_error())
        own.close()


@case
def tables_beside_an_oracle():
    """random calls on several tables, waiting and in order, among CREATE, DROP, SWAP and TRUNCATE, agree with a dictionary for each place"""
    library, driver, draw = loaded(), ctypes.CDLL(str(DRIVER)), random.Random(drawn_seed())
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own, number, opened, places = Attached(library, driver, server, -1), ctypes.c_uint32(), {0: 0}, {0: {}}
        keys, values, previous, found = arrays = [Memory(driver, "shared") for _ in range(4)]
        for _ in range(120):
            place, other, kind = draw.randrange(4), draw.choice(sorted(places)), draw.randrange(12)
            if place not in places:
                equal(server.ask("TABLE", "CREATE", f"t{place}", "NUMBER", place, "LIKE", "default"), "OK")
                places[place] = {}
                if place not in opened:
                    equal(library.sherwood_cuda_table(own.pointer, b"t%d" % place, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
                    opened[place] = number.value
            elif kind == 0 and place:
                equal(server.ask("TABLE", "DROP", place), "OK")
                del places[place]
            elif kind == 1:
                equal(server.ask("TABLE", "SWAP", place, other), "OK")
                places[place], places[other] = places[other], places[place]
            elif kind == 2:
                equal(server.ask("TABLE", "TRUNCATE", place), "OK")
                places[place].clear()
            if place in opened:
                count, when = draw.randrange(1, 30), draw.choice((0, 2))
                keys.words[:count] = draw.sample(range(60), count)
                values.words[:count] = [draw.randrange(1000) for _ in range(count)]
                pairs = list(zip(keys.words[:count].tolist(), values.words[:count].tolist()))
                call = call_of(draw.choice((SET, SET, GET)), arrays, count, when=when)
                call.table = opened[place]
                status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
                equal(status, 0 if place in places else -17, library.sherwood_cuda_error())
                if status == 0:
                    equal([[value, bit] for value, bit in zip(previous.words[:count].tolist(), np.unpackbits(found.bytes[:8], bitorder="little").tolist())],
                          [[places[place].get(key, 0), int(key in places[place])] for key, _ in pairs], f"place {place}, when {when}")
                    places[place].update(pairs if call.operation == SET else ())
        own.close()


if __name__ == "__main__":
    main()
