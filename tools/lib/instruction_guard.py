"""Counts the instructions of each hot path with callgrind and compares them with a file of earlier counts."""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import guard_plants

TOLERANCE = 0.05
# A path, another one that does the same work in another order, and how many times as much the first may need.
RATIOS = [("save_newest_first", "save_oldest_first", 1.5)]
# Libraries of the system are not counted: memcpy depends on the processor and changes with updates of the system.
SYSTEM_OBJECTS = re.compile(r"/(ld-linux|ld-musl|libc|libm|libpthread|libdl|librt|vgpreload_)[^/]*$")
HEAD = """# Instructions for each sample, lookup, write, day or point of the hot paths, counted by tools/guard; tools/guard --update writes this
# file. Those of the C library are left out. A path that needs over 5 % more than stands here fails the tests. Another compiler
# may need another number.
# architecture, version of Swift, path, instructions
"""


class Guard:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, Path(scratch)
        listed = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout
        rows = list(map(str.split, listed.splitlines()))
        self.paths = {name: (int(rounds), int(units)) for name, rounds, units, _ in rows}
        self.stores = {name: store for name, _, _, store in rows}
        self.store = self.scratch / "prepared"
        self.store.mkdir()
        subprocess.run([program, "prepare", self.store], check=True)

    def count(self, path, rounds, planted=False):
        """Counts the instructions of one process without those of the C library, and keeps its profile."""
        name = f"{path}-{rounds}" + ("-planted" if planted else "")
        folder = self.scratch / name
        folder.mkdir()
        if path != "import":
            shutil.copytree(self.store / self.stores[path], folder / self.stores[path])
        environment = dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1")
        if planted:
            environment["HEALTHKV_PLANT"] = "1"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.profile(name)}", self.program, path, folder,
             str(rounds)], capture_output=True, text=True, env=environment, timeout=600)
        shutil.rmtree(folder)
        if done.returncode:
            sys.exit(f"guard: {name} failed (exit {done.returncode}):\n{done.stderr[-2000:]}")
        objects, total = instructions_of_objects(self.profile(name).read_text().splitlines())
        if sum(objects.values()) != total:
            sys.exit(f"guard: {name}: the parts of the profile add up to {sum(objects.values())}, its total is {total}")
        return sum(count for path, count in objects.items() if not SYSTEM_OBJECTS.search(path))

    def profile(self, name):
        return self.scratch / f"{name}.profile"

    def measure(self, planted=False):
        """Instructions per unit: the difference between a process that does the work and one that only prepares it."""
        runs = [(path, rounds, False) for path in self.paths for rounds in (0, self.paths[path][0])]
        if planted:
            runs += [(path, self.paths[path][0], True) for path in self.paths]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = dict(zip(runs, pool.map(lambda run: self.count(*run), runs)))
        result = {}
        for path, (rounds, units) in self.paths.items():
            base = counts[path, 0, False]
            result[path] = [(counts[path, rounds, False] - base) / units]
            if planted:
                result[path].append((counts[path, rounds, True] - base) / units)
        return result

    def hottest(self, path):
        """The functions in which a path spends most instructions."""
        name = f"{path}-{self.paths[path][0]}"
        text = subprocess.run(["callgrind_annotate", self.profile(name)], capture_output=True, text=True).stdout
        lines = [line for line in text.splitlines() if re.match(r"\s*[\d,]+ \(", line)][1:9]
        names = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(lines), capture_output=True, text=True)
        return [line.strip()[:150] for line in (names.stdout or "\n".join(lines)).splitlines()]


