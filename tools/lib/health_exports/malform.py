"""Makes malformed variants of a small export, and says what must survive each.

usage: malform.py --seed N --out FOLDER [--limit N]     writes variants and their truth as files, to look at

Records that a malformation does not touch must be there exactly, always. The touched element may be mended, with its
values right, or put into quarantine; it must never bring a value or a time that does not stand in the bytes of the file.
"""
import argparse
import html
import json
import random
import re
from collections import namedtuple
from functools import lru_cache
from pathlib import Path

import catalog
import generate
from comparison import core, describe, detail_problem, matched, source, strings, time, unit

TAG = re.compile(rb"<[^<>]*>")
ATTRIBUTE = re.compile(rb'(\s)([\w]+)="([^"]*)"')
# Attributes that decide what a record is, and those that texts stand in.
CHOSEN = (b"sourceName", b"device", b"value", b"startDate", b"endDate", b"unit", b"key", b"type", b"bpm", b"date", b"sum")

# A part of the base that is touched as a whole: its place in the base, and the numbers of its truths. A correlation is
# a part without its records, each of which is one of its own.
Part = namedtuple("Part", "start end truths isCopy isCorrelation correlation")


class Variant:
    """A malformed file: its bytes, or the range of the base that others replace."""

    def __init__(self, name, data=None, touched=(), rule="right", place=None, codes=(0, 5), is_noticed=False,
                 refused=False, region=b"", edit=None):
        self.name = name
        self.whole = data
        self.edit = edit
        # The numbers of touched parts of the base.
        self.touched = touched
        # "right": a touched record has its values or is not there. "bytes": its values stand in `region`.
        self.rule = rule
        self.place = place
        self.codes = codes
        # Whether something must be counted as mended or quarantined.
        self.is_noticed = is_noticed
        self.refused = refused
        self.region = region

    @property
    def data(self):
        if self.edit is None:
            return self.whole
        base, start, end, new = self.edit
        return base[:start] + new + base[end:]


class Base:
    """A small good file, and where each of its elements is."""

    def __init__(self, seed, most=44):
        setting = generate.Setting("metric", locale="de_DE")
        history = generate.History(seed, 60, setting)
        chosen = choose(list(history.elements()), most, random.Random(f"{seed} malform"))
        self.head = generate.head(setting).encode()
        self.tail = generate.TAIL.encode()
        self.truths = []
        self.parts = []
        self.elements = []  # Start and end of each top-level element, without white space.
        data = self.head
        known = {}
        for element in chosen:
            text = element.text.encode()
            start = len(data) + 1
            numbers = []
            for line in element.truths + element.copies:
                if line not in known:
                    known[line] = len(self.truths)
                    self.truths.append(json.loads(line))
                numbers.append(known[line])
            self.add_parts(element, text, start, numbers)
            self.elements.append((start, start + len(text.strip())))
            data += text
        self.end = len(data)
        self.data = data + self.tail

    def add_parts(self, element, text, start, numbers):
        if element.kind != "Correlation":
            self.parts.append(Part(start, start + len(text.strip()), tuple(numbers), bool(element.copies), False, None))
            return
        own = len(self.parts)
        self.parts.append(Part(start, start + len(text.strip()), (), False, True, own))
        members = re.finditer(rb"  <Record .*?(?:</Record>|/>\n(?=  <Record| </C))", text, re.S)
        for number, member in zip(numbers, members):
            self.parts.append(Part(start - 1 + member.start() + 2, start - 1 + member.end(), (number,), False, False, own))

    def touched(self, start, end):
        """Returns the parts that a range of bytes lies in. A correlation counts if a record within it does."""
        found = {number for number, part in enumerate(self.parts) if part.start < end and start < part.end}
        members = {number for number in found if self.parts[number].correlation not in (None, number)}
        return tuple(sorted(found | {self.parts[number].correlation for number in members}))

    def expectation(self, touched):
        """Returns the truths that must be there, the numbers among them whose group does not matter, the truths that may
        be there, and those that must be there of which a second copy is touched."""
        whole, grouped, reachable = set(), set(), set()
        broken = {number for number in touched if self.parts[number].isCorrelation}
        for number, part in enumerate(self.parts):
            if number in touched and not part.isCorrelation:
                reachable.update(part.truths)
                continue
            whole.update(part.truths)
            if part.correlation is not None and part.correlation not in broken:
                grouped.update(part.truths)
        must = [self.truths[number] for number in sorted(whole)]
        relaxed = {place for place, number in enumerate(sorted(whole))
                   if self.truths[number].get("group") and number not in grouped}
        may, twice = ([self.truths[number] for number in sorted(some)] for some in (reachable - whole, reachable & whole))
        return must, relaxed, may, twice


