"""Compares docs/healthkit-api.md with the declarations of the simulator and the symbols that the adapter uses."""
import re
from collections import namedtuple

DOCUMENT = "docs/healthkit-api.md"
SIMULATOR = "Sources/HealthKitSimulator/Apple/"
ADAPTER = "Sources/HealthKitPeer/"
# The one file that calls HealthKit, and the one that converts values to HealthKit's and back.
GATEWAY = {ADAPTER + "HealthKitGateway.swift", ADAPTER + "HealthKitValues.swift"}
NEWEST = {"iOS": 18.0, "macOS": 15.0, "watchOS": 11.0}

Known = namedtuple("Known", "line sendable header members")
TYPE = re.compile(r"(?:class|struct|enum|typealias)\s+([\w.]+)")


def normal(declaration):
    """Normalizes a declaration: removes the differences between Apple's notation and the simulator's source."""
    text = re.sub(r"@\w+(\([^)]*\))?\s+(?=(?:public|open|class|func|var|let|static|init))", "", declaration)
    text = re.sub(r"\b(public(\(\w+\))?|private\(set\)|open|final|override|required|convenience|indirect)\s+", "", text)
    text = re.sub(r"\s+", " ", text.replace("`", "")).strip()
    text = re.sub(r"\(\s+|\s+\)", lambda m: m[0].strip(), text)
    text = re.sub(r"\s*:\s*", ": ", text)
    return re.sub(r"\s*(->|=)\s*", r" \1 ", text)


def split_cases(text):
    return [f"case {name.split('=')[0].strip()}" for name in text.removeprefix("case ").split(",")]


def property_of(text, is_settable):
    name, _, kind = text.partition(": ")
    kind = kind.split(" = ")[0].split(" {")[0].strip()
    keyword, _, bare = name.rpartition(" ")
    keyword = keyword.replace("let", "var")
    return f"{keyword} {bare}: {kind}" + ("" if is_settable else " { get }")


def declared(tree):
    """Returns type -> (path, line, whether it is Sendable, members) for the simulator's HealthKit types."""
    types = {}
    for path in tree.swift:
        if path.startswith(SIMULATOR):
            read_file(path, tree.code(path), types)
    return types


def read_file(path, code, types):
    depth, stack = 0, []
    lines = code.splitlines()
    index = 0
    while index < len(lines):
        line = lines[index]
        start, text = index, line
        if re.match(r"\s*(public|case)\b", line) and depth == len(stack):
            while text.count("(") > text.count(")") or re.search(r"(->|[,(:&])\s*$|^\s*public[^{=]*\)$", text) and \
                    index + 1 < len(lines) and not re.search(r"[{}]", text):
                index += 1
                text += " " + lines[index].strip()
            if index + 1 < len(lines) and re.match(r"\s*(->|async|throws)", lines[index + 1]):
                index += 1
                text += " " + lines[index].strip()
            if not re.search(r"\boverride (var|func)\b", text):  # those are of NSObject, not of HealthKit
                record(path, start + 1, text.strip(), stack, types)
        elif re.match(r"\s*extension\s+HK", line) and depth == 0:
            stack.append(re.search(r"extension\s+([\w.]+)", line)[1])
        opened = text.count("{") - text.count("}")
        if opened > 0 and (match := re.match(r"\s*public (?:final )?(class|struct|enum) (\w+)", text)) and \
                match[1] + " func" not in text and match[2] not in ("func", "var"):
            stack.append(".".join(stack[-1:] + [match[2]]) if stack else match[2])
        depth += opened
        while len(stack) > depth:
            stack.pop()
        index += 1


def record(path, line, text, stack, types):
    is_private = "private(set)" in text
    text = normal(text)
    owner = stack[-1] if stack else None
    if (match := re.match(r"(class|struct|enum|typealias) (?!func|var)([\w.]+)", text)):
        name = f"{owner}.{match[2]}" if owner else match[2]
        header = re.sub(r"(, |: )(@unchecked )?Sendable\b", "", text.split(" {")[0]).strip()
        is_sendable = match[1] in ("typealias",) or "Sendable" in text.split("{")[0]
        types[name] = Known((path, line), is_sendable, header, types[name].members if name in types else {})
        return
    if owner is None and not text.startswith(("let ", "var ", "func ")):
        return
    members = types.setdefault(owner or "Globals", Known((path, line), True, "", {})).members
    for member in members_of(text, is_private):
        members[member] = (path, line)


