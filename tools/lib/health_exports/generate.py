"""Generates exports of Apple Health of which it is known what a correct importer holds afterwards.

usage: generate.py --seed N [--records N | --size 1g] --out FILE.xml|FILE.zip|FOLDER [--truth FILE.jsonl]
                   [--units metric|imperial] [--export N] [--extra N] [--offset +0545|mixed] [--locale de_DE]
                   [--dtd good|broken|none] [--main-name NAME] [--rounding both|entered]

A seed is one history. Units, number of the export, offset, locale and document type only decide how it is printed, so
two files of one seed are two exports of one phone. `--extra` adds records at the end of the first type.

The truth is JSON Lines: one line a sample, as printed in this file. Records within a correlation stand at the top level
once more (most of them) and are one sample; of equal sync identifiers the highest version counts.
"""
import argparse
import json
import random
import sys
import zipfile
from collections import namedtuple
from datetime import date, timedelta
from pathlib import Path

import catalog

# One top-level element: its text, the truth that it brings, and the truth of which it is only the second copy.
Element = namedtuple("Element", "kind text truths copies", defaults=((), ()))

EPOCH = date(1970, 1, 1)
DAY = 86_400
CLOCK = [f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" for second in range(DAY)]
FIRST = 1_388_577_600  # 2014-01-01 12:00 UTC
LAST = 1_735_732_800  # 2025-01-01 12:00 UTC
# What share of a history's records other elements have, and at most how many there are of each.
CORRELATIONS = (0.01, 4_000)
WORKOUTS = (0.004, 3_000)


class Days(dict):
    """The dates of days since 1970."""

    def __missing__(self, day):
        self[day] = text = str(EPOCH + timedelta(days=day))
        return text


DAYS = Days()


def utc(time):
    """Returns a time in seconds since 1970 as ISO 8601 in universal time."""
    if time % 1:
        return f"{DAYS[int(time // DAY)]}T{CLOCK[int(time) % DAY]}{f'{time % 1:.3f}'[1:].rstrip('0')}Z"
    return f"{DAYS[int(time) // DAY]}T{CLOCK[int(time) % DAY]}Z"


def escape(text):
    """Escapes the text of an attribute as Apple does; line breaks and tabs would become spaces otherwise."""
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"),
                                 ("\n", "&#10;"), ("\t", "&#9;")):
        text = text.replace(character, reference)
    return text


