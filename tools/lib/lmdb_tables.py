"""Reads a store with PyPI's lmdb, which bundles its own LMDB and shares no code with this project.

usage: lmdb_tables.py walk FOLDER       opens read-only, reads every entry of every table, prints the tables' entries
       lmdb_tables.py damage FOLDER     overwrites the root page of the main tree of data.mdb
"""
import struct
import sys
from pathlib import Path


def walk(folder):
    import lmdb

    with lmdb.open(folder, readonly=True, lock=False, max_dbs=64) as environment, environment.begin() as transaction:
        with transaction.cursor() as names:
            for name, _ in names:
                table = environment.open_db(name, transaction, create=False)
                entries = payload = 0
                last = b""
                for key, value in transaction.cursor(table):
                    if key <= last:
                        sys.exit(f"{name.decode()}: a key does not follow the previous one")
                    entries, payload, last = entries + 1, payload + len(key) + len(value), key
                if entries != transaction.stat(table)["entries"]:
                    sys.exit(f"{name.decode()}: {entries} entries were read, {transaction.stat(table)['entries']} recorded")
                print(f"{name.decode()} {entries} {payload}")


def damage(folder):
    """Overwrites the root page of the newer MDB_meta. Its offsets count from the end of the 16-byte page header."""
    path = Path(folder) / "data.mdb"
    page_size = struct.unpack_from("<I", path.read_bytes(), 16 + 24)[0]
    with open(path, "r+b") as file:
        metas = []
        for number in range(2):
            file.seek(number * page_size)
            meta = file.read(page_size)
            metas.append((struct.unpack_from("<Q", meta, 16 + 128)[0], struct.unpack_from("<Q", meta, 16 + 112)[0]))
        file.seek(max(metas)[1] * page_size)
        file.write(b"\xa5" * page_size)


if __name__ == "__main__":
    {"walk": walk, "damage": damage}[sys.argv[1]](sys.argv[2])
