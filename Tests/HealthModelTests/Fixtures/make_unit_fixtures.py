#!/usr/bin/env python3
"""Writes conversions.txt and symbols.txt beside itself: what units must mean, worked out with exact fractions from the
definitions of the units and without a line of the package. Run it again after a change here; its seed is fixed.

conversions.txt   from <tab> to <tab> bits of a double <tab> bits of the double nearest to the exact result
symbols.txt       text <tab> canonical form, or - where it is no unit <tab> bits of the factor to base units
"""
import random
import struct
from decimal import Decimal, getcontext
from fractions import Fraction as F
from pathlib import Path

HERE = Path(__file__).resolve().parent
rng = random.Random(20260101)
getcontext().prec = 60
PI = F("3.1415926535897932384626433832795028841971693993751058209749445923")

INCH, POUND, GALLON_US, GALLON_UK = F("0.0254"), F("453.59237"), 231 * F("0.0254") ** 3, F("0.00454609")
MERCURY = F("13.5951") * F("9.80665") * 1000  # a millimeter of mercury, in g/(m·s²)
# name: (dimension, size, takes prefixes, what to add first); sizes in g, m, s, K, A
ATOMS = {
    "s": ("s", F(1), 1), "min": ("s", F(60), 0), "hr": ("s", F(3600), 0), "d": ("s", F(86400), 0),
    "g": ("g", F(1), 1), "oz": ("g", POUND / 16, 0), "lb": ("g", POUND, 0), "st": ("g", 14 * POUND, 0),
    "m": ("m", F(1), 1), "in": ("m", INCH, 0), "ft": ("m", 12 * INCH, 0), "yd": ("m", 36 * INCH, 0),
    "mi": ("m", 63360 * INCH, 0),
    "L": ("m3", F(1, 1000), 1), "fl_oz_us": ("m3", GALLON_US / 128, 0), "fl_oz_imp": ("m3", GALLON_UK / 160, 0),
    "pt_us": ("m3", GALLON_US / 8, 0), "pt_imp": ("m3", GALLON_UK / 8, 0),
    "cup_us": ("m3", GALLON_US / 16, 0), "cup_imp": ("m3", GALLON_UK / 16, 0),
    "Pa": ("g/m/s2", F(1000), 1), "mmHg": ("g/m/s2", MERCURY, 0), "cmAq": ("g/m/s2", F("98066.5"), 0),
    "inHg": ("g/m/s2", F("25.4") * MERCURY, 0), "atm": ("g/m/s2", F(101325000), 0),
    "J": ("g*m2/s2", F(1000), 1), "cal": ("g*m2/s2", F(4184), 0), "kcal": ("g*m2/s2", F(4184000), 0),
    "W": ("g*m2/s3", F(1000), 1),
    "K": ("K", F(1), 1), "degC": ("K", F(1), 0, F("273.15")), "degF": ("K", F(5, 9), 0, F("459.67")),
    "V": ("g*m2/s3/A", F(1000), 1), "S": ("A2*s3/g/m2", F(1, 1000), 1), "Hz": ("count/s", F(1), 1),
    "count": ("count", F(1), 0), "%": ("", F(1), 0), "IU": ("IU", F(1), 0),
    "rad": ("rad", F(1), 1), "deg": ("rad", PI / 180, 0), "dBASPL": ("spl", F(1), 0), "dBHL": ("hl", F(1), 0),
    "lx": ("lx", F(1), 1), "D": ("1/m", F(1), 0), "pD": ("pD", F(1), 0), "appleEffortScore": ("score", F(1), 0),
}
ORDER = list(ATOMS)
ALIASES = {"l": "L", "Cal": "kcal", "prism_diopter": "pD"}
PREFIXES = {"da": 1, "mc": -6, "d": -1, "c": -2, "h": 2, "k": 3, "m": -3, "M": 6, "G": 9, "T": 12, "n": -9, "p": -12,
            "f": -15}
PREFIX_ORDER = [""] + list(PREFIXES)


def bits(value):
    return struct.pack(">d", value).hex()


def nearest(fraction):
    try:
        return float(fraction)
    except OverflowError:
        return float("inf") if fraction > 0 else float("-inf")


