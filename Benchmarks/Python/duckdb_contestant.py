"""DuckDB as a contestant of the benchmarks: a process that answers one JSON line with another.

Columns come and go as flat binary files, which numpy reads and writes outside the clock; `ns` is what DuckDB took, from numpy
arrays to numpy arrays. A table a type, so that reading one type's history needs no sorting; one thread; no index by UUID: its
documentation advises against indexes on what is loaded in bulk.
"""
import json
import os
import queue
import sys
import threading
import time

import duckdb
import numpy as np

COLUMNS = ('start BIGINT NOT NULL, id_high UBIGINT NOT NULL, id_low UBIGINT NOT NULL, "end" BIGINT NOT NULL, '
           "value DOUBLE NOT NULL, kind USMALLINT NOT NULL, sync VARCHAR, extras BLOB, canonical DOUBLE")
FIELDS = 'start, id_high, id_low, "end", value, kind, sync, extras'
clock = time.perf_counter_ns


class Store:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.exchange = folder, folder + "-exchange"
        os.makedirs(self.exchange, exist_ok=True)
        began = clock()
        self.db = duckdb.connect(folder + "/store.db")
        self.ns = clock() - began
        self.db.execute("SET threads = 1")
        self.db.execute("CREATE TABLE IF NOT EXISTS book(json VARCHAR)")
        self.db.execute("CREATE TABLE IF NOT EXISTS pending(sequence BIGINT, id_high UBIGINT, id_low UBIGINT)")
        self.is_importing = False
        self.types = 0
        self.converting = set()
        names = {row[0] for row in self.db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        while f"t{self.types}" in names:
            number, self.types = self.types, self.types + 1
            if self.db.execute(f"SELECT 1 FROM t{number} WHERE canonical <> value LIMIT 1").fetchone():
                self.converting.add(number)
        self.sequence = self.db.execute("SELECT coalesce(max(sequence), 0) FROM pending").fetchone()[0]

    # Files

    def array(self, name, kind):
        return np.fromfile(f"{self.exchange}/{name}", dtype=kind)

    def give(self, **arrays):
        for name, values in arrays.items():
            np.ascontiguousarray(values).tofile(f"{self.exchange}/{name}")

    # Import

    def add_types(self, count):
        for number in range(self.types, count):
            self.db.execute(f"CREATE TABLE t{number}({COLUMNS})")
        self.types = max(self.types, count)

    def everything(self, fields):
        return " UNION ALL ".join(f"SELECT {n} AS type, {fields} FROM t{n}" for n in range(self.types))

    def batch(self, request):
        count = request["count"]
        batch = {name: self.array(name, kind) for name, kind in (
            ("type", np.uint16), ("start", np.int64), ("id_high", np.uint64), ("id_low", np.uint64), ("end", np.int64),
            ("value", np.float64), ("kind", np.uint16))}
        for name, rare in (("sync", request["sync"]), ("extras", request["extras"])):
            if rare:
                column = np.full(count, None, dtype=object)
                for row, text in rare.items():
                    column[int(row)] = text if name == "sync" else bytes.fromhex(text)
                batch[name] = column
        if request["converting"]:
            batch["canonical"] = self.array("canonical", np.float64)
        return batch

    def do_import(self, request):
        if not self.is_importing:
            # Its log may grow to a GB, so that it makes few checkpoints of its own while much is written.
            self.db.execute("SET checkpoint_threshold = '1GB'")
            self.is_importing = True
        batch = self.batch(request)
        given = [name for name in batch if name != "type"]
        began = clock()
        self.db.execute("BEGIN")
        self.add_types(request["types"])
        known = self.db.execute(
            f"SELECT count(*) FROM batch b WHERE EXISTS (SELECT 1 FROM ({self.everything('id_high, id_low')}) s "
            "WHERE s.id_high = b.id_high AND s.id_low = b.id_low)").fetchone()[0]
        unchanged = 0
        if known:
            unchanged = self.compare(batch)
        if unchanged < request["count"]:
            source = "batch"
            if known:
                source = ("(SELECT * FROM batch b WHERE NOT EXISTS (SELECT 1 FROM unchanged_ids u "
                          "WHERE u.id_high = b.id_high AND u.id_low = b.id_low))")
            quoted = ", ".join(f'"{name}"' for name in given)
            for number in np.unique(batch["type"]):
                self.db.execute(f"INSERT INTO t{number} ({quoted}) SELECT {quoted} FROM {source} WHERE type = {number}")
        if request["book"]:
            self.db.execute("DELETE FROM book")
            self.db.execute("INSERT INTO book VALUES (?)", [request["book"]])
        self.db.execute("COMMIT")
        self.converting |= set(request["converting"])
        return {"ns": clock() - began, "inserted": request["count"] - known, "unchanged": unchanged,
                "replaced": known - unchanged}

    def compare(self, batch):
        """How many rows of the batch are there with the same content; the others that are there are removed."""
        sync = "b.sync" if "sync" in batch else "NULL"
        extras = "b.extras" if "extras" in batch else "NULL"
        self.db.execute(
            "CREATE OR REPLACE TEMP TABLE unchanged_ids AS SELECT b.id_high, b.id_low FROM batch b "
            f"JOIN ({self.everything(FIELDS)}) s ON s.id_high = b.id_high AND s.id_low = b.id_low "
            'WHERE s.type = b.type AND s.start = b.start AND s."end" = b."end" AND s.value = b.value AND s.kind = b.kind '
            f"AND s.sync IS NOT DISTINCT FROM {sync} AND s.extras IS NOT DISTINCT FROM {extras}")
        unchanged = self.db.execute("SELECT count(*) FROM unchanged_ids").fetchone()[0]
        if unchanged < len(batch["start"]):
            for number in range(self.types):
                self.db.execute(
                    f"DELETE FROM t{number} s USING batch b WHERE s.id_high = b.id_high AND s.id_low = b.id_low AND NOT "
                    "EXISTS (SELECT 1 FROM unchanged_ids u WHERE u.id_high = b.id_high AND u.id_low = b.id_low)")
        return unchanged

    def do_finish_import(self, request):
        if self.is_importing:
            self.db.execute("CHECKPOINT")
            self.db.execute("RESET checkpoint_threshold")
            self.is_importing = False
        return {}

    def do_settle(self, request):
        self.db.execute("CHECKPOINT")
        return {}

    def do_compact(self, request):
        os.makedirs(request["folder"], exist_ok=True)
        self.db.execute(f"ATTACH '{request['folder']}/store.db' AS copy")
        self.db.execute("COPY FROM DATABASE store TO copy")
        self.db.execute("DETACH copy")
        return {}

    # Reading

    def columns(self, number):
        value = "coalesce(canonical, value) AS value" if number in self.converting else "value"
        found = self.db.execute(f"SELECT start, {value} FROM t{number}").fetchnumpy()
        times, values = np.asarray(found["start"]), np.asarray(found["value"])
        # Rows come in the order of insertion; that is the order of time unless something was imported late.
        if len(times) and not (times[1:] >= times[:-1]).all():
            order = np.argsort(times, kind="stable")
            times, values = times[order], values[order]
        return times, values

    def do_read_all(self, request):
        began = clock()
        times, values = self.columns(request["type"])
        ns = clock() - began
        if request["wanted"]:
            self.give(times=times, values=values)
        return {"ns": ns, "count": len(times)}

    def do_fold_all(self, request):
        began = clock()
        times, values = self.columns(request["type"])
        sums = int(times.view(np.uint64).sum()), int(values.view(np.uint64).sum())
        return {"ns": clock() - began, "count": len(times), "times": sums[0], "values": sums[1]}

    def rows(self, sql, parameters):
        began = clock()
        found = self.db.execute(sql, parameters).fetchnumpy()
        ns = clock() - began
        rare = {}
        for name in ("sync", "extras"):
            column = found[name]
            masked = np.ma.getmaskarray(column)
            rare[name] = {
                str(row): column[row] if name == "sync" else bytes(column[row]).hex()
                for row in range(len(masked)) if not masked[row] and column[row] is not None}
        self.give(start=np.asarray(found["start"]), id_high=np.asarray(found["id_high"]),
                  id_low=np.asarray(found["id_low"]), end=np.asarray(found["end"]), value=np.asarray(found["value"]),
                  kind=np.asarray(found["kind"]))
        return {"ns": ns, "count": len(found["start"]), **rare}

    def do_range(self, request):
        limit = f" LIMIT {request['limit']}" if request["limit"] else ""
        return self.rows(
            f'SELECT {FIELDS} FROM t{request["type"]} WHERE start >= ? AND start < ? AND (start >= ? OR "end" > ?) '
            f"ORDER BY start{limit}", [request["earliest"], request["to"], request["from"], request["from"]])

    def do_latest(self, request):
        return self.rows(f'SELECT {FIELDS} FROM t{request["type"]} ORDER BY start DESC LIMIT 1', [])

    def do_lookup(self, request):
        return self.rows(
            f"SELECT {FIELDS} FROM ({self.everything(FIELDS)}) WHERE id_high = ? AND id_low = ?",
            [request["high"], request["low"]])

    def do_lookup_sync(self, request):
        return self.rows(f"SELECT {FIELDS} FROM ({self.everything(FIELDS)}) WHERE sync = ?", [request["text"]])

    def do_count(self, request):
        return {"count": sum(self.db.execute(f"SELECT count(*) FROM t{n}").fetchone()[0] for n in range(self.types))}

    def do_book(self, request):
        row = self.db.execute("SELECT json FROM book").fetchone()
        return {"book": row[0] if row else ""}

    def do_day_sums(self, request):
        """One query for the sum of each hour; numpy adds the hours of a day, which begins at a whole hour everywhere it counts.

        Quicker than its own time zones, a CASE of the offsets, or a query for each span of one offset.
        """
        bounds = self.array("bounds", np.int64)
        hour = 3600 * 10**9
        began = clock()
        found = self.db.execute(
            f"SELECT (start // {hour})::INTEGER AS hour, sum(value) AS sum FROM t{request['type']} "
            f"WHERE start >= {bounds[0]} AND start < {bounds[-1]} GROUP BY 1").fetchnumpy()
        days = np.searchsorted(bounds, np.asarray(found["hour"]).astype(np.int64) * hour, side="right") - 1
        sums = np.bincount(days, weights=np.asarray(found["sum"]), minlength=len(bounds) - 1)
        ns = clock() - began
        self.give(sums=sums)
        return {"ns": ns}

    def do_points(self, request):
        count, begin, width = request["count"], request["from"], request["width"]
        began = clock()
        found = self.db.execute(
            f"SELECT ((start - {begin}) // {width})::INTEGER AS point, count(*) AS count, min(value) AS low, "
            f"max(value) AS high, avg(value) AS mean FROM t{request['type']} "
            f"WHERE start >= {begin} AND start < {begin + count * width} GROUP BY 1").fetchnumpy()
        ns = clock() - began
        at = np.asarray(found["point"])
        for name in ("count", "low", "high", "mean"):
            values = np.zeros(count, dtype=np.float64)
            values[at] = np.asarray(found[name])
            self.give(**{name: values})
        return {"ns": ns}

    # Writing

    def do_save(self, request):
        row = [request[name] for name in ("start", "high", "low", "end", "value", "kind")]
        began = clock()
        self.db.execute("BEGIN")
        self.add_types(request["types"])
        if request["book"]:
            self.db.execute("DELETE FROM book")
            self.db.execute("INSERT INTO book VALUES (?)", [request["book"]])
        self.db.execute(
            f'INSERT INTO t{request["type"]} (start, id_high, id_low, "end", value, kind) VALUES (?, ?, ?, ?, ?, ?)', row)
        self.sequence += 1
        self.db.execute("INSERT INTO pending VALUES (?, ?, ?)", [self.sequence, request["high"], request["low"]])
        self.db.execute("COMMIT")
        return {"ns": clock() - began}

    def do_save_from_threads(self, request):
        """Threads that hand their samples to one writer, which inserts all that wait in one transaction."""
        rows = self.batch({"count": 0, "sync": {}, "extras": {}, "converting": []})
        count, arrived = len(rows["start"]), queue.SimpleQueue()
        numbers = iter(range(count))

        def hand_over():
            is_durable = threading.Semaphore(0)
            for number in numbers:
                arrived.put((number, is_durable))
                is_durable.acquire()

        began = clock()
        self.db.execute("BEGIN")
        self.add_types(request["types"])
        if request["book"]:
            self.db.execute("DELETE FROM book")
            self.db.execute("INSERT INTO book VALUES (?)", [request["book"]])
        self.db.execute("COMMIT")
        threads = [threading.Thread(target=hand_over, daemon=True) for _ in range(request["threads"])]
        for thread in threads:
            thread.start()
        done = 0
        while done < count:
            group = [arrived.get()]
            while not arrived.empty():
                group.append(arrived.get())
            places = np.array([number for number, _ in group])
            self.save_together({name: values[places] for name, values in rows.items()})
            done += len(group)
            for _, is_durable in group:
                is_durable.release()
        return {"ns": clock() - began}

    def save_together(self, batch):
        self.db.execute("BEGIN")
        for number in np.unique(batch["type"]):
            self.db.execute(
                f'INSERT INTO t{number} (start, id_high, id_low, "end", value, kind) '
                f'SELECT start, id_high, id_low, "end", value, kind FROM batch WHERE type = {number}')
        self.db.execute(f"INSERT INTO pending SELECT {self.sequence} + row_number() OVER (), id_high, id_low FROM batch")
        self.sequence += len(batch["start"])
        self.db.execute("COMMIT")

    def change(self, sql, parameters):
        began = clock()
        self.db.execute("BEGIN")
        changed = 0
        for number in range(self.types):
            changed += self.db.execute(sql.format(number), parameters).fetchone()[0]
            if changed:
                break
        self.db.execute("COMMIT")
        return {"ns": clock() - began, "changed": changed}

    def do_edit(self, request):
        return self.change("UPDATE t{} SET value = ? WHERE id_high = ? AND id_low = ?",
                           [request["value"], request["high"], request["low"]])

    def do_delete(self, request):
        return self.change("DELETE FROM t{} WHERE id_high = ? AND id_low = ?", [request["high"], request["low"]])

    def do_close(self, request):
        self.db.close()
        return {}


def main():
    store = Store(sys.argv[1])
    print(json.dumps({"ns": store.ns, "version": duckdb.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(store, "do_" + request["op"])(request)), flush=True)
        if request["op"] == "close":
            break


main()