def choose(elements, most, rng):
    """Takes some dozens of elements, of each kind and form, and no twins."""
    taken, seen = [], set()
    kinds = {}
    for element in elements:
        if element.text in seen or element.kind == "Record" and not element.truths and not element.copies:
            continue
        seen.add(element.text)
        form = (element.kind, "Metadata" in element.text, "Beats" in element.text, "unit=" in element.text,
                "value=" in element.text.split(">")[0], "\n  " in element.text.split(">")[0], "WorkoutActivity " in element.text,
                "SyncId" in element.text, bool(element.copies))
        kinds.setdefault(form, []).append(element)
    for form, members in kinds.items():
        if form[0] == "Correlation" or form[-1]:
            taken += members
        else:
            taken += rng.sample(members, min(2, len(members)))
    rest = [element for element in elements if element.text in seen and element not in taken and element.kind == "Record"
            and element.truths]
    unique = list({element.text: element for element in rest}.values())
    taken += rng.sample(unique, max(0, min(len(unique), most - len(taken))))
    places = {}
    for place, element in enumerate(elements):
        places.setdefault(element.text, place)
    return sorted(taken, key=lambda element: places[element.text])


def variants(base, seed, bytes_a_tag=3):
    """Gives all variants. There are some thousands, and one for each byte at which the file may be cut."""
    rng = random.Random(f"{seed} variants")
    yield from legal(base)
    yield from whole_file(base, rng)
    for start, end in base.elements:
        for tag in TAG.finditer(base.data, start, end):
            yield from in_tag(base, rng, tag.start(), tag.end())
            yield from damaged(base, rng, tag.start(), tag.end(), bytes_a_tag)
    for start, end in base.elements:
        for junk in (b"\n??? junk & junk\n", b"\n \x00\x01\xff\xfe\n", b"\n <<< > / <\n"):
            yield edited(base, "junk between elements", end, end, junk, touched=())
    for place in range(len(base.data)):
        yield cut(base, place)


def edited(base, name, start, end, new, touched=None, **options):
    """Replaces a range of the base."""
    if touched is None:
        touched = base.touched(start, max(end, start + 1))
    region = b""
    if touched:
        first = min(base.parts[number].start for number in touched)
        last = max(base.parts[number].end for number in touched)
        region = base.data[first:start] + new + base.data[end:last]
    return Variant(name, None, touched, place=start, region=region, edit=(base.data, start, end, new), **options)


# Files that are well-formed, however odd: nothing of them may be lost.


def legal(base):
    body = base.data[len(base.head):base.end]
    head, tail = base.head, base.tail
    root = head[head.rfind(b"<HealthData"):]

    def variant(name, data):
        return Variant("legal: " + name, data, codes=(0,))

    yield variant("as it is", base.data)
    yield variant("lines end in CR LF", base.data.replace(b"\n", b"\r\n"))
    yield variant("with a byte order mark", b"\xef\xbb\xbf" + base.data)
    yield variant("without a declaration", head[head.index(b"<!DOCTYPE"):] + body + tail)
    yield variant("without a document type", head[:head.index(b"<!DOCTYPE")] + root + body + tail)
    yield variant("without declaration and document type", root + body + tail)
    yield variant("on one line", head + re.sub(rb">\n *<", b"><", body) + tail)
    yield variant("without indent", head + re.sub(rb"\n +<", b"\n<", body) + tail)
    yield variant("with tabs", head + re.sub(rb"\n +<", b"\n\t<", body) + tail)
    yield variant("with blank lines", head + body.replace(b"\n", b"\n\n") + tail)
    yield variant("single quotes", head + re.sub(rb'="([^"]*)"', rb"='\1'", body) + tail)
    yield variant("spaces around the equals sign", head + ATTRIBUTE.sub(rb'\1\2 = "\3"', body) + tail)
    yield variant("a line for each attribute", head + ATTRIBUTE.sub(rb'\n     \2="\3"', body) + tail)
    yield variant("space before the end of tags", head + body.replace(b"/>", b" />") + tail)
    yield variant("attributes in reverse order", head + TAG.sub(reversed_tag, body) + tail)
    yield variant("closing tags instead of empty ones", head + re.sub(
        rb"<(\w+)([^<>]*)/>", rb"<\1\2></\1>", body) + tail)
    yield variant("comments between elements", head + re.sub(
        rb"(?m)^ <", b" <!-- <Record type=\"no\" & -->\n <", body) + tail)
    yield variant("instructions between elements", head + re.sub(rb"(?m)^ <", b" <?note x > y ?>\n <", body) + tail)
    yield variant("digits as references", head + re.sub(rb' value="1', b' value="&#49;', body) + tail)
    yield variant("letters as hexadecimal references", head + body.replace(b'sourceName="A', b'sourceName="&#x41;') + tail)
    yield variant("no white space behind the root", base.data.rstrip())