def conversions():
    units = []
    for name, (dimension, size, prefixed, *offset) in ATOMS.items():
        units.append((name, dimension, size, offset[0] if offset else F(0)))
        for prefix in rng.sample(list(PREFIXES), 4 if prefixed else 0):
            units.append((prefix + name, dimension, size * F(10) ** PREFIXES[prefix], F(0)))
    for mass in ("180.1558800000541", "58.44", "1"):
        units.append((f"mmol<{mass}>", "g", F(mass) / 1000, F(0)))
    units += [("mg/dL", "g/m3", F(10), F(0)), ("mmol<180.1558800000541>/L", "g/m3", F("180.1558800000541"), F(0)),
              ("m/s", "v", F(1), F(0)), ("km/hr", "v", F(1000, 3600), F(0)), ("mi/hr", "v", 63360 * INCH / 3600, F(0)),
              ("count/min", "count/s", F(1, 60), F(0)), ("count/s", "count/s", F(1), F(0)),
              ("mL/min·kg", "o", F(1, 10**6) / 60 / 1000, F(0)), ("L/hr·lb", "o", F(1, 1000) / 3600 / POUND, F(0)),
              ("cm^3", "m3", F(1, 10**6), F(0)), ("J/s", "g*m2/s3", F(1000), F(0)),
              ("W·hr", "g*m2/s2", F(3600000), F(0))]
    lines = []
    for name, dimension, size, offset in units:
        for other, other_dimension, other_size, other_offset in units:
            if dimension != other_dimension or name == other or rng.random() < 0.15:
                continue
            for kind in rng.sample(range(7), 4):
                value = [rng.uniform(0, 500), round(rng.uniform(0, 3000)), round(rng.uniform(0, 200), 1),
                         rng.uniform(-1, 1), struct.unpack(">d", struct.pack(">Q", rng.getrandbits(64)))[0],
                         rng.choice([5e-324, 2.5e-308, 1.7e308, 1e-300, 1e300]), round(rng.uniform(0, 99), 3)][kind]
                if value != value or value in (float("inf"), float("-inf")):
                    continue
                exact = (F(value) + offset) * size / other_size - other_offset
                result = nearest(exact)
                # Zero of a plain factor keeps its sign, as a double does.
                lines.append(f"{name}\t{other}\t{bits(value)}\t{bits(result)}")
    return lines


class Wrong(Exception):
    pass


def parse(text):
    """(canonical form, factor) by recursive descent over characters; raises Wrong."""
    if len(text.encode()) > 255:
        raise Wrong
    place = [0]

    def look(count=1):
        return text[place[0]:place[0] + count]

    def limit(powers):
        if any(abs(power) > 24 for power in powers.values()):
            raise Wrong
        return {key: power for key, power in powers.items() if power}

    def join(left, right, sign):
        powers = dict(left)
        for key, power in right.items():
            powers[key] = powers.get(key, 0) + sign * power
        return limit(powers)

    def atom():
        word = ""
        while look() and (look().isascii() and look().isalpha() or look() in "_%"):
            word += look()
            place[0] += 1
        if look() == "<":
            end = text.find(">", place[0])
            digits = text[place[0] + 1:end]
            place[0] = end + 1
            whole, point, part = digits.partition(".")
            if end < 0 or not word.endswith("mol") or not (word[:-3] == "" or word[:-3] in PREFIXES):
                raise Wrong
            if not all(c in "0123456789" for c in whole + part) or not whole or (point and not part):
                raise Wrong
            if len(digits) > 40 or F(digits) == 0:
                raise Wrong
            mass = (whole.lstrip("0") or "0") + ("." + part.rstrip("0") if part.rstrip("0") else "")
            return (len(ORDER), PREFIX_ORDER.index(word[:-3]), mass)
        word = ALIASES.get(word, word)
        if word in ATOMS:
            return (ORDER.index(word), 0, "")
        for prefix in PREFIXES:
            if word.startswith(prefix):
                rest = ALIASES.get(word[len(prefix):], word[len(prefix):])
                if rest in ATOMS and ATOMS[rest][2]:
                    return (ORDER.index(rest), PREFIX_ORDER.index(prefix), "")
        raise Wrong

    def power(depth):
        if look() == "(":
            if depth >= 16:
                raise Wrong
            place[0] += 1
            base = unit(depth + 1)
            if look() != ")":
                raise Wrong
            place[0] += 1
        else:
            base = {atom(): 1}
        if look() == "^":
            place[0] += 1
            sign = 1
            if look() == "-":
                sign = -1
                place[0] += 1
            digits = ""
            while look() and look() in "0123456789":
                digits += look()
                place[0] += 1
            if not digits or len(digits) > 2 or int(digits) == 0:
                raise Wrong
            base = limit({key: sign * int(digits) * value for key, value in base.items()})
        return base

    def product(depth):
        powers = power(depth)
        while look() and look() in "·*.":
            place[0] += 1
            powers = join(powers, power(depth), 1)
        return powers

    def unit(depth):
        if look(2) == "1/":
            place[0] += 1
            powers = {}
        else:
            powers = product(depth)
        while look() == "/":
            place[0] += 1
            powers = join(powers, product(depth), -1)
        return powers

    powers = unit(0)
    if place[0] != len(text) or not powers:
        raise Wrong
    return describe(powers)