def instructions_of_objects(lines):
    """Returns the own instructions of each program and library in a callgrind profile, and the profile's total."""
    names, counts, current, total, follows_call = {}, {}, "", 0, False
    for line in lines:
        if match := re.match(r"(c?)ob=\((\d+)\)(?: (.*))?", line):
            called, number, name = match.groups()
            if name is not None:
                names[number] = name
            if not called:
                current = names[number]
        elif line.startswith("calls="):
            follows_call = True
        elif line.startswith(("summary:", "totals:")):
            total = int(line.split()[1])
        elif re.match(r"[-+*\d]", line):
            # The line after a call has the cost of the called function, which its own lines have too.
            if not follows_call:
                counts[current] = counts.get(current, 0) + int(line.split()[1])
            follows_call = False
    return counts, total


def read(file):
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {(row[0], row[1], row[2]): float(row[3]) for row in rows}


def update(file, swift, counts):
    rows = {key: value for key, value in read(file).items() if key[0] != platform.machine()}
    rows.update({(platform.machine(), swift, path): values[0] for path, values in counts.items()})
    file.write_text(HEAD + "".join(f"{a} {b} {c} {rows[a, b, c]:.2f}\n" for a, b, c in rows))
    for path, values in counts.items():
        print(f"{path:22} {values[0]:12.2f}")


def compare(guard, file, swift, counts):
    known = {path: (version, value) for (machine, version, path), value in read(file).items()
             if machine == platform.machine()}
    worse = []
    for path, (value, *_) in counts.items():
        if path not in known:
            print(f"{path:22} {value:12.2f}   not known for {platform.machine()}: tools/guard --update adds it")
            worse.append(path)
            continue
        version, before = known[path]
        change = value / before - 1
        mark = "MORE" if change > TOLERANCE else "less: --update" if change < -TOLERANCE else ""
        note = "" if version == swift else f" (counted with Swift {version}, this is {swift})"
        print(f"{path:22} {value:12.2f}   {change * 100:+6.1f} %  {mark}{note}")
        if change > TOLERANCE:
            worse.append(path)
            for line in guard.hottest(path):
                print(f"    {line}")
    if worse:
        print(f"guard: more instructions than before: {', '.join(worse)}")
    return worse


def compare_orders(counts):
    """Returns the paths that need too much more than the same work in another order."""
    worse = []
    for path, other, most in RATIOS:
        ratio = counts[path][0] / counts[other][0]
        print(f"{path:22} {ratio:12.2f} times {other}, at most {most}")
        if ratio > most:
            worse.append(path)
    if worse:
        print(f"guard: the order of the work costs too much: {', '.join(worse)}")
    return worse


def self_test(counts):
    print("with each tenth operation run twice:")
    missed = []
    for path, (value, planted) in counts.items():
        change = planted / value - 1
        print(f"{path:22} {value:12.2f} -> {planted:12.2f}   {change * 100:+6.1f} %")
        if change <= TOLERANCE:
            missed.append(path)
    if missed:
        print(f"guard --self-test: the planted slow-down is not detected: {', '.join(missed)}")
    return 1 if missed else 0


def memory():
    """A folder in memory with enough space for the stores of all processes, or None."""
    place, store = Path("/dev/shm"), 64 << 20
    if os.access(place, os.W_OK) and shutil.disk_usage(place).free > (os.cpu_count() + 2) * store:
        return place
    return None


def main():
    program, file, swift, *options = sys.argv[1:]
    if found := list(guard_plants.complaints()):
        print(*found, sep="\n")
        sys.exit(1)
    if "--plant" in options:
        program = guard_plants.build()
    with tempfile.TemporaryDirectory(dir=memory()) as scratch:
        guard = Guard(program, scratch)
        counts = guard.measure(planted="--self-test" in options)
        if "--update" in options:
            return update(Path(file), swift, counts)
        worse = compare(guard, Path(file), swift, counts)
        worse += compare_orders(counts)
        if "--plant" in options:
            found = list(guard_plants.missed(worse))
            print(*found, f"guard --plant: {len(guard_plants.PLANTS)} plants, {len(found)} paths unnoticed", sep="\n")
            sys.exit(1 if found else 0)
        code = 1 if worse else 0
        if "--self-test" in options:
            code |= self_test(counts)
        sys.exit(code)


main()