def reversed_tag(match):
    text = match[0]
    attributes = ATTRIBUTE.findall(text)
    if len(attributes) < 2 or text.startswith(b"</"):
        return text
    end = b"/>" if text.endswith(b"/>") else b">"
    name = re.match(rb"<\w+", text)[0]
    return name + b"".join(b' %s="%s"' % (attribute[1], attribute[2]) for attribute in reversed(attributes)) + end


# What is wrong outside of elements.


def whole_file(base, rng):
    body = base.data[len(base.head):]
    root = base.head[base.head.rfind(b"<HealthData"):]
    declaration = b'<?xml version="1.0" encoding="UTF-8"?>\n'
    broken = generate.BROKEN.encode()
    for name, types in (
        ("as of iOS 16", b"<!DOCTYPE HealthData [\n" + broken + b"]>\n"),
        ("a list that is never closed", b"<!DOCTYPE HealthData [\n<!ATTLIST Record\n type CDATA #REQUIRED\n]>\n"),
        ("a stray sign", b"<!DOCTYPE HealthData [\n<!ELEMENT Me EMPTY>>\n>\n]>\n"),
        ("it is never closed", b"<!DOCTYPE HealthData [\n<!ELEMENT Me EMPTY>\n"),
        ("an open quote", b"<!DOCTYPE HealthData [\n<!ATTLIST Me a CDATA \"x>\n]>\n"),
        ("the end of it stands twice", b"<!DOCTYPE HealthData [\n]>\n]>\n"),
        ("elements in a comment", b"<!DOCTYPE HealthData [\n<!-- a \"Record\" & 'x' > -->\n]>\n"),
    ):
        yield Variant("document type: " + name, declaration + types + root + body, codes=(0,))
    laughs = b"".join(b'<!ENTITY a%d "%s">\n' % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 10))
    for name, types in (
        ("billion laughs", b'<!DOCTYPE HealthData [\n<!ENTITY a0 "ha">\n' + laughs + b"]>\n"),
        ("external entity", b'<!DOCTYPE HealthData [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'),
        ("parameter entity", b'<!DOCTYPE HealthData [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]>\n'),
        ("entity in a long document type",
         b"<!DOCTYPE HealthData [\n" + b"<!ELEMENT Me EMPTY>\n" * 4000 + b'<!ENTITY b "c">]>\n'),
    ):
        use = body.replace(b'sourceName="', b'sourceName="&a9;', 1)
        yield Variant("entities: " + name, declaration + types + root + use, codes=(1,), refused=True)
    for name, junk in (("text", b"\n--- end of file ---\n"), ("zeros", b"\x00" * 5000), ("random bytes", rng.randbytes(3000)),
                       ("open tags", b"<Foo><Bar x=\"" * 50), ("a line feed", b"\n\n\n")):
        yield Variant("behind the root: " + name, base.data + junk)


# What is wrong within a tag.