def printed(value):
    """Prints a number as exports do: whole numbers in full, others with six significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Setting:
    """How a history is printed."""

    def __init__(self, units="metric", export=1, offset="+0100", locale=None, dtd="good", rounding="both", extra=0):
        self.units = units
        self.export = export
        self.zones = catalog.ZONES if offset == "mixed" else [offset]
        self.shifts = [(int(zone[1:3]) * 3600 + int(zone[3:]) * 60) * (-1 if zone[0] == "-" else 1) for zone in self.zones]
        self.locale = locale or ("en_US" if units == "imperial" else "de_DE")
        self.dtd = dtd
        self.rounding = rounding
        self.extra = extra
        self.addresses = random.Random(f"addresses {export} {units}")
        self.devices = {}

    def date(self, time):
        """Prints a time in seconds since 1970."""
        number = time * 7 % 31 % len(self.zones)
        local = time + self.shifts[number]
        return f"{DAYS[local // DAY]} {CLOCK[local % DAY]} {self.zones[number]}"

    def device(self, source, version):
        """Returns the attribute of a device, whose address differs from export to export, and the device for the truth."""
        key = (source.name, version)
        if key not in self.devices:
            text, known = source.device
            text = text.format(version)
            if source.device is catalog.WATCH and version.startswith("1"):
                text += catalog.CREATION
            address = self.addresses.randrange(0x280000000, 0x290000000, 16)
            attribute = f' device="{escape(f"<<HKDevice: {address:#x}>, {text}>")}"'
            self.devices[key] = attribute, {**known, "softwareVersion": version}
        return self.devices[key]

    def quantity(self, entry, value, is_entered):
        """Returns how a value is printed, and its unit. What was entered by hand has few digits in one of both units."""
        if entry.digits is None:
            value = round(value)
        elif is_entered or self.rounding == "entered":
            # Every other one was entered in the imperial unit.
            if int(value * 1e6) % 2:
                value = back(entry, round(forth(entry, value), entry.digits or 1))
            else:
                value = round(value, entry.digits)
        if self.units == "metric":
            return printed(clean(value)), entry.metric
        return printed(clean(forth(entry, value))), entry.imperial


def clean(value):
    """Takes the noise of a conversion and back off a value."""
    return float(f"{value:.14g}")


def forth(entry, value):
    return value * entry.factor[0] + entry.factor[1] if isinstance(entry.factor, tuple) else value * entry.factor


def back(entry, value):
    return (value - entry.factor[1]) / entry.factor[0] if isinstance(entry.factor, tuple) else value / entry.factor


class History:
    """All elements of an export, in the order in which they stand in the file."""

    def __init__(self, seed, records, setting):
        self.seed = seed
        self.records = records
        self.setting = setting
        self.heads = {}
        total = sum(entry.weight for entry in catalog.QUANTITIES + catalog.CATEGORIES)
        self.shares = {entry.name: max(2, round(records * entry.weight / total))
                       for entry in catalog.QUANTITIES + catalog.CATEGORIES}
        self.correlations = list(self.make_correlations())
        # The records of correlations by type, for their second copies at the top level.
        self.members = {}
        for correlation in self.correlations:
            if not correlation["nestedOnly"]:
                for member in correlation["members"]:
                    self.members.setdefault(member["entry"].name, []).append(member)

    def random(self, purpose):
        """Returns a generator that draws the same numbers however the history is printed."""
        return random.Random(f"{self.seed} {purpose}")

    def elements(self):
        """Gives all elements of the body: text, truth and copied truth."""
        order = catalog.QUANTITIES + catalog.CATEGORIES
        self.random("order").shuffle(order)
        yield self.export_date()
        yield self.me()
        tail = []
        for number, entry in enumerate(order):
            yield from self.section(entry, tail)
            if number == 0:
                yield from self.extras()
        yield from self.goals()
        for correlation in self.correlations:
            yield self.correlation(correlation)
        yield from self.workouts()
        yield from self.summaries()
        yield from self.others()
        # Apple writes records first; files that others joined do not.
        yield from tail

    # Records

    def section(self, entry, tail):
        """Gives the records of a type, roughly in the order of their creation. The last few may go to the file's tail."""
        rng = self.random(entry.name)
        count = self.shares[entry.name]
        is_quantity = isinstance(entry, catalog.Quantity)
        make = self.quantity if is_quantity else self.category
        gap = max(2, (LAST - FIRST) // count)
        created = FIRST
        members = sorted(self.members.get(entry.name, []), key=lambda member: member["created"])
        late = {}  # What is to be written later: by the number of the record behind which it comes.
        kept = []  # Records to repeat far behind.
        chance = rng.random
        for number in range(count):
            if chance() < 0.03:
                # A second device brings its records days later.
                late.setdefault(number + int(chance() * 400) + 1, []).append(("late", FIRST + number * gap))
            else:
                start = FIRST + number * gap + int(chance() * (gap - 1))
                element, created = make(entry, rng, start, created)
                yield element
                fate = chance()
                if fate < 0.004 or number < 1:
                    if has_own_identity(element):
                        pass
                    elif fate < 0.002:
                        yield element
                    else:
                        kept.append(element)
                elif fate < 0.007 and is_quantity and count > 60:
                    yield from self.versions(entry, rng, start, created, number, late)
            for what, thing in late.pop(number, ()):
                if what == "late":
                    element, created = make(entry, rng, thing + int(chance() * (gap - 1)), created)
                    yield element
                else:
                    yield thing
            while members and members[0]["created"] <= created:
                yield self.copy_of(members.pop(0))
        for number in sorted(late):
            for what, thing in late[number]:
                if what == "late":
                    element, created = make(entry, rng, thing + int(chance() * (gap - 1)), created)
                    yield element
                else:
                    yield thing
        for member in members:
            yield self.copy_of(member)
        for number, element in enumerate(kept):
            if number % 3 == 0:
                yield element
            elif number % 3 == 1:
                tail.append(element)
            else:
                yield from [element] * 8

    def fields(self, rng, start, seconds, created):
        """Draws what every record has: source, version, end and time of creation."""
        source = rng.choices(catalog.SOURCES, SOURCE_WEIGHTS)[0]
        version = source.versions[int(rng.random() * len(source.versions))]
        end = start + (int(rng.random() * seconds) if seconds else 0)
        return source, version, end, max(created, end + int(rng.random() * 90))

    def quantity(self, entry, rng, start, created):
        source, version, end, created = self.fields(rng, start, entry.seconds, created)
        value = entry.low + rng.random() ** 2 * (entry.high - entry.low)
        is_entered = source.device is None and rng.random() < 0.5
        # A variability always comes with the beats that it was computed from.
        has_extras = rng.random() < 0.14 or is_entered or entry.name == "HeartRateVariabilitySDNN"
        extras = self.extras_of(rng, entry, source, start) if has_extras else None
        if is_entered:
            extras["metadata"].insert(0, ("HKWasUserEntered", "1"))
        text, unit = self.setting.quantity(entry, value, is_entered)
        element = self.record(catalog.QUANTITY + entry.name, source, version, unit, created, start, end, text,
                              f"{float(text)!r}", extras, int(rng.random() * 300))
        return element, created

    def category(self, entry, rng, start, created):
        source, version, end, created = self.fields(rng, start, entry.seconds, created)
        name = rng.choice(list(entry.values))
        extras = self.extras_of(rng, entry, source, start) if rng.random() < 0.2 else None
        element = self.record(catalog.CATEGORY + entry.name, source, version, None, created, start, end, name,
                              str(entry.values[name]), extras, int(rng.random() * 300))
        return element, created

    def extras_of(self, rng, entry, source, start):
        """Draws what stands within a record."""
        extras = {"metadata": [], "beats": []}
        if entry.name == "HeartRateVariabilitySDNN":
            clock = catalog.LOCALES[self.setting.locale][1]
            for beat in range(2 + int(rng.random() * 5)):
                second = start % 50 + beat * 0.91 + int(rng.random() * 9) / 100
                time = clock(start // 3600 % 24, start // 60 % 60, second)
                extras["beats"].append((str(50 + int(rng.random() * 40)), time))
        fate = rng.random()
        if fate < 0.45 and entry.name == "HeartRate":
            extras["metadata"].append((catalog.METADATA[0][0], rng.choice(catalog.METADATA[0][1])))
        elif fate < 0.8:
            for key, texts in rng.sample(catalog.METADATA, 1 + int(rng.random() * 3)):
                extras["metadata"].append((key, rng.choice(texts)))
        if fate > 0.9:
            extras["metadata"] += [("com.example.tag", "one"), ("com.example.tag", "two"), ("com.example.tag", "three")]
        if 0.3 < fate < 0.4:
            extras["metadata"] += [("meal", "lunch"), ("Meal", "Lunch")]
        if 0.5 < fate < 0.6:
            extras["metadata"].append(("HKTimeZone", rng.choice(catalog.TIME_ZONES)))
        if 0.7 < fate < 0.8:
            extras["metadata"].append(("HKExternalUUID", f"{rng.getrandbits(128):032X}"))
        if 0.85 < fate and source.device is not None:
            extras["metadata"].append(("HKWasUserEntered", "0"))
        if 0.1 < fate < 0.2:
            extras["metadata"] += [("HKMetadataKeySyncIdentifier", f"{entry.name} {rng.getrandbits(60):x}"),
                                   ("HKMetadataKeySyncVersion", str(1 + int(rng.random() * 5)))]
        return extras

    def versions(self, entry, rng, start, created, number, late):
        """Gives a sample with a sync identifier in several versions: only the highest one is true."""
        source = rng.choice(catalog.APPS)
        version = source.versions[-1]
        identifier = f"log/{rng.getrandbits(48):x} é"
        order = rng.choice([[1, 2, 3], [2, 3], [3, 1], [1, 10], [2, 1, 7]])
        for place, edition in enumerate(order):
            value = entry.low + rng.random() * (entry.high - entry.low)
            extras = {"metadata": [("HKMetadataKeySyncIdentifier", identifier),
                                   ("HKMetadataKeySyncVersion", str(edition))], "beats": []}
            text, unit = self.setting.quantity(entry, value, True)
            at = start + 1 + int(rng.random() * 3) * 86_400
            element = self.record(catalog.QUANTITY + entry.name, source, version, unit, created + 60 * place, at, at,
                                  text, f"{float(text)!r}", extras, 1)
            if edition != max(order):
                element = element._replace(truths=())
            if place == 0:
                yield element
            else:
                late.setdefault(number + place * (1 + int(rng.random() * 500)), []).append(("version", element))

    def record(self, name, source, version, unit, created, start, end, value, number, extras, shape, group=False,
               indent=" "):
        """Prints a record. `value` is its text in the file, or None; `number` is it in the truth, as JSON."""
        key = (name, source.name, version, unit)
        if key not in self.heads:
            self.heads[key] = self.head(name, source, version, unit)
        (head, truth) = self.heads[key]
        date = self.setting.date
        text = (f'{indent}<Record type="{head} creationDate="{date(created)}" startDate="{date(start)}"'
                f' endDate="{date(end)}"')
        if value is not None:
            text += f' value="{value}"'
        line = (f'{truth},"start":"{utc(start)}","end":"{utc(end)}","created":"{utc(created)}",'
                f'"value":{number},"group":{"true" if group else "false"}')
        if shape == 0:
            # Some writers break lines within a tag.
            text = text.replace('" ', f'"\n{indent}        ')
        if extras is None:
            text += "/>\n"
        else:
            inner, more = children(extras, indent + " ")
            text += f">\n{inner}{indent}</Record>\n" if inner else "/>\n"
            line += more
        line += "}"
        return Element("Record", text, (line,))

    def head(self, name, source, version, unit):
        """Returns the first attributes of records and the beginning of their lines of truth."""
        text = f'{name}" sourceName="{escape(source.name)}"'
        truth = {"type": name, "source": source.name, "unit": unit or "count"}
        if version is not None:
            text += f' sourceVersion="{escape(version)}"'
            truth["sourceVersion"] = version
        if source.device is not None:
            attribute, truth["device"] = self.setting.device(source, version)
            text += attribute
        if unit is not None:
            text += f' unit="{escape(unit)}"'
        return text, dumps(truth)[:-1]

    def extras(self):
        """Gives the records that only this export has."""
        entry = catalog.BY_NAME["BodyMass"]
        for number in range(self.setting.extra):
            text, unit = self.setting.quantity(entry, 71.123456 + number, False)
            at = LAST + 86_400 * (number + 1)
            yield self.record(catalog.QUANTITY + entry.name, catalog.SOURCES[6], "1.3", unit, at + 5, at, at, text,
                              f"{float(text)!r}", None, 1)

    def goals(self):
        """Gives records of a type that is neither a quantity nor a category by its name."""
        rng = self.random("goals")
        for number in range(3):
            at = FIRST + number * 40_000_000
            text = printed(7 + rng.randrange(8) / 4)
            yield self.record("HKDataTypeSleepDurationGoal", catalog.SOURCES[1], "17.0.3", "hr", at, at, at, text,
                              f"{float(text)!r}", None, 1)

    # Correlations

    def make_correlations(self):
        """Draws blood pressures and meals."""
        rng = self.random("correlations")
        count = max(3, min(CORRELATIONS[1], int(self.records * CORRELATIONS[0])))
        gap = (LAST - FIRST) // (count + 1)
        for number in range(count):
            is_meal = number % 2 == 1
            source = rng.choice(catalog.APPS)
            version = source.versions[-1]
            start = FIRST + number * gap + rng.randrange(gap // 2)
            created = start + rng.randrange(600)
            if is_meal:
                names = ["DietaryEnergyConsumed"] + rng.sample(
                    ["DietaryProtein", "DietaryCarbohydrates", "DietarySodium"], rng.randrange(1, 4))
                metadata = [("HKFoodType", rng.choice(["Banane", "Crème brûlée", "拉面", "Fish & Chips"])),
                            ("meal", "lunch"), ("Meal", "Lunch")]
            else:
                names = ["BloodPressureSystolic", "BloodPressureDiastolic"]
                metadata = [("HKWasUserEntered", "1")]
            members = []
            for name in names:
                entry = catalog.BY_NAME[name]
                text, unit = self.setting.quantity(entry, entry.low + rng.random() * (entry.high - entry.low), True)
                members.append({
                    "entry": entry, "name": catalog.QUANTITY + name, "source": source, "version": version, "unit": unit,
                    "created": created, "start": start, "text": text, "metadata": metadata,
                })
            yield {"type": "HKCorrelationTypeIdentifier" + ("Food" if is_meal else "BloodPressure"), "members": members,
                   "nestedOnly": rng.random() < 0.3, "metadata": metadata}

    def member(self, member, indent):
        extras = {"metadata": member["metadata"], "beats": []}
        at = member["start"]
        return self.record(member["name"], member["source"], member["version"], member["unit"], member["created"], at, at,
                           member["text"], f"{float(member['text'])!r}", extras, 1, group=True, indent=indent)

    def copy_of(self, member):
        element = self.member(member, " ")
        return Element("Record", element.text, (), element.truths)

    def correlation(self, correlation):
        first = correlation["members"][0]
        head, _ = self.heads.setdefault(
            (correlation["type"], first["source"].name, first["version"], None),
            self.head(correlation["type"], first["source"], first["version"], None))
        date = self.setting.date
        at = date(first["start"])
        text = (f' <Correlation type="{head} creationDate="{date(first["created"])}" startDate="{at}" endDate="{at}">\n'
                f'{entries(correlation["metadata"], "  ")}')
        truths = []
        for member in correlation["members"]:
            element = self.member(member, "  ")
            text += element.text
            truths += element.truths
        return Element("Correlation", text + " </Correlation>\n", tuple(truths))

    # Workouts

    def workouts(self):
        rng = self.random("workouts")
        count = max(3, min(WORKOUTS[1], int(self.records * WORKOUTS[0])))
        gap = (LAST - FIRST) // (count + 1)
        for number in range(count):
            start = FIRST + number * gap + rng.randrange(gap // 2)
            yield self.workout(rng, start, is_old=number * 2 < count, number=number)

    def workout(self, rng, start, is_old, number):
        """Prints a workout: an old one has its totals as attributes, a new one as statistics."""
        setting = self.setting
        date = setting.date
        source = rng.choice(catalog.WATCHES + catalog.APPS[:2])
        version = source.versions[-1]
        activity = rng.choice(catalog.ACTIVITIES)
        seconds = rng.randrange(600, 7200)
        end, created = start + seconds, start + seconds + rng.randrange(60)
        duration = printed((seconds - rng.randrange(300)) / 60)
        energy, energy_unit = setting.quantity(catalog.BY_NAME["ActiveEnergyBurned"], 100 + rng.random() * 500, False)
        entry = catalog.BY_NAME["DistanceSwimming" if activity == "Swimming" else "DistanceWalkingRunning"]
        distance, distance_unit = setting.quantity(entry, entry.high * (1 + 5 * rng.random()), False)
        truth = {"type": "HKWorkoutTypeIdentifier", "source": source.name, "unit": "min", "start": utc(start),
                 "end": utc(end), "created": utc(created), "value": float(duration), "group": False}
        text = f' <Workout workoutActivityType="HKWorkoutActivityType{activity}" duration="{duration}" durationUnit="min"'
        if is_old:
            text += (f' totalDistance="{distance}" totalDistanceUnit="{distance_unit}" totalEnergyBurned="{energy}"'
                     f' totalEnergyBurnedUnit="{energy_unit}"')
        text += f' sourceName="{escape(source.name)}"'
        if version is not None:
            text += f' sourceVersion="{escape(version)}"'
            truth["sourceVersion"] = version
        if source.device is not None:
            attribute, truth["device"] = setting.device(source, version)
            text += attribute
        text += f' creationDate="{date(created)}" startDate="{date(start)}" endDate="{date(end)}">\n'
        workout = {
            "activity": activity[0].lower() + activity[1:], "events": [], "statistics": [], "activities": [],
            "energy": {"value": float(energy), "unit": energy_unit},
            "distance": {"value": float(distance), "unit": distance_unit}}
        metadata = [("HKIndoorWorkout", "0"), ("HKAverageMETs", "5.2 kcal/hr·kg"), ("HKWeatherTemperature", "68 degF")]
        metadata = rng.sample(metadata, rng.randrange(4)) + [("HKTimeZone", rng.choice(catalog.TIME_ZONES))]
        text += entries(metadata, "  ")
        for _ in range(rng.randrange(5)):
            text += self.event(rng, start, seconds, "  ", workout["events"])
        if not is_old:
            text += self.activities(rng, activity, start, end, workout["activities"])
            for name, amounts in ((catalog.QUANTITY + "ActiveEnergyBurned", (("sum", energy),)),
                                  (catalog.QUANTITY + entry.name, (("sum", distance),)),
                                  (catalog.QUANTITY + "HeartRate", (("average", printed(100 + rng.random() * 50)),
                                                                    ("minimum", "71"), ("maximum", "182")))):
                unit = {"ActiveEnergyBurned": energy_unit, "HeartRate": "count/min"}.get(
                    name[len(catalog.QUANTITY):], distance_unit)
                text += statistics(name, date(start), date(end), amounts, unit, "  ")
                workout["statistics"].append({
                    "type": name, "start": utc(start), "end": utc(end),
                    **{kind: {"value": float(amount), "unit": unit} for kind, amount in amounts}})
            text += (f'  <WorkoutRoute sourceName="{escape(source.name)}" creationDate="{date(created)}"'
                     f' startDate="{date(start)}" endDate="{date(end)}">\n'
                     '   <MetadataEntry key="HKMetadataKeySyncVersion" value="2"/>\n'
                     f'   <FileReference path="/workout-routes/route_{number}.gpx"/>\n  </WorkoutRoute>\n')
        truth["workout"] = workout
        line = dumps(truth)[:-1] + children({"metadata": metadata, "beats": []}, "")[1] + "}"
        return Element("Workout", text + " </Workout>\n", (line,))

    def event(self, rng, start, seconds, indent, events):
        kind = rng.choice(list(catalog.EVENTS))
        at = start + rng.randrange(seconds // 2)
        lasts = rng.choice([0, 30, 90, 180]) if kind in ("Lap", "Segment") else 0
        length = f' duration="{printed(lasts / 60)}" durationUnit="min"' if lasts else ""
        events.append({"kind": catalog.EVENTS[kind], "start": utc(at), "end": utc(at + lasts)})
        text = f'{indent}<WorkoutEvent type="HKWorkoutEventType{kind}" date="{self.setting.date(at)}"{length}'
        if kind == "Lap" and rng.random() < 0.5:
            return f'{text}>\n{indent} <MetadataEntry key="HKLapLength" value="25 m"/>\n{indent}</WorkoutEvent>\n'
        return text + "/>\n"

    def activities(self, rng, activity, start, end, activities):
        """Prints the activities within a workout, each with events, statistics and metadata of its own."""
        if rng.random() < 0.5:
            return ""
        text = ""
        middle = (start + end) // 2
        date = self.setting.date
        for first, last in ((start, middle), (middle, end)):
            raw = f"{rng.getrandbits(128):032X}"
            name = "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))
            minutes = printed((last - first) / 60)
            text += (f'  <WorkoutActivity uuid="{name}" startDate="{date(first)}" endDate="{date(last)}"'
                     f' duration="{minutes}" durationUnit="min" workoutActivityType="HKWorkoutActivityType{activity}">\n')
            inner = {"id": name, "activity": activity[0].lower() + activity[1:], "start": utc(first), "end": utc(last),
                     "events": [], "statistics": []}
            text += self.event(rng, first, last - first, "   ", inner["events"])
            amount = printed(80 + rng.random() * 40)
            text += statistics(catalog.QUANTITY + "HeartRate", date(first), date(last), (("average", amount),), "count/min",
                               "   ")
            inner["statistics"].append({"type": catalog.QUANTITY + "HeartRate", "start": utc(first), "end": utc(last),
                                        "average": {"value": float(amount), "unit": "count/min"}})
            text += '   <MetadataEntry key="HKIndoorWorkout" value="1"/>\n  </WorkoutActivity>\n'
            activities.append(inner)
        return text

    # What is no sample

    def export_date(self):
        return Element("ExportDate", f' <ExportDate value="{self.setting.date(LAST + 5_000_000 * self.setting.export)}"/>\n')

    def me(self):
        return Element("Me", (
            ' <Me HKCharacteristicTypeIdentifierDateOfBirth="1981-03-04"'
            ' HKCharacteristicTypeIdentifierBiologicalSex="HKBiologicalSexFemale"'
            ' HKCharacteristicTypeIdentifierBloodType="HKBloodTypeNotSet"'
            ' HKCharacteristicTypeIdentifierFitzpatrickSkinType="HKFitzpatrickSkinTypeNotSet"'
            ' HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse="None"/>\n'))

    def summaries(self):
        rng = self.random("summaries")
        unit = "kJ" if self.setting.units == "metric" else "Cal"
        for number in range(max(3, min(3_000, self.records // 300))):
            energy = (300 + rng.random() * 500) * (4.184 if unit == "kJ" else 1)
            yield Element("ActivitySummary", (
                f' <ActivitySummary dateComponents="{DAYS[FIRST // DAY + number]}" activeEnergyBurned="{printed(energy)}"'
                f' activeEnergyBurnedGoal="{printed(400 * (4.184 if unit == "kJ" else 1))}"'
                f' activeEnergyBurnedUnit="{unit}" appleMoveTime="0" appleMoveTimeGoal="0"'
                f' appleExerciseTime="{rng.randrange(90)}" appleExerciseTimeGoal="30"'
                f' appleStandHours="{rng.randrange(18)}" appleStandHoursGoal="12"/>\n'))

    def others(self):
        """Gives elements that no import turns into samples of a known kind."""
        date = self.setting.date
        rng = self.random("others")
        for number in range(2):
            at = date(FIRST + 1_000_000 * number)
            yield Element("ClinicalRecord", (
                f' <ClinicalRecord type="HKClinicalTypeIdentifierAllergyRecord" identifier="A{number}"'
                ' sourceName="Klinik &amp; Søn" sourceURL="https://example.org/fhir?a=1&amp;b=2" fhirVersion="4.0.1"'
                f' receivedDate="{at}" resourceFilePath="/clinical-records/AllergyIntolerance-{number}.json"/>\n'))
            points = "".join(
                f'  <SensitivityPoint frequencyValue="{hertz}" frequencyUnit="Hz" leftEarValue="{rng.randrange(40)}"'
                f' leftEarUnit="dBHL" rightEarValue="{rng.randrange(40)}" rightEarUnit="dBHL"/>\n'
                for hertz in (250, 500, 1000))
            yield Element("Audiogram", (
                ' <Audiogram type="HKDataTypeIdentifierAudiogram" sourceName="Mimi" sourceVersion="5"'
                f' creationDate="{at}" startDate="{at}" endDate="{at}">\n{points} </Audiogram>\n'))
        at = date(FIRST)
        yield Element("VisionPrescription", (
            f' <VisionPrescription type="HKVisionPrescriptionTypeGlasses" dateIssued="{at}" expirationDate="{at}"'
            ' brand="Brille">\n  <RightEye sphere="-1.25" sphereUnit="D" cylinder="0.5" cylinderUnit="D" axis="90"'
            ' axisUnit="deg"/>\n  <LeftEye sphere="-1" sphereUnit="D"/>\n </VisionPrescription>\n'))


SOURCE_WEIGHTS = [source.weight for source in catalog.SOURCES]
# Metadata that an importer turns into fields of a sample.
FIELDS = {"HKWasUserEntered", "HKTimeZone", "HKMetadataKeySyncIdentifier", "HKMetadataKeySyncVersion"}


def has_own_identity(element):
    """Whether a second copy of an element would be the same sample, and no twin."""
    return "HKMetadataKeySyncIdentifier" in element.text or "HKExternalUUID" in element.text


def entries(metadata, indent):
    return "".join(f'{indent}<MetadataEntry key="{escape(key)}" value="{escape(text)}"/>\n' for key, text in metadata)


def statistics(name, start, end, amounts, unit, indent):
    values = "".join(f' {kind}="{amount}"' for kind, amount in amounts)
    return f'{indent}<WorkoutStatistics type="{name}" startDate="{start}" endDate="{end}"{values} unit="{unit}"/>\n'


def children(extras, indent):
    """Returns what stands within a record, and the rest of its line of truth."""
    text = entries(extras["metadata"], indent)
    truth = {}
    if extras["beats"]:
        beats = "".join(f'{indent} <InstantaneousBeatsPerMinute bpm="{bpm}" time="{time}"/>\n'
                        for bpm, time in extras["beats"])
        text += f"{indent}<HeartRateVariabilityMetadataList>\n{beats}{indent}</HeartRateVariabilityMetadataList>\n"
        truth["beats"] = extras["beats"]
    for key, value in extras["metadata"]:
        if key == "HKWasUserEntered":
            truth["userEntered"] = value == "1"
        elif key == "HKTimeZone":
            truth["timeZone"] = value
        elif key == "HKMetadataKeySyncIdentifier":
            truth["syncIdentifier"] = value
        elif key == "HKMetadataKeySyncVersion":
            truth["syncVersion"] = int(value)
    rest = [pair for pair in extras["metadata"] if pair[0] not in FIELDS]
    if rest:
        truth["metadata"] = rest
    return text, "," + dumps(truth)[1:-1] if truth else ""


# The document

TYPES = """<!ATTLIST HealthData
  locale CDATA #REQUIRED
>
<!ELEMENT ExportDate EMPTY>
<!ATTLIST ExportDate
  value CDATA #REQUIRED
>
<!ELEMENT Record ((MetadataEntry|HeartRateVariabilityMetadataList)*)>
<!ATTLIST Record
  type          CDATA #REQUIRED
  unit          CDATA #IMPLIED
  value         CDATA #IMPLIED
  sourceName    CDATA #REQUIRED
  startDate     CDATA #REQUIRED
  endDate       CDATA #REQUIRED
>
<!-- Note: Any Records that appear as children of a correlation also appear as top-level records in this document. -->
<!ELEMENT MetadataEntry EMPTY>
<!ATTLIST MetadataEntry
  key   CDATA #REQUIRED
  value CDATA #REQUIRED
"""
GOOD = TYPES + ">\n"
# As iOS 16 wrote it: a list that is not closed, and a stray sign behind another.
BROKEN = TYPES + """<!ATTLIST WorkoutEvent
  type CDATA #REQUIRED
>
  duration CDATA #IMPLIED>
>
<!ELEMENT Audiogram (SensitivityPoint*>
"""


def head(setting):
    """Returns everything before the first element of the body."""
    text = '<?xml version="1.0" encoding="UTF-8"?>\n'
    if setting.dtd != "none":
        text += ("<!DOCTYPE HealthData [\n<!-- HealthKit Export Version: 14 -->\n<!ELEMENT HealthData (ExportDate,Me,("
                 "Record|Correlation|Workout|ActivitySummary|ClinicalRecord|Audiogram|VisionPrescription)*)>\n"
                 + (GOOD if setting.dtd == "good" else BROKEN) + "]>\n")
    return text + f'<HealthData locale="{setting.locale}">\n'


TAIL = "</HealthData>\n"


def write_body(history, write, truth=None):
    """Writes the document, and the lines of truth. Returns the number of samples and of bytes."""
    samples = size = 0
    pieces, lines = [head(history.setting)], []
    for element in history.elements():
        pieces.append(element.text)
        samples += len(element.truths)
        if truth:
            lines += element.truths
        if len(pieces) > 2_000:
            data = "".join(pieces).encode()
            size += len(data)
            write(data)
            pieces = []
            if truth and lines:
                truth.write("\n".join(lines) + "\n")
                lines = []
    data = ("".join(pieces) + TAIL).encode()
    write(data)
    if truth and lines:
        truth.write("\n".join(lines) + "\n")
    return samples, size + len(data)


class Unseekable:
    """Makes zipfile write sizes behind the data, as Apple does."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


# Files beside the main one. The clinical document of some exports is broken.
COMPANIONS = {
    "export_cda.xml": b'<?xml version="1.0"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3">\n <id extension="unclosed>\n',
    "workout-routes/route_0.gpx": b'<?xml version="1.0"?>\n<gpx version="1.1"><trk><name>Route</name></trk></gpx>\n',
    "electrocardiograms/ecg_2022-01-01.csv": "Name,Anna\nUnit,µV\n\n12.5\n13\n".encode(),
    "clinical-records/AllergyIntolerance-0.json": b'{"resourceType":"AllergyIntolerance","id":"0"}\n',
}
# AppleDouble entries hold no XML, whatever their names say.
DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        " + b"\x00" * 40 + b"<HealthData"


def write_zip(path, body, main="export.xml", deflates=True, companions=COMPANIONS):
    """Writes an archive; `body` writes the main file with the function that it is given. Returns what it returns."""
    method = zipfile.ZIP_DEFLATED if deflates else zipfile.ZIP_STORED
    with open(path, "wb") as file, zipfile.ZipFile(Unseekable(file), "w", method) as archive:
        folder = "apple_health_export/"
        archive.writestr("__MACOSX/._apple_health_export", DOUBLE)
        archive.writestr(f"__MACOSX/{folder}._{main}", DOUBLE)
        for name, data in companions.items():
            archive.writestr(folder + name, data)
        with archive.open(folder + main, "w", force_zip64=True) as entry:
            result = body(entry.write)
        archive.writestr(folder + "._" + main, DOUBLE)
    return result


def write_folder(path, body, main="export.xml"):
    """Writes what the archive unpacks to."""
    path = Path(path)
    for name, data in {**COMPANIONS, "._" + main: DOUBLE}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    with open(path / main, "wb") as file:
        return body(file.write)


def write(history, out, truth=None, main="export.xml", deflates=True):
    """Writes a history to an XML file, an archive or a folder, by the name of it. Returns samples and bytes."""
    lines = open(truth, "w", encoding="utf-8") if truth else None
    try:
        def body(write):
            return write_body(history, write, lines)

        if str(out).endswith(".zip"):
            return write_zip(out, body, main, deflates)
        if str(out).endswith(".xml"):
            with open(out, "wb") as file:
                return body(file.write)
        return write_folder(out, body, main)
    finally:
        if lines:
            lines.close()


def bytes_of(text):
    """Reads a size such as 1g, 250m or 4096."""
    scale = {"k": 10**3, "m": 10**6, "g": 10**9}.get(text[-1:].lower())
    return int(float(text[:-1]) * scale) if scale else int(text)


def records_of(size, seed, setting):
    """Returns how many records make a file of about so many bytes."""
    def measure(records):
        return write_body(History(seed, records, setting), lambda data: None)[1]

    trial = 4_000
    first = measure(trial)
    each = (measure(trial * 3) - first) / (trial * 2)
    return max(1, round((size - first) / each) + trial)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=int, default=5_000)
    parser.add_argument("--size", type=bytes_of)
    parser.add_argument("--out", required=True)
    parser.add_argument("--truth")
    parser.add_argument("--units", choices=["metric", "imperial"], default="metric")
    parser.add_argument("--export", type=int, default=1)
    parser.add_argument("--extra", type=int, default=0)
    parser.add_argument("--offset", default="+0100", choices=[*catalog.ZONES, "mixed"])
    parser.add_argument("--locale", choices=list(catalog.LOCALES))
    parser.add_argument("--dtd", choices=["good", "broken", "none"], default="good")
    parser.add_argument("--rounding", choices=["both", "entered"], default="both")
    parser.add_argument("--main-name", default="export.xml")
    options = parser.parse_args()
    setting = Setting(options.units, options.export, options.offset, options.locale, options.dtd, options.rounding,
                      options.extra)
    records = records_of(options.size, options.seed, setting) if options.size else options.records
    samples, size = write(History(options.seed, records, setting), options.out, options.truth, options.main_name)
    print(f"seed {options.seed}: {samples} samples, {size} bytes of XML in {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
