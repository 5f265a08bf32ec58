#!/usr/bin/env python3
"""Judges `kvinspect import` by generated exports of which the truth is known.

usage: battery.py --kvinspect PATH --scratch DIR --seed N [--short | --long] [--size 1g] [--kills N] [--malformed N|all]
                  [--only LETTERS] [--planted] [--memory MB] [--speed MB/s]

Checks: a generated files, b imported twice, c other units, e malformations, f kills, g forms of a file, h archives,
i options, j memory and speed, k exports as others read them. Each check prints one line. With --planted each comparison
gets a fault that it must notice: a line of truth is dropped, a value is altered, a repetition is left out. Exits with 0
only if all is right.
"""
import argparse
import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import catalog
import comparison
import generate
import malform
import parsers

KEYS = ["read", "inserted", "replaced", "unchanged", "vetoed", "mended", "quarantined", "skipped"]
SLOW = 5  # No malformed file may take longer, in seconds.
EVER = 1800
SHOWN = 12

# What a run of the tool came to. `code` is negative for a signal, None if it took too long.
Run = namedtuple("Run", "code out err seconds")
# A check: its letter, what it compares, the function, and the faults that are planted for it.
Check = namedtuple("Check", "letter name function faults")

CHECKS = []
# What a check returns that needs something that is not here.
LEFT_OUT = object()


def check(letter, name, *faults):
    """Registers a check. Its function takes the context and a fault, or None, and returns problems."""
    def register(function):
        CHECKS.append(Check(letter, name, function, faults))
        return function
    return register