def in_tag(base, rng, start, end):
    text = base.data[start:end]
    # What does not become a sample need not be read, so defects in it need not be seen.
    is_noticed = text.startswith((b"<Record ", b"<Workout "))
    attributes = [(match.group(2), start + match.start(2), start + match.start(3), start + match.end(3))
                  for match in ATTRIBUTE.finditer(text)]
    for name, begin, first, last in attributes:
        if name not in CHOSEN:
            continue
        label = f" in {name.decode()}"
        middle = (first + last) // 2
        # Never within a character or a reference: both are other malformations.
        while middle > first and (base.data[middle] & 0xC0 == 0x80 or b"&" in base.data[max(first, middle - 6):middle]):
            middle -= 1
        for what, bad in (("control character", bytes([rng.choice([0x0B, 0x00, 0x01, 0x1F])])), ("0x0B", b"\x0b"),
                          ("bare ampersand", b"&"), ("raw less-than sign", b"<"),
                          ("invalid UTF-8", rng.choice([b"\xff", b"\xe2\x80", b"\xc0\xaf", b"\xed\xa0\x80"])),
                          ("reference to a control character", b"&#11;"),
                          ("reference to surrogates", rng.choice([b"&#xD83D;&#xDE00;", b"&#55357;"]))):
            yield edited(base, what + label, middle, middle, bad, is_noticed=is_noticed)
        yield edited(base, "missing closing quote" + label, last, last + 1, b"", is_noticed=is_noticed)
        yield edited(base, "missing opening quote" + label, first - 1, first, b"", is_noticed=is_noticed)
        if re.search(rb"[a-z][A-Z]", name):
            split = begin + re.search(rb"[a-z](?=[A-Z])", name).end()
            yield edited(base, "space in the name of an attribute" + label, split, split, b" ", is_noticed=is_noticed)
        yield edited(base, "attribute twice" + label, last + 1, last + 1, b" " + base.data[begin:last + 1], is_noticed=is_noticed)
        if name == b"endDate":
            yield edited(base, "the end as a second start", begin, begin + 3, b"start", is_noticed=is_noticed)
    mark = 2 if text.endswith(b"/>") else 1
    yield edited(base, "missing end of tag", end - mark, end, b"", is_noticed=is_noticed)
    if mark == 2:
        yield edited(base, "missing slash", end - 2, end - 1, b"", is_noticed=is_noticed)
    if text.startswith(b"</"):
        yield edited(base, "missing closing tag", start, end, b"")
    yield edited(base, "missing start of tag", start, start + 1, b"", is_noticed=is_noticed)


def damaged(base, rng, start, end, count):
    """Bytes that were lost, added or exchanged. Values may become others by it: those that stand there then."""
    data = base.data
    for _ in range(count):
        place = rng.randrange(start, end)
        yield edited(base, "one byte deleted", place, place + 1, b"", rule="bytes")
        last = min(end, place + rng.randrange(2, 30))
        yield edited(base, "bytes deleted", place, last, b"", rule="bytes")
        new = rng.choice([rng.randbytes(rng.randrange(1, 5)), b'"', b"'", b"<", b">", b"/", b"=", b"&", b" ", b"\n", b"0"])
        yield edited(base, f"bytes inserted ({new!r})", place, place, new, rule="bytes",
                     touched=base.touched(place, place + 1))
        if place + 1 < end and data[place] != data[place + 1]:
            yield edited(base, "two bytes swapped", place, place + 2, bytes([data[place + 1], data[place]]), rule="bytes")
        other = rng.randrange(start, end)
        first, second = min(place, other), max(place, other)
        if data[first] != data[second]:
            new = data[second:second + 1] + data[first + 1:second] + data[first:first + 1]
            yield edited(base, "two distant bytes swapped", first, second + 1, new, rule="bytes")


def cut(base, place):
    """The file ends early: all elements that are whole before that must be there."""
    touched = tuple(number for number, part in enumerate(base.parts) if part.end > place)
    if place <= base.data.rfind(b"<HealthData") or b">" not in base.data[base.data.rfind(b"<HealthData"):place]:
        codes = (1, 5)
    elif place >= len(base.data.rstrip()) - 1:
        codes = (0, 5)
    else:
        codes = (5,)
    return Variant("cut off", None, touched, place=place, codes=codes, edit=(base.data, place, len(base.data), b""))


# The judge


def cleaned(text):
    """A text without what no text may hold: how that is left out or replaced is up to the importer."""
    return re.sub("[\x00-\x1f\ufffd\ud800-\udfff😀&<]", "", text or "")


def judge(base, variant, samples, is_counted):
    """Returns what is wrong with the samples that were taken from a variant, and whether a touched record is missing.

    `is_counted` says whether the importer noticed the defect."""
    if variant.refused:
        return (["something was taken from a file that declares entities"] if samples else []), False
    must, relaxed, may, twice = base.expectation(variant.touched)
    # Where both copies of a record read well, nobody can tell which one is damaged: either is right.
    unclear = [] if is_counted or variant.rule != "bytes" else [truth for truth in twice if truth in must]
    loose = [must[place] for place in relaxed]
    clear = [(truth, place in relaxed) for place, truth in enumerate(must) if truth not in unclear]
    problems, rest = matched(
        [truth for truth, _ in clear], samples, {place for place, (_, is_loose) in enumerate(clear) if is_loose})
    for truth in unclear:
        found = next((sample for sample in rest if core(sample) == core(truth)
                      and is_of_copies(truth, sample, variant.region, truth in loose)), None)
        if found is None:
            problems.append(f"missing: {describe(core(truth))}")
        else:
            rest.remove(found)
    left = list(may)
    strange = []
    # A second copy whose source has another name now is another record for every importer.
    renamed = list(twice)
    for sample in rest:
        found = next((truth for truth in left if is_right(truth, sample)), None)
        if found is not None:
            left.remove(found)
        elif (copied := next((truth for truth in renamed if core(truth) != core(sample) and is_right(truth, sample)), None)):
            renamed.remove(copied)
        elif variant.rule == "bytes" and variant.touched and stands_in(variant.region, sample, may):
            # It is the touched record with a value that stands there now.
            strange.append(sample)
        elif any(core(sample) == core(truth) for truth in must + may):
            problems.append(f"doubled: {describe(core(sample))}")
        else:
            problems.append(f"wrong: {describe(core(sample))}")
    if len(strange) > max(1, len(left)):
        problems.append(f"{len(strange)} records of one touched element")
    return problems, len(left) > len(strange)


