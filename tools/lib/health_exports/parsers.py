"""Reads an export of Apple Health with two parsers that this project has no part in, and compares what they count.

usage: parsers.py FILE.xml|FILE.zip ...     prints the records of each type that both find; 1 if they disagree

ElementTree and expat refuse what Apple's document type declares in broken exports, so it is left out. Neither reads a
file with malformed elements; such a file is an error here.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from pathlib import Path
from xml.parsers import expat

PIECE = 1 << 20


class Body:
    """The bytes of an export without its document type, as a file."""

    def __init__(self, file):
        self.file = file
        head = b""
        while b"<HealthData" not in head.replace(b"<!DOCTYPE HealthData", b""):
            piece = file.read(PIECE)
            if not piece:
                raise ValueError("it holds no element HealthData")
            head += piece
        start = head.find(b"<!DOCTYPE")
        root = head.find(b"<HealthData", max(start, 0))
        if start >= 0:
            head = head[:start] + head[root:]
        self.head = head

    def read(self, size=PIECE):
        if self.head:
            piece, self.head = self.head[:size], self.head[size:]
            return piece
        return self.file.read(size)


def opened(path):
    """Opens the main file of an archive, or the file itself. Returns what is to be closed, and the file."""
    path = Path(path)
    if path.is_dir():
        for name in sorted(path.rglob("*.xml")):
            if not name.name.startswith("._") and b"<HealthData" in name.read_bytes()[:8192]:
                return opened(name)
        raise ValueError("it holds no export")
    if not zipfile.is_zipfile(path):
        return open(path, "rb")
    archive = zipfile.ZipFile(path)
    for name in archive.namelist():
        if name.lower().endswith(".xml") and "._" not in name:
            with archive.open(name) as file:
                if b"<HealthData" in file.read(8192):
                    return archive.open(name)
    raise ValueError("it holds no export")


def by_tree(file):
    """Counts records by type at the top level and within correlations; workouts by their activity."""
    counts = Counter()
    depth = 0
    root = None
    for event, element in ElementTree.iterparse(Body(file), events=("start", "end")):
        if event == "start":
            depth += 1
            if root is None:
                root = element
            continue
        depth -= 1
        place = "nested " if depth > 1 else ""
        if element.tag == "Record":
            counts[place + element.get("type")] += 1
        elif element.tag == "Workout":
            counts["Workout " + element.get("workoutActivityType")] += 1
        elif depth == 1:
            counts[element.tag] += 1
        if depth == 1:
            root.clear()
    return counts


def by_expat(file):
    """The same with expat."""
    counts = Counter()
    path = []

    def start(tag, attributes):
        place = "nested " if len(path) > 1 else ""
        if tag == "Record":
            counts[place + attributes["type"]] += 1
        elif tag == "Workout":
            counts["Workout " + attributes["workoutActivityType"]] += 1
        elif len(path) == 1:
            counts[tag] += 1
        path.append(tag)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: path.pop()
    parser.ParseFile(Body(file))
    return counts


def samples(path):
    """Gives every record and workout as expat reads it: tag, whether it stands within a correlation, attributes, and the
    attributes of all elements within it."""
    found = []
    path_of_tags = []
    current = []

    def start(tag, attributes):
        if tag in ("Record", "Workout"):
            current.append((tag, len(path_of_tags) > 1, attributes, []))
            found.append(current[-1])
        elif current:
            current[-1][3].append((tag, attributes))
        path_of_tags.append(tag)

    def end(tag):
        path_of_tags.pop()
        if tag in ("Record", "Workout"):
            current.pop()

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    with opened(path) as file:
        body = Body(file)
        while piece := body.read():
            parser.Parse(piece)
            done, found[:] = [one for one in found if one not in current], list(current)
            yield from done
        parser.Parse(b"", True)
    yield from found


def counts(path):
    """Returns the counts of both parsers."""
    with opened(path) as file:
        first = by_tree(file)
    with opened(path) as file:
        second = by_expat(file)
    return first, second


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    failed = False
    for path in sys.argv[1:]:
        try:
            first, second = counts(path)
        except (ValueError, ElementTree.ParseError, expat.ExpatError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
            continue
        if first != second:
            print(f"{path}: the parsers disagree: {dict(first - second)} and {dict(second - first)}", file=sys.stderr)
            failed = True
        print(json.dumps({"file": path, "counts": dict(sorted(first.items()))}, ensure_ascii=False))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