def members_of(text, is_private):
    if text.startswith("case "):
        return split_cases(text)
    head = re.sub(r"\s*\{.*$", "", text) if "{" in text else text
    if re.match(r"(static )?(let|var) ", head):
        has_body = "{" in text
        is_settable = " var " in f" {head}" and not has_body and not is_private and not text.startswith(("let", "static let"))
        if " = " in head and ": " not in head.split(" = ")[0]:
            name, _, value = head.partition(" = ")
            kind = "String" if value.startswith('"') else value.split("(")[0]
            head = f"{name}: {kind}"
        return [property_of(head, is_settable)]
    return [head.strip()]


def documented(text):
    """Returns type -> Known, as the list has it, and the problems of the list itself."""
    types, problems, owner = {}, [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            owner = line[3:].strip()
            types[owner] = Known(number, owner == "Globals", "", {})
        elif owner and (match := re.match(r"`([^`]+)`, (not Sendable|Sendable)\.", line)):
            types[owner] = Known(number, match[2] == "Sendable", normal(match[1]), {})
        elif owner and (match := re.match(r"\| `([^`]+)` \|", line)):
            for member in split_cases(match[1]) if match[1].startswith("case ") else [normal(match[1])]:
                types[owner].members[member] = number
        if owner and re.search(r"(?i)deprecated", line):
            problems.append((number, "a deprecated symbol has no place in the list"))
        for system, version in re.findall(r"\b(iOS|macOS|watchOS) (\d+(?:\.\d+)?)", line) if owner else []:
            if float(version) > NEWEST[system]:
                problems.append((number, f"{system} {version} is newer than the deployment target"))
    return types, problems


def findings(tree):
    """Yields (path, line, what) for every difference."""
    if not any(path.startswith((SIMULATOR, ADAPTER)) for path in tree.swift):
        return
    known, problems = documented(tree.text(DOCUMENT) if DOCUMENT in tree.files else "")
    yield from ((DOCUMENT, line, what) for line, what in problems)
    simulated = declared(tree)
    for name, (place, is_sendable, header, members) in sorted(simulated.items()):
        if name not in known:
            yield (*place, f"{name} is not in {DOCUMENT}")
            continue
        if header != known[name].header:
            yield (*place, f"{name} is `{known[name].header}` in {DOCUMENT}")
        if is_sendable != known[name].sendable:
            yield (*place, f"{name} is {'' if is_sendable else 'not '}Sendable here, and otherwise in {DOCUMENT}")
        for member, at in members.items():
            if member not in known[name].members:
                yield (*at, f"{name} has no `{member}` in {DOCUMENT}")
    for name, (line, _, _, members) in known.items():
        here = simulated[name].members if name in simulated else {}
        if name not in simulated:
            yield (DOCUMENT, line, f"the simulator has no {name}")
        yield from ((DOCUMENT, at, f"the simulator's {name} has no `{member}`")
                    for member, at in members.items() if member not in here)
    yield from uses(tree, known)


def uses(tree, known):
    names = {name.split(".")[0] for name in known} | {
        match[1] for member in known.get("Globals", Known(0, True, "", {})).members if (match := re.search(r"(HK\w+)", member))}
    for path in (path for path in tree.swift if path.startswith(ADAPTER)):
        for match in re.finditer(r"\bHK[A-Z]\w+", tree.code(path)):
            line = tree.code(path).count("\n", 0, match.start()) + 1
            if path not in GATEWAY:
                yield (path, line, f"{match[0]} outside the gateway")
            elif match[0] not in names:
                yield (path, line, f"{match[0]} is not in {DOCUMENT}")