def is_of_copies(truth, sample, region, ignores_group):
    """Whether what a sample has besides its core is that of the sound copy, or stands in the damaged one."""
    if detail_problem(truth, sample, ignores_group) is None:
        return True
    if not ignores_group and bool(truth.get("group")) != bool(sample.get("group")):
        return False
    known = {text for pair in truth.get("metadata", []) for text in pair} | set(strings(truth.get("device", {})))
    stands = html.unescape(region.decode("utf-8", "replace"))
    found = [*strings(sample.get("metadata", {})), *sample.get("device", {}).values()]
    return all(text in known or text in stands for text in found)


def is_right(truth, sample):
    """Whether a mended record has the values of the truth; texts may have lost what no text may hold."""
    want, have = core(truth), core(sample)
    return want[:5] == have[:5] and cleaned(want[5]) == cleaned(have[5])


QUOTED = re.compile(rb"=\s*(?:\"([^\"]*)\"|'([^']*)')")
# The same where quotes were lost before.
NAMED = re.compile(rb"\w=\"([^\"<>=]*)\"")


@lru_cache(8)
def quoted(region):
    """Returns all texts that stand in quotes, and the times among them."""
    texts = {resolved(first or second) for first, second in QUOTED.findall(region)}
    texts |= {resolved(text) for text in NAMED.findall(region)}
    return texts, {instant(text) for text in texts}


def stands_in(region, sample, may):
    """Whether type, times and value of a sample stand in the bytes of the touched element, in quotes."""
    texts, times = quoted(region)
    kind, value = sample["type"], sample["value"]
    if time(sample["start"]) not in times or time(sample.get("end", sample["start"])) not in times:
        return False
    if kind.startswith("HKWorkout"):
        return any(text_is(text, value) for text in texts) or b"duration=" not in region
    if kind not in texts:
        return False
    names = [text for text in texts if text.startswith("HKCategoryValue")]
    if kind.startswith("HKCategoryType"):
        # A damaged name may still say which case it is, but only that one. Without a name the number is 0.
        allowed = {entry.values[text] for entry in catalog.CATEGORIES for text in names if text in entry.values}
        allowed |= {truth["value"] for truth in may} if names else {0}
        return value in allowed or any(text_is(text, value) for text in texts)
    units = {unit(text) for text in texts}
    if unit(sample.get("unit")) in units and any(text_is(text, value) for text in texts):
        return True
    # Types that are not known may have neither unit nor value.
    return b"value=" not in region and b"unit=" not in region and value == 0


def text_is(text, value):
    try:
        return float(text) == float(value)
    except ValueError:
        return False


def resolved(raw):
    text = raw.decode("utf-8", "replace")
    for reference, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&")):
        text = text.replace(reference, character)
    return text


def instant(text):
    """Returns the time of a date of an export as ISO 8601 in universal time, or None."""
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)", text)
    if not match:
        return None
    try:
        day = generate.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    offset = (int(match[8]) * 3600 + int(match[9]) * 60) * (-1 if match[7] == "-" else 1)
    return generate.utc((day - generate.EPOCH).days * generate.DAY + int(match[4]) * 3600 + int(match[5]) * 60
                        + int(match[6]) - offset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--limit", type=int, default=200)
    options = parser.parse_args()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    base = Base(options.seed)
    everything = list(variants(base, options.seed))
    rng = random.Random(options.seed)
    for number, variant in enumerate(rng.sample(everything, min(options.limit, len(everything)))):
        must, _, may, _ = base.expectation(variant.touched)
        (folder / f"{number}.xml").write_bytes(variant.data)
        (folder / f"{number}.json").write_text(generate.dumps({
            "name": variant.name, "place": variant.place, "codes": variant.codes, "must": must, "may": may}))
    print(f"{len(everything)} variants of {len(base.elements)} elements, {len(base.truths)} samples")


if __name__ == "__main__":
    main()
