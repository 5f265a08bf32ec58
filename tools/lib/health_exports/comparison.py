"""Compares what a store holds with what is true: samples of `kvinspect dump` with lines of truth."""
import json
import re
from collections import defaultdict

DATE = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) \+0000$")
COPY = re.compile(r" \(\d+\)$")
ALIASES = {"Cal": "kcal", "ml": "mL", "l": "L"}
# Types that importers may make of elements that are no records. A damaged type may have any name.
UNJUDGED = ("HKCorrelationType", "HKDataTypeIdentifier", "HKVisionPrescription", "HKClinicalType", "HKActivitySummary")


def unit(text):
    """Returns a unit in a form that does not depend on how its factors are written: `mL/min·kg` is `mL/(kg*min)`."""
    if not text:
        return "count"
    above, _, below = text.replace("·", "*").replace(".", "*").partition("/") if "<" not in text else (text, "", "")

    def factors(part):
        return sorted(ALIASES.get(atom, atom) for atom in part.strip("() ").split("*") if atom)

    return "*".join(factors(above)) + ("/" + "*".join(factors(below)) if below else "")


def time(text):
    """Returns a time in universal time without zeros behind its fraction."""
    if "." in text:
        return text[:-1].rstrip("0").rstrip(".") + "Z"
    return text


def source(sample):
    found = sample.get("source", {})
    return found if isinstance(found, dict) else {"name": found}


def core(sample):
    """What decides whether two samples are the same, as entered."""
    return (sample["type"], time(sample["start"]), time(sample.get("end", sample["start"])), float(sample["value"]),
            unit(sample.get("unit")), source(sample).get("name"))


def same_quantity(expected, found):
    if expected is None or found is None:
        return expected is found
    return float(expected["value"]) == float(found["value"]) and unit(expected["unit"]) == unit(found["unit"])


def same_metadata(text, value):
    """Whether a value of metadata is what a text of an export says, whatever kind it was given."""
    if isinstance(value, bool):
        return text == ("1" if value else "0")
    if isinstance(value, (int, float)):
        return is_number(text) and float(text) == value
    if isinstance(value, dict):
        if "date" in value:
            match = DATE.match(text)
            return bool(match) and time(value["date"]) == f"{match[1]}T{match[2]}Z"
        number, _, symbol = text.partition(" ")
        return is_number(number) and float(number) == float(value.get("value")) and unit(symbol) == unit(value.get("unit"))
    return text == value


def is_number(text):
    return bool(re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text, re.I))


def metadata_problem(pairs, found):
    """Keys that stand several times may be told apart by a number behind them; equal entries may be one."""
    wanted = {(key, text) for key, text in pairs}
    left = dict(found)
    for key, text in sorted(wanted):
        fitting = [name for name in left if COPY.sub("", name) == key and same_metadata(text, left[name])]
        if not fitting:
            return f"metadata {key} = {text!r} is missing or changed"
        del left[min(fitting)]
    for name in list(left):
        # Fields of a sample may stand in the metadata as well.
        if name in ("HKTimeZone", "HKWasUserEntered", "HKMetadataKeySyncIdentifier", "HKMetadataKeySyncVersion"):
            del left[name]
    return f"metadata {sorted(left)} is invented" if left else None


def strings(value):
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def detail_problem(truth, sample, ignores_group=False):
    """Returns how a sample differs from a truth with the same core, or None."""
    if truth.get("sourceVersion") != source(sample).get("version"):
        return f"source version {source(sample).get('version')!r} instead of {truth.get('sourceVersion')!r}"
    if truth.get("device") != sample.get("device"):
        return f"device {sample.get('device')} instead of {truth.get('device')}"
    if bool(truth.get("userEntered")) != bool(sample.get("userEntered")):
        return "userEntered differs"
    if truth.get("syncIdentifier") != sample.get("syncIdentifier"):
        return f"sync identifier {sample.get('syncIdentifier')!r} instead of {truth.get('syncIdentifier')!r}"
    if "syncIdentifier" in truth and truth.get("syncVersion", 1) != sample.get("syncVersion", 1):
        return f"sync version {sample.get('syncVersion')} instead of {truth.get('syncVersion')}"
    zone = sample.get("timeZone") or sample.get("metadata", {}).get("HKTimeZone")
    if truth.get("timeZone") != zone:
        return f"time zone {zone!r} instead of {truth.get('timeZone')!r}"
    if not ignores_group and bool(truth.get("group")) != ("group" in sample):
        return "it is in no group" if truth.get("group") else "it is in a group"
    if "modified" in sample and truth.get("created") and time(sample["modified"]) != truth["created"]:
        return f"modified {sample['modified']} instead of {truth['created']}"
    problem = metadata_problem(truth.get("metadata", []), sample.get("metadata", {}))
    if problem:
        return problem
    if truth.get("beats"):
        texts = "\n".join(strings({key: value for key, value in sample.items() if key not in ("id", "metadata")}))
        for bpm, at in truth["beats"]:
            if at not in texts:
                return f"the beat at {at} is missing"
    return workout_problem(truth.get("workout"), sample.get("workout"))


