"""Finds public declarations of Swift source without a doc comment."""
import re

DECLARED = re.compile(
    r"^(?P<indent>[ \t]*)(?P<attributes>(?:@\w+(?:\([^)]*\))?[ \t]+)*)public(?:\(set\)|[ \t]+(?:private|internal|package)\(set\))?[ \t]+"
    r"(?P<rest>[^\n]*\b(?:func|var|let|init|subscript|struct|enum|class|actor|protocol|typealias)\b[^\n]*)$", re.M)
# Requirements of protocols of the standard library are documented there.
WITNESS = re.compile(
    r"static func (==|<)|func hash\(into|func encode\(to|init\(from decoder|var description\b|func makeAsyncIterator"
    r"|mutating func next\(|let rawValue\b|init\(rawValue|typealias (Element|Failure)\b|struct Iterator\b")
# The beginning of a constant in a list, and of a continuation line: further indented, or with a closing bracket.
CONSTANT = re.compile(r"(?P<indent>[ \t]*)(?:@\w+(?:\([^)]*\))?[ \t]+)*public static let\b")
CONTINUATION = r"[ \t]+\S|[)\]}@]"


def without_comment(code, lines):
    """Yields (line, declaration) of public declarations without a doc comment in the line above their attributes.
    The comment above the first of consecutive constants may document all of them."""
    places = [(m.start("rest"), m["rest"]) for m in DECLARED.finditer(code) if not WITNESS.search(m["rest"])]
    places += list(public_cases(code))
    headed = {line for run in runs_of_constants(code) if is_headed(run, lines) for line in run}
    for place, rest in places:
        line = code.count("\n", 0, place) + 1
        if line not in headed and not line_above(lines, line)[1].startswith("///"):
            yield line, rest.strip()


def line_above(lines, line):
    """The number and the text of the line above a declaration and its attributes."""
    line -= 1
    while line >= 1 and lines[line - 1].strip().startswith("@"):
        line -= 1
    return line, lines[line - 1].strip() if line >= 1 else ""


def runs_of_constants(code):
    """Yields the lines of consecutive constants; an empty line, a comment or another declaration ends a run."""
    run, indent = [], ""
    for line, text in enumerate(code.splitlines() + [""], start=1):
        constant = CONSTANT.match(text)
        if run and constant and constant["indent"] == indent:
            run.append(line)
        elif not (run and re.match(indent + f"(?:{CONTINUATION})", text)):
            if run:
                yield run
            run, indent = ([line], constant["indent"]) if constant else ([], "")


def is_headed(run, lines):
    """Whether a run, or the extension that it opens, has a doc comment; for two or more constants, // suffices."""
    line, above = line_above(lines, run[0])
    if re.match(r"(public )?extension\b.*\{$", above):
        return line_above(lines, line)[1].startswith("///")
    return above.startswith("///") or len(run) > 1 and above.startswith("//")


def public_cases(code):
    """The cases of public enumerations, which are implicitly public."""
    for enum in re.finditer(r"^([ \t]*)(?:@\w+[ \t]+)*public (?:indirect )?enum\b[^\n]*\{[ \t]*$", code, re.M):
        end = code.find(f"\n{enum[1]}}}", enum.end())
        for case in re.finditer(rf"^{enum[1]}    (case [^\n]*)$", code[enum.end():end], re.M):
            yield enum.end() + case.start(1), case[1]
