"""Rules of tools/tidy about documents: widths, citations, and the module table of docs/ARCHITECTURE.md."""
import re

COLUMNS_MAX = 120
ARCHITECTURE = "docs/ARCHITECTURE.md"
SEMANTICS = "docs/SEMANTICS.md"
# Citations of a document in a comment, a string or another document.
CITED_FILE = r"(?<![\w./-])((?:docs/|\.\./|[\w-]+/)*[A-Za-z][\w-]*\.md)\b"
CITED_RULE = r"\bSEMANTICS((?:(?:,| and| to)? ?[A-Z]\d+)+)"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def wide(tree):
    """Finds lines of code, comments and prose beyond 120 columns. Literals, tables and code blocks may be wider."""
    for path in tree.swift:
        code = tree.code(path).split("\n")
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            if len(line) <= COLUMNS_MAX:
                continue
            # The content of literals is blank in the code.
            written = re.sub(r"(?<=\S) {2,}", " ", code[number - 1].rstrip()) if number <= len(code) else ""
            if len(written) > COLUMNS_MAX or re.match(r"\s*//", line):
                yield path, number, f"{len(line)} columns, limit {COLUMNS_MAX}"
    for path in (f for f in tree.files if f.endswith(".md")):
        fence = None
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            mark = re.match(r"\s*(```+|~~~+)", line)
            if mark and (fence is None or line.strip().startswith(fence)):
                fence = None if fence else mark[1]
            elif fence is None and len(line) > COLUMNS_MAX and not line.lstrip().startswith("|"):
                yield path, number, f"{len(line)} columns, limit {COLUMNS_MAX}"


def citations(tree):
    """Finds citations of documents and of rules of docs/SEMANTICS.md that do not exist."""
    files = set(tree.files)
    names = {path.rsplit("/", 1)[-1] for path in files if path.endswith(".md")}
    rules = set(re.findall(r"(?m)^#+ ([A-Z]\d+)\b", tree.text(SEMANTICS))) if SEMANTICS in files else set()
    for path in tree.files:
        if not path.endswith((".swift", ".md", ".c", ".h")) or path == SEMANTICS:
            continue
        text = tree.text(path)
        if path.endswith(".md"):
            text = re.sub(r"(?ms)\]\([^)\n]*\)|^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for match in re.finditer(CITED_RULE, text):
            for rule in re.findall(r"[A-Z]\d+", match[1]):
                if rule not in rules:
                    yield path, line_of(text, match.start()), f"SEMANTICS {rule} is not in {SEMANTICS}"
        for match in re.finditer(CITED_FILE, text):
            cited = match[1]
            if cited.rsplit("/", 1)[-1] not in names or ("/" in cited and not cited.startswith("..")
                                                         and not any(f.endswith(cited) for f in files)):
                yield path, line_of(text, match.start()), f"{cited} is not in the repository"


def table_of(manifest):
    """The dependencies of each target except tests."""
    return {
        target["name"]: sorted({next(iter(dependency.values()))[0] for dependency in target["dependencies"]})
        for target in manifest["targets"] if target["type"] != "test"
    }


def modules(tree):
    """Compares the module table with the dependencies in the manifest."""
    if ARCHITECTURE not in tree.files:
        return
    text, wanted = tree.text(ARCHITECTURE), table_of(tree.manifest(""))
    said, first = {}, 1
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "module" and cells[-1] == "depends on":
            first = number
        if line.startswith("|") and cells[0] in wanted and cells[0] not in said:
            said[cells[0]] = (number, [] if cells[-1] == "-" else sorted(re.split(r",\s*", cells[-1])))
    for name, dependencies in wanted.items():
        number, listed = said.get(name, (first, None))
        if listed is None:
            yield ARCHITECTURE, number, f"the module table has no row of {name}"
        elif listed != dependencies:
            yield ARCHITECTURE, number, f"{name} depends on {', '.join(dependencies) or '-'}"