def workout_problem(expected, found):
    if expected is None or found is None:
        return None if expected is found else "the workout is missing"
    if expected["activity"] != found.get("activity"):
        return f"activity {found.get('activity')} instead of {expected['activity']}"
    for total in ("energy", "distance"):
        if not same_quantity(expected.get(total), found.get(total)):
            return f"total {total} {found.get(total)} instead of {expected.get(total)}"
    for what in ("events", "statistics", "activities"):
        problem = parts_problem(what, expected.get(what, []), found.get(what, []))
        if problem:
            return problem
    return None


def parts_problem(what, expected, found):
    if len(expected) != len(found):
        return f"{len(found)} {what} instead of {len(expected)}"
    order = (lambda part: (part.get("type", ""), time(part["start"]), time(part.get("end", part["start"])), part.get("kind", 0)))
    for want, have in zip(sorted(expected, key=order), sorted(found, key=order)):
        for field in ("type", "kind", "activity", "id"):
            if field in want and want[field] != have.get(field):
                return f"{field} of {what}: {have.get(field)} instead of {want[field]}"
        if time(want["start"]) != time(have["start"]) or time(want["end"]) != time(have.get("end", have["start"])):
            return f"times of {what} differ"
        for field in ("sum", "average", "minimum", "maximum"):
            if not same_quantity(want.get(field), have.get(field)):
                return f"{field} of {what}: {have.get(field)} instead of {want.get(field)}"
        for inner in ("events", "statistics"):
            if inner in want:
                problem = parts_problem(f"{inner} of {what}", want[inner], have.get(inner, []))
                if problem:
                    return problem
    return None


def read_dump(lines):
    """Returns the samples that are judged of lines of a dump."""
    samples = []
    for line in lines:
        if not line.strip():
            continue
        sample = json.loads(line)
        if "type" in sample and not sample["type"].startswith(UNJUDGED):
            sample.pop("dump", None)
            samples.append(sample)
    return samples


def matched(truths, samples, relaxed=()):
    """Pairs truths with samples. Returns the problems, and the samples that no truth has.

    `relaxed` holds the numbers of truths whose group does not matter.
    """
    by_core = defaultdict(list)
    for sample in samples:
        by_core[core(sample)].append(sample)
    problems = []
    groups = defaultdict(list)
    for number, truth in enumerate(truths):
        groups[core(truth)].append((truth, number in relaxed))
    for key, wanted in groups.items():
        found = by_core.get(key, [])
        open_ones = []
        for truth, is_relaxed in wanted:
            place = next((place for place, sample in enumerate(found)
                          if detail_problem(truth, sample, is_relaxed) is None), None)
            if place is None:
                open_ones.append((truth, is_relaxed))
            else:
                del found[place]
        for truth, is_relaxed in open_ones:
            if found:
                problems.append(f"{describe(key)}: {detail_problem(truth, found.pop(0), is_relaxed)}")
            else:
                problems.append(f"missing: {describe(key)}")
    return problems, [sample for found in by_core.values() for sample in found]


def compare(truths, samples):
    """Returns all differences between the truth and the samples of a store, as multisets."""
    problems, rest = matched(truths, samples)
    return problems + [f"invented: {describe(core(sample))}" for sample in rest]


def describe(key):
    return " ".join(str(part) for part in key)


def read_truth(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]