def describe(powers):
    factor, above, below = F(1), [], []
    for (position, prefix, mass), power in sorted(powers.items()):
        name = PREFIX_ORDER[prefix] + (f"mol<{mass}>" if mass else ORDER[position])
        size = F(mass) if mass else ATOMS[ORDER[position]][1]
        size *= F(10) ** PREFIXES.get(PREFIX_ORDER[prefix], 0)
        factor *= size ** power
        (above if power > 0 else below).append(name + (f"^{abs(power)}" if abs(power) > 1 else ""))
    text = "·".join(above) if above or not below else "1"
    return text + ("/" + "·".join(below) if below else ""), factor


def random_symbol():
    def atom():
        pick = rng.random()
        if pick < 0.1:
            mass = rng.choice(["180.15588", "18", "0.5", "007.250", "58.44"])
            return f"{rng.choice(PREFIX_ORDER)}mol<{mass}>"
        if pick < 0.14:
            return rng.choice(["KG", "x", "mol", "Mi", "mmi", "kcount", "", "mol<>", "mol<0>", "mol<.5>", "mol<5.>", "µg"])
        name = rng.choice(ORDER + list(ALIASES))
        if ATOMS[ALIASES.get(name, name)][2] and rng.random() < 0.5:
            return rng.choice(PREFIX_ORDER) + name
        return name if rng.random() < 0.97 else rng.choice(PREFIX_ORDER) + name

    def part(depth):
        text = f"({unit(depth + 1)})" if depth < 3 and rng.random() < 0.15 else atom()
        if rng.random() < 0.2:
            text += "^" + rng.choice(["2", "3", "-1", "-2", "1", "0", "12", "25", "100", "", "-", "1.5"])
        return text

    def unit(depth):
        text = part(depth)
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            text += rng.choice("··*./") + part(depth)
        return "1/" + text if rng.random() < 0.04 else text

    text = unit(0)
    if rng.random() < 0.25:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(list(" ()^*/·.<>-1k%_é")) + text[place + rng.choice([0, 1]):]
    return text


def symbols():
    lines, seen = [], set()
    while len(seen) < 6000:
        text = random_symbol()
        if text in seen or "\t" in text or "\n" in text:
            continue
        seen.add(text)
        try:
            canonical, factor = parse(text)
            # Beyond the powers that a dimension can have; far outside of anything that is measured.
            if any(abs(p) > 24 for p in exponents(canonical)):
                continue
            lines.append(f"{text}\t{canonical}\t{bits(nearest(factor))}")
        except Wrong:
            lines.append(f"{text}\t-\t-")
    return lines


def exponents(canonical):
    return [int(digits) for piece in canonical.split("^")[1:] if (digits := "".join(c for c in piece[:3] if c.isdigit()))]


if __name__ == "__main__":
    (HERE / "conversions.txt").write_text("\n".join(conversions()) + "\n")
    (HERE / "symbols.txt").write_text("\n".join(symbols()) + "\n")
