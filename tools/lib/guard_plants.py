"""Planted slow-downs of the library's hot paths, which the guard must detect in a copy of the tree."""
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / ".build" / "guard"

# A slow-down, and the hot paths in which the guard must detect it.
Plant = namedtuple("Plant", "what path old new caught")

PLANTS = [
    Plant("each read verifies its blocks again", "Sources/ColumnFormat/Records/StoredValue.swift",
          "            if verified?.contains(address + UInt(from)) == true { continue }\n", "",
          # Reads of a whole history or a day verify each block only once in any case.
          ["lookup_uuid", "lookup_sync_id"]),
    Plant("the details of a chunk are encoded twice", "Sources/HealthKV/Tables/ChunkTable.swift",
          "        let details = encoder.encodeDetails(rows, key: bounds.key, upper: bounds.upper, stamp: txn.stamp)\n",
          "        let details = [1, 2].map { [stamp = txn.stamp] _ in\n"
          "            encoder.encodeDetails(rows, key: bounds.key, upper: bounds.upper, stamp: stamp) }[1]\n",
          ["import", "import_small_batches", "durable_write"]),
    Plant("the counts of a block are decoded twice", "Sources/HealthKV/Records/SummaryColumns.swift",
          "        try counts.refill { column throws(FormatError) in try hours.decode(.count, into: &column) }\n",
          "        for _ in 0..<2 { try counts.refill { column throws(FormatError) in try hours.decode(.count, into: &column) } }\n",
          ["day_stats", "series_points"]),
]


def complaints():
    for plant in PLANTS:
        count = (ROOT / plant.path).read_text().count(plant.old)
        if count != 1:
            yield f"the text to replace occurs {count} times in {plant.path} ({plant.what})"


def build():
    """Builds the program of the hot paths with all plants."""
    tree = PLACE / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for plant in PLANTS:
        file = tree / plant.path
        file.write_text(file.read_text().replace(plant.old, plant.new))
    options = ["-c", "release", "--package-path", str(tree / "Benchmarks"), "--scratch-path", str(PLACE / "build"),
               "-Xswiftc", "-enable-testing"]
    if subprocess.run(["swift", "build", *options, "--product", "HotPaths"], stdout=sys.stderr).returncode:
        sys.exit("guard: the copy with the plants does not build")
    return PLACE / "build" / "release" / "HotPaths"


def missed(worse):
    """Describes the plants that the guard did not detect."""
    for plant in PLANTS:
        for path in plant.caught:
            if path not in worse:
                yield f"{path}: the guard does not detect that {plant.what}"


if __name__ == "__main__":
    found = list(complaints())
    print(*found, f"guard: {len(PLANTS)} plants, complaints {len(found)}", sep="\n")
    sys.exit(1 if found else 0)