class Context:
    def __init__(self, options):
        self.tool = str(Path(options.kvinspect).resolve())
        self.scratch = Path(tempfile.mkdtemp(prefix="exports-", dir=options.scratch))
        self.findings = Path(options.scratch) / "findings"
        self.seed = options.seed
        self.options = options
        self.numbers = iter(range(10**9))
        self.lock = threading.Lock()
        self.made = {}
        self.notes = []

    def random(self, purpose):
        return random.Random(f"{self.seed} {purpose}")

    def path(self, name):
        """Returns a path that nothing has."""
        with self.lock:
            return self.scratch / f"{next(self.numbers)}-{name}"

    def note(self, text):
        self.notes.append(text)

    def run(self, *words, stdin=None, limit=EVER):
        words = [self.tool, *map(str, words)]
        began = time.monotonic()
        with open(stdin or os.devnull, "rb") as source:
            process = subprocess.Popen(words, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                out, err = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                return Run(None, out.decode(errors="replace"), err.decode(errors="replace"), limit)
        return Run(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - began)

    def take(self, store, file, *words, **options):
        """Imports a file. Returns the run and its counts."""
        run = self.run("import", store, file, "--format", "json", *words, **options)
        try:
            counts = json.loads(run.out) if run.out.strip() else {}
        except ValueError:
            counts = {}
        return run, counts

    def samples(self, store):
        """Returns the samples of a store, and problems of reading them."""
        run = self.run("dump", store)
        if run.code != 0:
            return [], [f"dump ended with {run.code}: {run.err[:200]}"]
        return comparison.read_dump(run.out.split("\n")), []

    def hash(self, store, *words):
        run = self.run("hash", store, *words)
        return run.out.strip() if run.code == 0 and run.out.strip() else f"hash ended with {run.code}: {run.err[:200]}"

    def file(self, records, form="xml", seed=0, main="export.xml", deflates=True, **setting):
        """Generates a file once. Returns its path and its truth."""
        key = (records, form, seed, main, deflates, tuple(sorted(setting.items())))
        if key not in self.made:
            path = self.path("folder" if form == "folder" else f"file.{form}")
            truth = self.path("truth.jsonl")
            history = generate.History(self.seed * 1000 + seed, records, generate.Setting(**setting))
            generate.write(history, path, truth, main, deflates)
            self.made[key] = path, truth
        path, truth = self.made[key]
        return path, comparison.read_truth(truth)


def clean_run(run, code=0):
    """Problems of a run that should end with a code."""
    if run.code is None:
        return [f"it took longer than {run.seconds:.0f} s"]
    if run.code < 0:
        return [f"it died of signal {signal.Signals(-run.code).name}: {run.err[-300:]}"]
    codes = code if isinstance(code, tuple) else (code,)
    return [] if run.code in codes else [f"it ended with {run.code} instead of {' or '.join(map(str, codes))}: {run.err[:300]}"]


def well_counted(counts):
    """Problems of the counts themselves."""
    missing = [key for key in KEYS if not isinstance(counts.get(key), int)]
    if missing:
        return [f"the JSON has no {', '.join(missing)}"]
    parts = sum(counts[key] for key in ("inserted", "replaced", "unchanged", "vetoed", "skipped"))
    return [] if parts == counts["read"] else [f"{counts['read']} were read, but {parts} are accounted for"]


def spoil(truths, fault, rng):
    """Plants a fault into the truth."""
    truths = copy.deepcopy(truths)
    number = rng.randrange(len(truths))
    if fault == "dropped":
        del truths[number]
    elif fault == "added":
        truths.append({**truths[number], "start": "1999-01-01T00:00:00Z", "end": "1999-01-01T00:00:00Z"})
    elif fault == "value":
        truths[number]["value"] += 1
    elif fault == "last digit":
        truths[number]["value"] = float(repr(float(truths[number]["value"]) * (1 + 1e-12) + 1e-300))
    elif fault == "time":
        start = truths[number]["start"]
        truths[number]["start"] = start[:17] + ("31Z" if start[17:19] != "31" else "32Z")
    elif fault == "unit":
        next(one for one in truths if one["unit"] == "kcal" and "workout" not in one)["unit"] = "kJ"
    elif fault == "source":
        truths[number]["source"] += " "
    elif fault == "twin":
        seen = Counter(comparison.core(one) for one in truths)
        del truths[next(place for place, one in enumerate(truths) if seen[comparison.core(one)] > 1)]
    elif fault == "metadata":
        next(one for one in truths if one.get("metadata"))["metadata"][0][1] += "x"
    elif fault == "key":
        pairs = next(one for one in truths if ["meal", "lunch"] in one.get("metadata", []))["metadata"]
        pairs[pairs.index(["meal", "lunch"])] = ["Meal", "lunch"]
    elif fault == "device":
        next(one for one in truths if one.get("device"))["device"]["model"] = "another"
    elif fault == "group":
        next(one for one in truths if one["group"])["group"] = False
    elif fault == "entered":
        one = truths[number]
        one["userEntered"] = not one.get("userEntered", False)
    elif fault == "version":
        next(one for one in truths if one.get("syncVersion"))["syncVersion"] += 1
    elif fault == "zone":
        next(one for one in truths if one.get("timeZone"))["timeZone"] = "Asia/Tokyo"
    elif fault == "beat":
        next(one for one in truths if one.get("beats"))["beats"][-1][1] += "0"
    elif fault == "statistics":
        workout = next(one["workout"] for one in truths if one.get("workout", {}).get("statistics"))
        workout["statistics"][-1]["maximum" if "maximum" in workout["statistics"][-1] else "sum"]["value"] += 1
    elif fault == "event":
        next(one["workout"] for one in truths if one.get("workout", {}).get("events"))["events"][0]["kind"] += 1
    elif fault == "created":
        truths[number]["created"] = "2001-01-01T00:00:00Z"
    return truths


TRUTH_FAULTS = ("dropped", "added", "value", "last digit", "time", "unit", "source", "twin", "metadata", "key", "device",
                "group", "entered", "version", "zone", "beat", "statistics", "event", "created")


# a. Generated files


def imported_equals_truth(context, fault, **options):
    file, truth = context.file(context.options.records, **options)
    key = ("imported", str(file))
    if key not in context.made:
        store = context.path("store")
        run, counts = context.take(store, file)
        context.made[key] = store, run, counts, *context.samples(store)
    store, run, counts, samples, problems = context.made[key]
    if fault:
        truth = spoil(truth, fault, context.random("fault"))
    problems = clean_run(run) + problems + well_counted(counts) + comparison.compare(truth, samples)
    if counts.get("mended") or counts.get("quarantined"):
        problems.append(f"{counts.get('mended')} mended and {counts.get('quarantined')} quarantined of a good file")
    return problems


@check("a", "a metric file gives its truth", *TRUTH_FAULTS)
def metric_truth(context, fault):
    return imported_equals_truth(context, fault)


@check("a", "an imperial file with a broken document type and mixed offsets gives its truth", "dropped", "value", "time")
def imperial_truth(context, fault):
    return imported_equals_truth(context, fault, seed=1, units="imperial", dtd="broken", offset="mixed")


@check("a", "a file without document type, in another language, gives its truth", "dropped", "beat")
def foreign_truth(context, fault):
    return imported_equals_truth(context, fault, seed=2, locale="fa_IR", dtd="none", offset="+0545")


@check("a", "the counts are those of what is stored", "one less")
def counted(context, fault):
    file, truth = context.file(context.options.records)
    store = context.path("store")
    run, counts = context.take(store, file)
    expected = len(truth) - (1 if fault else 0)
    summaries = file.read_bytes().count(b"<ActivitySummary ")
    problems = clean_run(run) + well_counted(counts)
    if counts.get("inserted") not in (expected, expected + summaries):
        problems.append(f"{counts.get('inserted')} inserted, but there are {expected} samples")
    return problems


@check("a", "scan gives every record of a type, shadowed ones as well", "dropped", "value")
def scanned(context, fault):
    file, truth = context.file(context.options.records)
    store = context.path("store")
    problems = clean_run(context.take(store, file)[0])
    for name in (catalog.QUANTITY + "BodyMass", catalog.QUANTITY + "HeartRate", catalog.CATEGORY + "SleepAnalysis",
                 catalog.CATEGORY + "MindfulSession", "HKDataTypeSleepDurationGoal"):
        run = context.run("scan", store, "--type", name, "--shadowed", "--format", "jsonl")
        wanted = [one for one in truth if one["type"] == name]
        if fault:
            wanted = spoil(wanted, fault, context.random("fault"))
        wanted = Counter(comparison.core(one) for one in wanted)
        found = Counter(comparison.core(json.loads(line)) for line in run.out.split("\n") if line)
        problems += clean_run(run)
        problems += [f"missing: {comparison.describe(key)}" for key in wanted - found]
        problems += [f"invented: {comparison.describe(key)}" for key in found - wanted]
    return problems


@check("a", "what no import takes is counted as not imported", "nothing kept out")
def kept_out(context, fault):
    file, _ = context.file(context.options.records, "zip")
    run, counts = context.take(context.path("store"), file)
    if "kept_out" not in counts:
        return ["the JSON has no kept_out"]
    found = {entry["kind"]: entry["count"] for entry in counts["kept_out"]}
    names = [("ClinicalRecord", 3), ("Electrocardiogram", 1), ("WorkoutRoute", 1)]
    if fault:
        names.append(("Nothing", 1))
    return clean_run(run) + [f"{found.get(name)} {name} kept out instead of {count}" for name, count in names
                             if found.get(name, 0) < count and not (name == "WorkoutRoute" and name not in found)]


ROUTE = re.compile(rb'<FileReference path="/(workout-routes/[^"]*)"')


def route_file(rng):
    """Returns a GPX file and the points that an import reads from it, as `dump` prints them."""
    text, points = '<?xml version="1.0"?>\n<gpx version="1.1"><metadata><time>2024-01-01T00:00:00Z</time></metadata>', []
    start, step = rng.randrange(50_000), rng.choice((1, 1, 5))
    text += "<trk><trkseg>\n"
    for number in range(rng.randrange(1, 200)):
        second = start + number * step
        at = f"2022-03-{1 + second // 86_400 % 28:02}T{second // 3_600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        lat, lon = (f"{rng.uniform(-limit, limit):.{rng.choice((6, 7))}f}" for limit in (90, 180))
        extensions = [(name, f"{rng.uniform(0, 300):.6f}") for name in ("speed", "course", "hAcc", "vAcc")
                      if rng.random() < 0.8]
        ele = f"{rng.uniform(-400, 8_000):.6f}" if rng.random() < 0.9 else None
        text += f'<trkpt lon="{lon}" lat="{lat}">' + (f"<ele>{ele}</ele>" if ele else "") + f"<time>{at}</time>"
        if extensions:
            text += "<extensions>" + "".join(f"<{name}>{value}</{name}>" for name, value in extensions) + "</extensions>"
        text += "</trkpt>\n"
        known = {name: float(value) for name, value in extensions}
        point = [at, float(lat), float(lon), float(ele) if ele else None]
        point += [known.get(name) for name in ("hAcc", "vAcc", "speed", "course")]
        while point[-1] is None:
            point.pop()
        points.append(point)
    return (text + "</trkseg></trk></gpx>\n").encode(), points


@check("a", "routes have the points of their files, an export gives them again, and no second import adds one",
       "dropped", "point")
def routes(context, fault):
    file, _ = context.file(context.options.records)
    rng, data = context.random("routes"), file.read_bytes()
    names = [name.decode() for name in ROUTE.findall(data)]
    if not names:
        return ["the generated file has no routes"]
    made = {name: route_file(rng) for name in dict.fromkeys(names)}
    wanted = [copy.deepcopy(made[name][1]) for name in names]
    if fault == "dropped":
        wanted.pop()
    elif fault == "point":
        wanted[-1][-1][1] += 1e-6
    archive, out, problems = context.path("routes.zip"), context.path("again.zip"), []
    generate.write_zip(archive, lambda write: write(data), companions={name: text for name, (text, _) in made.items()})
    store, other = context.path("store"), context.path("other")
    run, counts = context.take(store, archive)
    problems += clean_run(run) + well_counted(counts)
    run, again = context.take(store, archive)
    problems += clean_run(run) + ([] if again.get("inserted") == 0 else [f"again: {again.get('inserted')} inserted"])
    problems += clean_run(context.run("export", store, out)) + clean_run(context.take(other, out)[0])
    for name, place in (("imported", store), ("exported", other)):
        run = context.run("dump", place)
        found = [json.loads(line)["route"] for line in run.out.split("\n") if '"HKWorkoutRouteTypeIdentifier"' in line]
        found = [[[float(part) if isinstance(part, int) else part for part in point] for point in one] for one in found]
        problems += clean_run(run)
        if sorted(map(json.dumps, found)) != sorted(map(json.dumps, wanted)):
            problems.append(f"{name}: {len(found)} routes are not the {len(wanted)} of the files")
    return problems


RINGS = (("activeEnergyBurned", "HKQuantityTypeIdentifierActiveEnergyBurned", None),
         ("appleMoveTime", "HKQuantityTypeIdentifierAppleMoveTime", "min"),
         ("appleExerciseTime", "HKQuantityTypeIdentifierAppleExerciseTime", "min"),
         ("appleStandHours", "HKCategoryTypeIdentifierAppleStandHour", "count"))


def totals_of(context, store):
    """Returns the daily totals of a store that came from an export, and problems of reading them."""
    run = context.run("dump", store, "--all")
    states = [line["state"] for line in map(json.loads, run.out.split("\n")[:-1]) if "state" in line]
    return Counter((one["type"], one["day"], one["value"], one.get("goal"), comparison.unit(one["unit"]), one["complete"])
                   for one in states if one["kind"] == "total" and one["zone"] == "floating"), clean_run(run)


@check("a", "activity summaries become totals of their days, and an export gives them again", "value", "incomplete")
def summaries(context, fault):
    file, _ = context.file(context.options.records)
    store, other, out = context.path("store"), context.path("other"), context.path("out.xml")
    run, counts = context.take(store, file)
    wanted = Counter()
    root = parsers.ElementTree.parse(parsers.Body(open(file, "rb"))).getroot()
    written = root.find("ExportDate").get("value")[:10]
    for one in root.findall("ActivitySummary"):
        for name, type_name, unit in RINGS:
            value, goal = float(one.get(name)), float(one.get(name + "Goal"))
            if value or goal:
                wanted[type_name, one.get("dateComponents"), value + (fault == "value"), goal,
                       comparison.unit(unit or one.get(name + "Unit")),
                       one.get("dateComponents") < written and fault != "incomplete"] += 1
    problems = clean_run(run)
    if counts.get("totals") != sum(wanted.values()):
        problems.append(f"{counts.get('totals')} totals instead of {sum(wanted.values())}")
    problems += clean_run(context.run("export", store, out)) + clean_run(context.take(other, out)[0])
    for name, place in (("imported", store), ("again", other)):
        found, more = totals_of(context, place)
        problems += [f"{name}: {problem}" for problem in more + [f"missing: {one}" for one in wanted - found]
                     + [f"invented: {one}" for one in found - wanted]]
    return problems


# b. Imported twice


@check("b", "the second import of a file adds nothing", "another file", "hash of another store")
def twice(context, fault):
    file, _ = context.file(context.options.records)
    store = context.path("store")
    problems = clean_run(context.take(store, file)[0])
    before = context.hash(store)
    second = context.file(context.options.records, export=2, extra=1)[0] if fault == "another file" else file
    run, counts = context.take(store, second)
    problems += clean_run(run) + well_counted(counts)
    problems += [f"{counts.get(key)} {key}" for key in ("inserted", "replaced", "vetoed") if counts.get(key)]
    after = context.hash(store) if fault != "hash of another store" else context.hash(context.path("none"))
    if before != after or before.startswith("hash ended"):
        problems.append(f"the hash changes from {before} to {after}")
    return problems


@check("b", "the second import of a malformed file adds nothing", "another file")
def twice_malformed(context, fault):
    base = malform.Base(context.seed)
    rng = context.random("twice malformed")
    data = base.data
    for start, end in reversed(base.elements):
        if rng.random() < 0.5:
            place = rng.randrange(start, end)
            data = data[:place] + rng.choice([b"\x0b", b"&", b"<", b"\xff", b'"']) + data[place + 1:]
    file = context.path("file.xml")
    file.write_bytes(data)
    store = context.path("store")
    problems = clean_run(context.take(store, file)[0], (0, 5))
    before = context.hash(store)
    if fault:
        file.write_bytes(base.data)
    run, counts = context.take(store, file)
    problems += clean_run(run, (0, 5))
    if counts.get("inserted") or counts.get("replaced") or before != context.hash(store):
        problems.append(f"{counts.get('inserted')} inserted and {counts.get('replaced')} replaced by the second import")
    return problems


# c. The same history in other units


def other_units(context, fault, first, second, **more):
    one, truth = context.file(context.options.records, units=first, **more)
    extra = 2 if fault == "two more" else 1
    other, later = context.file(context.options.records, units=second, export=2, extra=extra, offset="-0800", **more)
    store = context.path("store")
    problems = clean_run(context.take(store, one)[0])
    run, counts = context.take(store, other)
    problems += clean_run(run) + well_counted(counts)
    if counts.get("inserted") != 1:
        problems.append(f"{counts.get('inserted')} inserted instead of 1")
    if counts.get("replaced") or counts.get("vetoed"):
        problems.append(f"{counts.get('replaced')} replaced and {counts.get('vetoed')} vetoed")
    added = [line for line in later if line["start"] > "2025-01-01T12"]
    truth = truth + added[:1]
    if fault and fault != "two more":
        truth = spoil(truth, fault, context.random("fault"))
    samples, more_problems = context.samples(store)
    return problems + more_problems + comparison.compare(truth, samples)


@check("c", "after the metric file the imperial one with one record more adds one", "two more", "dropped", "value")
def metric_then_imperial(context, fault):
    return other_units(context, fault, "metric", "imperial")


@check("c", "after the imperial file the metric one with one record more adds one", "two more", "dropped")
def imperial_then_metric(context, fault):
    return other_units(context, fault, "imperial", "metric")


@check("c", "the same where each value was entered in one of the units", "two more")
def entered_units(context, fault):
    return other_units(context, fault, "metric", "imperial", rounding="entered", seed=3)


# e. Malformations


def chosen_variants(context, base, number):
    """All of the few, and a sample of the many: as many of each kind as there are places."""
    kinds = {}
    for place, variant in enumerate(malform.variants(base, context.seed)):
        kinds.setdefault(variant.name.split(" (")[0], []).append(place)
    rng = context.random("variants")
    if number == "all":
        return None
    share = max(1, int(number) // len(kinds))
    rest = max(0, int(number) - sum(min(share, len(places)) for places in kinds.values()))
    taken = {place for places in kinds.values() for place in rng.sample(places, min(share, len(places)))}
    others = [place for places in kinds.values() for place in places if place not in taken]
    return taken | set(rng.sample(others, min(rest, len(others))))


def judge_variant(context, base, number, variant, fault=None):
    """Imports a variant and returns its problems."""
    file, store, kept = context.path("file.xml"), context.path("store"), context.path("quarantine.jsonl")
    data = variant.data
    file.write_bytes(data)
    run, counts = context.take(store, file, "--quarantine", kept, limit=SLOW if fault != "slow" else 0.001)
    codes = variant.codes if fault != "code" else (3,)
    problems = clean_run(run, codes)
    samples = []
    if store.exists() and run.code is not None:
        samples, more = context.samples(store)
        problems += more if run.code in (0, 5) else []
    elif run.code in (0, 5):
        problems.append("there is no store")
    if variant.refused and "entit" not in run.err.lower():
        problems.append(f"it does not say that entities are refused: {run.err[:200]}")
    quarantined, mended = counts.get("quarantined", 0), counts.get("mended", 0)
    wrong, is_short = [], False
    if run.code in (0, 5) or variant.refused:
        wrong, is_short = malform.judge(base, variant, samples, bool(quarantined or mended))
    problems += wrong
    is_cut = counts.get("cut_off", variant.name == "cut off")
    if run.code == 0 and quarantined or run.code == 5 and not quarantined and not is_cut:
        problems.append(f"it ended with {run.code} and {quarantined} quarantined")
    if run.code == 0 and is_short and not odd_kinds(counts):
        problems.append("a touched record is missing, and nothing says so")
    has_records = any(base.parts[part].truths for part in variant.touched)
    if variant.is_noticed and has_records and run.code in (0, 5) and not quarantined and not mended:
        problems.append("the defect is not counted, neither as mended nor as quarantined")
    if run.code in (0, 5):
        problems += quarantine_problems(kept, data, quarantined)
    if problems and fault is None:
        context.findings.mkdir(exist_ok=True)
        (context.findings / f"variant-{context.seed}-{number}.xml").write_bytes(data)
        must, _, may, _ = base.expectation(variant.touched)
        (context.findings / f"variant-{context.seed}-{number}.json").write_text(json.dumps({
            "name": variant.name, "place": variant.place, "problems": problems, "counts": counts, "code": run.code,
            "must": must, "may": may, "samples": samples}, ensure_ascii=False, indent=1))
    for path in (file, kept):
        path.unlink(missing_ok=True)
    shutil.rmtree(store, ignore_errors=True)
    return [f"{variant.name} at {variant.place} (variant {number}): {problem}" for problem in problems], (
        Counter({"mended": bool(mended), "quarantined": bool(quarantined or is_cut), "whole": not is_short}))


def odd_kinds(counts):
    """Whether something was kept out of a kind that exports do not have: an element whose name was damaged."""
    known = {"ClinicalRecord", "Audiogram", "VisionPrescription", "ActivitySummary", "Me", "ExportDate",
             "MetadataEntry of Correlation", "text behind the root", "WorkoutRoute"}
    return any(entry.get("kind") not in known for entry in counts.get("kept_out", []))


def quarantine_problems(path, data, expected):
    """Problems of the file of what was not taken: each line has the bytes that stand at its offset."""
    if not path.exists():
        return [f"{expected} quarantined, but there is no file"] if expected else []
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    problems = [] if len(lines) == expected else [f"{len(lines)} lines for {expected} quarantined"]
    for line in lines:
        raw = bytes.fromhex(line["hex"]) if "hex" in line else str(line.get("bytes", "")).encode("utf-8", "surrogatepass")
        offset = line.get("offset", -1)
        if not raw or data[offset:offset + len(raw)] != raw or not line.get("reason"):
            problems.append(f"the quarantined bytes do not stand at {offset}")
    return problems


@check("e", "malformed files: every good record, no wrong one", "value", "lost", "code", "slow", "invented")
def malformations(context, fault):
    bases = [malform.Base(context.seed + number) for number in range(1 if fault else context.options.bases)]
    problems, tally, count = [], Counter(), 0
    for base in bases:
        if fault in ("value", "lost", "invented"):
            return planted_malformation(context, base, fault)
        chosen = chosen_variants(context, base, 20 if fault else context.options.malformed)
        todo = ((number, variant) for number, variant in enumerate(malform.variants(base, context.seed))
                if chosen is None or number in chosen)
        with ThreadPoolExecutor(max_workers=2) as pool:
            waiting = []
            for number, variant in todo:
                waiting.append(pool.submit(judge_variant, context, base, number, variant, fault))
                if len(waiting) > 200:
                    found, more = waiting.pop(0).result()
                    problems, tally, count = problems + found, tally + more, count + 1
            for one in waiting:
                found, more = one.result()
                problems, tally, count = problems + found, tally + more, count + 1
    context.note(f"{count} files; nothing lost in {tally['whole']}, {tally['mended']} mended, "
                 f"{tally['quarantined']} quarantined")
    return problems


def planted_malformation(context, base, fault):
    """A judge that expects another value, or is given a file without one good record or with one more, must say so."""
    rng = context.random("planted")
    number = next(place for place, part in enumerate(base.parts)
                  if part.truths and not part.isCopy and not part.isCorrelation and part.correlation is None)
    part = base.parts[number]
    if fault == "value":
        base.truths[part.truths[0]]["value"] += 1
        variant = malform.Variant("as it is", base.data)
    elif fault == "lost":
        variant = malform.Variant("without one", base.data[:part.start] + base.data[part.end:])
    else:
        record = base.data[part.start:part.end].replace(b'startDate="20', b'startDate="19', 1)
        variant = malform.Variant("with one more", base.data[:part.start] + record + b"\n " + base.data[part.start:])
    return judge_variant(context, base, rng.randrange(10**6), variant, fault)[0]


# f. Kills


@check("f", "killed at random and repeated, an import ends like an undisturbed one", "no repetition", "other file")
def killed(context, fault):
    file, truth = context.file(context.options.kill_records, "zip")
    store = context.path("store")
    run, _ = context.take(store, file)
    problems = clean_run(run)
    whole = context.hash(store, "--content")
    shutil.rmtree(store, ignore_errors=True)
    rng = context.random("kills")
    hits = depth = 0
    for number in range(1 if fault else context.options.kills):
        store = context.path("store")
        # Some are killed again and again before they may end.
        for _ in range(rng.choice([1, 1, 2, 4])):
            delay = rng.random() * run.seconds * (0.3 if fault else 1.02)
            hits += kill_after(context, store, file, delay)
        if store.exists():
            depth += bool(context.run("types", store, "--format", "jsonl").out)
        if fault == "other file":
            file, _ = context.file(context.options.kill_records, "zip", seed=5)
        if fault != "no repetition":
            problems += clean_run(context.take(store, file)[0])
        found = context.hash(store, "--content")
        if found != whole:
            problems.append(f"after kill {number} the content has the hash {found} instead of {whole}")
        elif number % 20 == 0:
            problems += clean_run(context.run("check", store))
            samples, more = context.samples(store)
            problems += more + comparison.compare(truth, samples)
        if not problems or fault:
            shutil.rmtree(store, ignore_errors=True)
        if len(problems) > 20:
            break
    context.note(f"{hits} kills hit, {depth} of them behind a first commit; an import takes {run.seconds:.2f} s")
    return problems


def kill_after(context, store, file, delay):
    """Kills an import after a time. Returns 1 if it was still at work."""
    process = subprocess.Popen([context.tool, "import", str(store), str(file), "--format", "json"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(delay)
        return 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return 1


# g. Forms of a file


@check("g", "zip, stored zip, folder, XML and standard input give the same content", "another history")
def forms(context, fault):
    problems, hashes = [], {}
    for name, options in (("xml", {"form": "xml"}), ("zip", {"form": "zip"}), ("stored zip", {"form": "zip", "deflates": False}),
                          ("folder", {"form": "folder"}), ("-", {"form": "xml"})):
        if fault and name == "folder":
            options = {**options, "seed": 9}
        file, _ = context.file(context.options.records, **options)
        store = context.path("store")
        if name == "-":
            run, _ = context.take(store, "-", stdin=file)
        else:
            run, _ = context.take(store, file)
        problems += [f"{name}: {problem}" for problem in clean_run(run)]
        hashes[name] = context.hash(store, "--content")
    if len(set(hashes.values())) != 1 or "ended" in hashes["xml"]:
        problems.append(f"the contents differ: {hashes}")
    return problems


# h. Archives, and files that are none


@check("h", "the main file is found whatever it is called", "dropped")
def localised(context, fault):
    problems = []
    for name in catalog.MAIN_NAMES:
        for form in ("zip", "folder"):
            file, truth = context.file(400, form, main=name)
            store = context.path("store")
            run, _ = context.take(store, file)
            if fault:
                truth = truth[1:]
            samples, more = context.samples(store)
            problems += [f"{name}, {form}: {problem}" for problem in
                         clean_run(run) + more + comparison.compare(truth, samples)]
    return problems


@check("h", "files that are no exports end with 1 and say why", "an export")
def no_exports(context, fault):
    files = {}
    path = context.path("empty.zip")
    with zipfile.ZipFile(path, "w"):
        pass
    files["an empty archive"] = path
    path = context.path("other.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("apple_health_export/readme.txt", "nothing")
        archive.writestr("apple_health_export/export.xml", "")
        archive.writestr("__MACOSX/._export.xml", generate.DOUBLE)
    files["an archive with an empty main file"] = path
    for name, data in (("nothing.zip", b""), ("nothing.xml", b""), ("text.txt", b"Dear diary,\nnothing of note.\n" * 50),
                       ("other.xml", b'<?xml version="1.0"?>\n<html><body>HealthData</body></html>\n'),
                       ("head.zip", b"PK\x03\x04" + b"\x00" * 100), ("noise.bin", context.random("noise").randbytes(100_000))):
        path = context.path(name)
        path.write_bytes(data)
        files[name] = path
    path, _ = context.file(400, "zip")
    cut = context.path("cut.zip")
    cut.write_bytes(path.read_bytes()[:-4000])
    files["an archive without its directory"] = cut
    folder = context.path("folder")
    folder.mkdir()
    (folder / "notes.xml").write_text("<notes/>")
    files["a folder without an export"] = folder
    files["no file"] = context.path("missing.zip")
    if fault:
        files["an export"] = path
    problems = []
    for name, path in files.items():
        store = context.path("store")
        run, _ = context.take(store, path, limit=60)
        problems += [f"{name}: {problem}" for problem in clean_run(run, 1)]
        if not run.err.strip() or "Fatal" in run.err or "Traceback" in run.err:
            problems.append(f"{name}: no clear message: {run.err[:200]!r}")
        if store.exists() and context.samples(store)[0]:
            problems.append(f"{name}: something was stored")
    return problems


@check("h", "a damaged archive is refused before anything of it is stored", "sound")
def damaged_archives(context, fault):
    file, _ = context.file(context.options.records * 2, "zip", seed=4)
    raw = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        entry = archive.getinfo("apple_health_export/export.xml")
    problems = []
    rng = context.random("damage")
    first = entry.header_offset + 100
    for number in range(2 if fault else 15):
        place = first + int((entry.compress_size - 200) * rng.random())
        data = bytearray(raw)
        kind = ("bytes", "zeros", "swapped", "lying size", "wrong checksum")[number % 5]
        if fault == "sound":
            kind = "nothing"
        elif kind == "bytes":
            data[place:place + 40] = rng.randbytes(40)
        elif kind == "zeros":
            data[place:place + 2000] = bytes(2000)
        elif kind == "swapped":
            data[place:place + 200] = data[place:place + 200][::-1]
        else:
            directory = data.rfind(b"PK\x01\x02", 0, data.rfind(b"apple_health_export/export.xml"))
            at = directory + (24 if kind == "lying size" else 16)
            data[at:at + 4] = (int.from_bytes(data[at:at + 4], "little") // 2 + 7).to_bytes(4, "little")
        path = context.path("damaged.zip")
        path.write_bytes(data)
        store = context.path("store")
        run, _ = context.take(store, path, limit=60)
        label = f"{kind} at {place}: "
        problems += [label + problem for problem in clean_run(run, (1,))]
        if not run.err.strip():
            problems.append(label + "no message")
        if store.exists():
            problems.append(label + "a store was made")
        shutil.rmtree(store, ignore_errors=True)
    return problems


@check("h", "an archive is read where it lies: nothing is extracted", "something is")
def nothing_extracted(context, fault):
    file, _ = context.file(400)
    place = context.path("place")
    (place / "inner").mkdir(parents=True)
    path = place / "inner" / "evil.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.xml", "<evil/>")
        archive.writestr("/tmp/evil-export.xml", "<evil/>")
        archive.writestr("apple_health_export/export.xml", file.read_bytes())
    run, _ = context.take(place / "store", path)
    if fault:
        (place / "evil.xml").write_text("")
    found = [str(name) for name in [context.scratch / "evil.xml", Path("/tmp/evil-export.xml"), *place.rglob("evil.xml")]
             if name.exists()]
    return clean_run(run, (0, 1)) + [f"{name} was made" for name in found]


# i. Options


@check("i", "--types, --from, --to and --source take exactly what they name", "dropped", "skipped")
def filters(context, fault):
    file, truth = context.file(context.options.records)
    middle = sorted(one["start"] for one in truth)
    early, late = middle[len(middle) // 3], middle[2 * len(middle) // 3]
    source = catalog.SOURCES[1].name
    weights = ("HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierBodyMass")
    problems = []
    for words, keeps in (
        (["--types", "stepCount,bodyMass"], lambda one: one["type"] in weights),
        (["--types", "HKQuantityTypeIdentifierHeartRate"], lambda one: one["type"].endswith("IdentifierHeartRate")),
        (["--from", early], lambda one: one["start"] >= early),
        (["--to", late], lambda one: one["start"] < late),
        (["--from", early, "--to", late], lambda one: early <= one["start"] < late),
        (["--source", source], lambda one: one["source"] == source),
        (["--types", "stepCount", "--source", source, "--from", early],
         lambda one: one["type"] == weights[0] and one["source"] == source and one["start"] >= early),
    ):
        store = context.path("store")
        run, counts = context.take(store, file, *words)
        # Which of several versions counts may depend on what was left out.
        wanted = [one for one in truth if keeps(one)]
        if fault == "dropped":
            wanted = wanted[1:]
        samples, more = context.samples(store)
        found = clean_run(run) + more + well_counted(counts)
        found += [problem for problem in comparison.compare(wanted, samples) if not is_version(problem, truth, samples)]
        if counts.get("skipped", 0) < len(truth) - len(wanted) + (10**6 if fault == "skipped" else 0):
            found.append(f"{counts.get('skipped')} skipped")
        problems += [f"{' '.join(words)}: {problem}" for problem in found]
    return problems


def is_older_version(sample, truth):
    """Whether a sample is an earlier version of a true one."""
    text = sample.get("syncIdentifier")
    return text is not None and any(one.get("syncIdentifier") == text and one["type"] == sample["type"] for one in truth)


def is_version(problem, truth, samples):
    """Whether a problem is about an earlier version of a sample, whose highest version a range leaves out."""
    return any(problem == f"invented: {comparison.describe(comparison.core(sample))}" and is_older_version(sample, truth)
               for sample in samples)


@check("i", "--dry-run counts and stores nothing", "it stores")
def dry_run(context, fault):
    file, truth = context.file(context.options.records)
    store = context.path("store")
    words = [] if fault else ["--dry-run"]
    run, counts = context.take(store, file, *words)
    problems = clean_run(run)
    if counts.get("inserted", 0) < len(truth):
        problems.append(f"{counts.get('inserted')} would be inserted of {len(truth)}")
    if store.exists():
        problems.append("a store was made")
        shutil.rmtree(store)
    problems += clean_run(context.take(store, file, "--types", "heartRate")[0])
    before = context.hash(store)
    data = {path.name: path.read_bytes() for path in sorted(store.rglob("*")) if path.name in ("data.mdb", "samples.json")}
    run, counts = context.take(store, file, *words)
    problems += clean_run(run)
    if not counts.get("inserted") or not counts.get("unchanged"):
        problems.append(f"a dry run counts {counts.get('inserted')} inserted and {counts.get('unchanged')} unchanged")
    if before != context.hash(store):
        problems.append("the content changes")
    if any((store / name).read_bytes() != raw for name, raw in data.items()):
        context.note("a dry run writes to the store's file")
    return problems


@check("i", "--quarantine keeps the bytes of what was not taken, with offset and reason", "shifted")
def quarantine(context, fault):
    base = malform.Base(context.seed + 7)
    data = base.data
    for place, (start, end) in enumerate(reversed(base.elements)):
        if place % 3 == 0:
            bad = (b'<Record type="HKQuantityTypeIdentifierStepCount" unit="count" startDate="2024-13-45 00:00:00 +0000"/>\n ',
                   b'<Record \xff\xfe broken <<>\n ', b"text & noise \x0b\n ")[place // 3 % 3]
            data = data[:start] + bad + data[start:]
    problems = []
    for form in ("xml", "zip"):
        file, store, kept = context.path(f"file.{form}"), context.path("store"), context.path("kept.jsonl")
        if form == "xml":
            file.write_bytes(data)
        else:
            generate.write_zip(file, lambda write: write(data))
        run, counts = context.take(store, file, "--quarantine", kept)
        found = clean_run(run, 5) + ([] if counts.get("quarantined") else ["nothing was quarantined"])
        found += quarantine_problems(kept, b"x" + data if fault else data, counts.get("quarantined"))
        samples, more = context.samples(store)
        problems += [f"{form}: {problem}" for problem in found + more + comparison.compare(base.truths, samples)]
    return problems


# j. Memory and speed


def measured(context, *words):
    """Runs the tool and samples its memory. Returns the run, and the peaks in bytes of what Linux tells."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([context.tool, *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        peaks = Counter()
        pid = process.pid
        while process.poll() is None:
            for file, names in ((f"/proc/{pid}/status", ("VmHWM", "RssAnon", "RssFile")),
                                (f"/proc/{pid}/smaps_rollup", ("Private_Clean", "Private_Dirty", "Anonymous"))):
                try:
                    text = Path(file).read_text()
                except OSError:
                    continue
                values = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in text.splitlines() if line.endswith("kB")}
                for name in names:
                    peaks[name] = max(peaks[name], values.get(name, 0))
                if "Private_Dirty" in names:
                    private = values.get("Private_Clean", 0) + values.get("Private_Dirty", 0)
                    peaks["private"] = max(peaks["private"], private)
            time.sleep(0.02)
        # Waited for already: the processor time of this one is the growth of all children's.
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        run = Run(process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), seconds)
    return run, peaks


@check("j", "memory and speed", "memory", "speed", "count")
def large(context, fault):
    options = context.options
    size = options.size if not fault else min(options.size, 8_000_000)
    key = ("large", size)
    if key not in context.made:
        path, truth = context.path("large.xml"), context.path("large.jsonl")
        setting = generate.Setting()
        records = generate.records_of(size, context.seed, setting)
        began = time.monotonic()
        samples, written = generate.write(generate.History(context.seed, records, setting), path, truth)
        kinds = Counter()
        with open(truth, encoding="utf-8") as lines:
            for line in lines:
                kinds[line[9:line.index('"', 9)]] += 1
        truth.unlink()
        context.made[key] = path, samples, written, kinds
        context.note(f"generated {written / 1e6:.0f} MB with {samples} samples in {time.monotonic() - began:.0f} s")
    path, samples, written, kinds = context.made[key]
    store = context.path("store")
    before = os.times()
    run, peaks = measured(context, "import", store, path, "--format", "json")
    after = os.times()
    problems = clean_run(run)
    counts = json.loads(run.out) if run.code == 0 else {}
    rate = written / 1e6 / run.seconds
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    megabyte = 1 << 20
    # Pages of the store's map belong to the file: what the process has for itself is anonymous.
    own = max(peaks["Anonymous"], peaks["RssAnon"])
    context.note(f"{rate:.0f} MB/s, {processor:.1f} s of processor time; {own / megabyte:.0f} MB anonymous, "
                 f"{peaks['private'] / megabyte:.0f} MB private with the map, {peaks['VmHWM'] / megabyte:.0f} MB resident; "
                 f"store {sum(file.stat().st_blocks * 512 for file in store.rglob('*') if file.is_file()) / 1e6:.0f} MB")
    memory, speed = (1 if fault == "memory" else options.memory), (1e9 if fault == "speed" else options.speed)
    if memory and own > memory * megabyte:
        problems.append(f"{own / megabyte:.0f} MB of memory instead of {memory}")
    if speed and rate < speed:
        problems.append(f"{rate:.0f} MB/s instead of {speed}")
    types = context.run("types", store, "--format", "jsonl")
    found = Counter({line["type"]: line["samples"] for line in map(json.loads, types.out.split("\n")[:-1])
                     if not line["type"].startswith(comparison.UNJUDGED)})
    if fault == "count":
        kinds = kinds + Counter({catalog.QUANTITY + "HeartRate": 1})
    if found != kinds:
        problems.append(f"the types differ: {dict(found - kinds)} too many, {dict(kinds - found)} missing")
    if not fault:
        problems += second_import(context, store, path, counts)
    shutil.rmtree(store, ignore_errors=True)
    return problems


def second_import(context, store, path, counts):
    """The second import of the large file adds nothing, and is measured as well."""
    before = context.hash(store)
    run, peaks = measured(context, "import", store, path, "--format", "json")
    context.note(f"again: {path.stat().st_size / 1e6 / run.seconds:.0f} MB/s, "
                 f"{max(peaks['Anonymous'], peaks['RssAnon']) / (1 << 20):.0f} MB anonymous")
    problems = clean_run(run)
    if run.code == 0 and json.loads(run.out)["inserted"] or before != context.hash(store):
        problems.append("the second import of the large file changes something")
    return problems


# k. Our own exports, as others read them


def exported(context, form):
    """Imports a good file and exports the store. Returns the export, what the store holds by type, and problems."""
    key = ("exported", form)
    if key not in context.made:
        file, _ = context.file(context.options.records)
        store, out = context.path("store"), context.path(f"out.{form}")
        problems = clean_run(context.take(store, file)[0]) + clean_run(context.run("export", store, out))
        types = context.run("types", store, "--format", "jsonl")
        held = Counter({line["type"]: line["samples"] for line in map(json.loads, types.out.split("\n")[:-1])})
        held["ActivitySummary"] = file.read_bytes().count(b"<ActivitySummary ")
        context.made[key] = out, held, problems
    out, held, problems = context.made[key]
    return out, Counter(held), list(problems)


def unlike(found, held, fault):
    """Problems where the elements that a parser counted at the top level are not what the store holds."""
    if fault == "one more":
        held["HKQuantityTypeIdentifierHeartRate"] += 1
    found = Counter({name: count for name, count in found.items() if not name.startswith("nested ")})
    workouts = [name for name in found if name.startswith("Workout ")]
    found["HKWorkoutTypeIdentifier"] = sum(found.pop(name) for name in workouts)
    for name in ("Correlation", "ExportDate"):
        found.pop(name, None)
    return [f"{found[name]} {name} instead of {held[name]}" for name in sorted(found.keys() | held.keys())
            if found[name] != held[name]]


@check("k", "two parsers count in an export what the store holds", "one more")
def export_counted(context, fault):
    problems = []
    for form in ("xml", "zip"):
        out, held, more = exported(context, form)
        first, second = parsers.counts(out)
        if first != second:
            more.append(f"the parsers disagree: {first - second}, {second - first}")
        problems += [f"{form}: {problem}" for problem in more + unlike(first, held, fault)]
    return problems


@check("k", "an export is valid by its own document type", "an undeclared element")
def export_valid(context, fault):
    if not shutil.which("xmllint"):
        return LEFT_OUT
    out, _, problems = exported(context, "xml")
    if fault:
        changed = context.path("changed.xml")
        changed.write_bytes(out.read_bytes().replace(b"</HealthData>", b" <Mood/>\n</HealthData>"))
        out = changed
    run = subprocess.run(["xmllint", "--valid", "--noout", "--huge", str(out)], capture_output=True, text=True)
    return problems + ([] if run.returncode == 0 else [f"xmllint: {run.stderr[:300]}"])


OTHERS = """
import collections, json, sys
from health.data import HealthData
from healthkit_to_sqlite.utils import find_all_tags
path = sys.argv[1]
data = HealthData.read(path, include_me=False)
first = {"Record": len(data.records), "Workout": len(data.workouts), "ActivitySummary": len(data.activity_summaries)}
second = collections.Counter()
with open(path) as file:
    for tag, element in find_all_tags(file, {"Record", "Workout", "ActivitySummary"}):
        second[tag] += 1
print(json.dumps([first, second]))
"""


@check("k", "two parsers of PyPI read an export to the same counts", "one more")
def export_read(context, fault):
    python = context.options.python
    if not python:
        return LEFT_OUT
    out, held, problems = exported(context, "xml")
    run = subprocess.run([python, "-c", OTHERS, str(out)], capture_output=True, text=True)
    if run.returncode != 0:
        return problems + [f"they fail: {run.stderr[-300:]}"]
    first, second = json.loads(run.stdout)
    own = parsers.counts(out)[0]
    records = sum(count for name, count in own.items() if name.startswith("HK"))
    nested = sum(count for name, count in own.items() if name.startswith("nested "))
    wanted = {"Record": records + bool(fault), "Workout": held["HKWorkoutTypeIdentifier"],
              "ActivitySummary": held["ActivitySummary"]}
    if first != wanted:
        problems.append(f"apple-health: {first} instead of {wanted}")
    # It counts the records within correlations once more.
    wanted["Record"] += nested
    if second != wanted:
        problems.append(f"healthkit-to-sqlite: {second} instead of {wanted}")
    return problems


FHIR = """
import sys
from fhir.resources.R4B.bundle import Bundle
from ucumvert import get_ucum_parser
parser = get_ucum_parser()
units, count = set(), 0
for line in open(sys.argv[1]):
    bundle = Bundle.model_validate_json(line)
    for entry in bundle.entry:
        count += 1
        one = entry.resource
        amounts = [one.valueQuantity] + [part.valueQuantity for part in one.component or []]
        units.update(amount.code for amount in amounts if amount is not None and amount.code)
for unit in units:
    parser.parse(unit)
print(count)
"""


@check("k", "Observations are FHIR R4, and their units UCUM, as packages of PyPI judge", "a value that is no number", "a unit")
def export_observations(context, fault):
    python = context.options.python
    if not python:
        return LEFT_OUT
    out, held, problems = exported(context, "ndjson")
    if fault:
        changed, text = context.path("changed.ndjson"), out.read_text()
        changes = {"a unit": ('"code":"kg"', '"code":"kilo"'), "a value that is no number": ('"value":7', '"value":"x","y":7')}
        changed.write_text(text.replace(*changes[fault], 1))
        out = changed
    run = subprocess.run([python, "-c", FHIR, str(out)], capture_output=True, text=True)
    if run.returncode != 0:
        return problems + [f"not valid: {run.stderr[-400:]}"]
    pressures = min(held["HKQuantityTypeIdentifierBloodPressureSystolic"], held["HKQuantityTypeIdentifierBloodPressureDiastolic"])
    samples = sum(count for name, count in held.items() if name.startswith("HK"))
    if not samples - pressures <= int(run.stdout) <= samples:
        problems.append(f"{run.stdout.strip()} Observations of {samples} samples")
    return problems


# The generator itself


@check("s", "two independent parsers count what the generator says", "dropped")
def generator_itself(context, fault):
    problems = []
    for options in ({}, {"units": "imperial", "seed": 1, "dtd": "broken", "offset": "mixed"}, {"form": "zip"}):
        file, truth = context.file(context.options.records, **options)
        first, second = parsers.counts(file)
        if first != second:
            problems.append(f"the parsers disagree: {first - second}, {second - first}")
        problems += truth_problems(file, truth[1:] if fault else truth)
    return problems


def truth_problems(file, truth):
    """Derives the truth once more from what expat reads, and compares it by what decides."""
    top, nested, versions = Counter(), Counter(), {}
    for tag, is_nested, attributes, inner in parsers.samples(file):
        value = attributes.get("value", attributes.get("duration", "0"))
        numbers = {text: number for entry in catalog.CATEGORIES for text, number in entry.values.items()}
        unit = attributes.get("unit", "min" if tag == "Workout" else "count")
        key = (attributes.get("type", "HKWorkoutTypeIdentifier"), malform.instant(attributes["startDate"]),
               malform.instant(attributes["endDate"]), float(numbers.get(value, value)) if value != "0" else 0.0,
               comparison.unit(unit), attributes["sourceName"])
        entries = {one.get("key"): one.get("value") for name, one in inner if name == "MetadataEntry"}
        if "HKMetadataKeySyncIdentifier" in entries and tag == "Record":
            identity = (key[0], key[5], entries["HKMetadataKeySyncIdentifier"])
            version = int(entries["HKMetadataKeySyncVersion"])
            if versions.get(identity, (0,))[0] < version:
                versions[identity] = version, key
            continue
        (nested if is_nested else top)[key] += 1
    found = top | nested
    found.update(key for _, key in versions.values())
    expected = Counter(comparison.core(one) for one in truth)
    return [f"{file.name}: {comparison.describe(key)} is not in the truth" for key in found - expected] + [
        f"{file.name}: {comparison.describe(key)} is not in the file" for key in expected - found]


def run_check(context, entry, fault=None):
    """Runs a check and prints its line. Returns whether it is as it should be."""
    context.notes = []
    began = time.monotonic()
    try:
        problems = entry.function(context, fault)
        if problems is LEFT_OUT:
            print(f"left out {entry.letter} {entry.name}{f', planted {fault}' if fault else ''}", flush=True)
            return True
        problems = [" ".join(problem.split("\n")) for problem in problems]
    except Exception as error:  # A check that fails in itself is a failure, and the others go on.
        problems = [f"the check itself failed: {type(error).__name__}: {error}"]
        if fault:
            print(f"FAILED {entry.letter} {entry.name}, planted {fault}: {problems[0]}", flush=True)
            return False
    seconds = time.monotonic() - began
    notes = f" [{'; '.join(context.notes)}]" if context.notes else ""
    if fault:
        print(f"{'ok' if problems else 'FAILED'} {entry.letter} {entry.name}: planted {fault} "
              f"{'is noticed: ' + problems[0][:90] if problems else 'is not noticed'}", flush=True)
        return bool(problems)
    if not problems:
        print(f"ok {entry.letter} {entry.name} ({seconds:.1f} s){notes}", flush=True)
        return True
    print(f"FAILED {entry.letter} {entry.name}: {len(problems)} problems ({seconds:.1f} s){notes}", flush=True)
    for problem in problems[:SHOWN]:
        print(f"    {problem[:400]}", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kvinspect", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--short", action="store_true", help="a sample of all, in some minutes; the default is the long form")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--size", type=generate.bytes_of, help="of the large file: 1g, short 40m")
    parser.add_argument("--records", type=int, help="of ordinary files: 20,000, short 3,000")
    parser.add_argument("--kills", type=int, help="200, short 10")
    parser.add_argument("--kill-records", type=int, help="of the file that is killed: 150,000, short 100,000")
    parser.add_argument("--malformed", help="malformed files, or all of some 30,000: 6,000, short 250")
    parser.add_argument("--bases", type=int, help="good files from which malformed ones are made: 3, short 1")
    parser.add_argument("--memory", type=int, default=64, help="the limit in MB; 0 for none")
    parser.add_argument("--speed", type=int, help="the limit in MB/s: 150, short none")
    parser.add_argument("--python", help="a Python with packages of PyPI, for k")
    parser.add_argument("--only", help="the letters of checks to run")
    parser.add_argument("--planted", action="store_true", help="run every check with planted faults")
    parser.add_argument("--keep", action="store_true", help="keep generated files and stores")
    options = parser.parse_args()
    brief = options.short or options.planted
    for name, long, short in (("size", 10**9, 40_000_000), ("records", 20_000, 3_000), ("kills", 200, 10),
                              ("kill_records", 150_000, 100_000), ("malformed", "6000", "250"), ("bases", 3, 1),
                              ("speed", 150, 0)):
        if getattr(options, name) is None:
            setattr(options, name, short if brief else long)
    Path(options.scratch).mkdir(parents=True, exist_ok=True)
    context = Context(options)
    print(f"seed {options.seed}", flush=True)
    failed = total = 0
    try:
        for entry in CHECKS:
            if options.only and entry.letter not in options.only:
                continue
            for fault in entry.faults if options.planted else (None,):
                total += 1
                failed += not run_check(context, entry, fault)
    finally:
        if not options.keep:
            shutil.rmtree(context.scratch, ignore_errors=True)
    print(f"seed {options.seed}: {total - failed} of {total} checks are right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
