"""Swift source as text: enough of its grammar to tell code from comments and strings, and where a declaration ends."""
import re

STRING = re.compile(r'(#*)("""|")')
DECLARATION = re.compile(
    r"(?<![.\w`])(?:func\s+(?P<func>`?[^\s(<`]+`?)|(?P<init>init)(?=[?!]?\s*[<(])|(?P<deinit>deinit)(?=\s*\{)"
    r"|(?P<subscript>subscript)(?=\s*[<(])|var\s+(?P<var>\w+))")
NEXT = re.compile(
    r"\s*(?:[@#}]|(?:func|init|deinit|subscript|var|let|case|struct|enum|class|actor|protocol|extension|typealias"
    r"|associatedtype|static|final|mutating|consuming|borrowing|nonisolated|public|package|internal|fileprivate"
    r"|private)\b)")


class _Blanker:
    """Replaces comments and the text of strings by spaces, so that every position and line keeps its place."""

    def __init__(self, text):
        self.text, self.out = text, list(text)

    def blank(self, start, end):
        for i in range(start, end):
            if self.out[i] != "\n":
                self.out[i] = " "
        return end

    def code(self, i, until_parenthesis=False):
        text, depth = self.text, 0
        while i < len(text):
            c = text[i]
            if c == "/" and text.startswith("//", i):
                end = text.find("\n", i)
                i = self.blank(i, end if end >= 0 else len(text))
                continue
            if c == "/" and text.startswith("/*", i):
                i = self.comment(i)
                continue
            if c in '#"' and (match := STRING.match(text, i)):
                i = self.string(match.end(), match[1], match[2])
                continue
            if c == "(":
                depth += 1
            elif c == ")":
                if until_parenthesis and depth == 0:
                    return i + 1
                depth -= 1
            i += 1
        return i

    def comment(self, start):
        depth, i = 0, start
        while i < len(self.text):
            if self.text.startswith("/*", i):
                depth, i = depth + 1, i + 2
            elif self.text.startswith("*/", i):
                depth, i = depth - 1, i + 2
                if depth == 0:
                    break
            else:
                i += 1
        return self.blank(start, i)

    def string(self, i, hashes, quote):
        text, start = self.text, i
        while i < len(text):
            if text.startswith(quote + hashes, i):
                self.blank(start, i)
                return i + len(quote + hashes)
            if text.startswith("\\" + hashes, i):
                i += 1 + len(hashes)
                if text.startswith("(", i):  # an interpolation is code
                    self.blank(start, i)
                    start = i = self.code(i + 1, until_parenthesis=True)
                else:
                    i += 1
                continue
            if text[i] == "\n" and quote == '"':
                break  # not a string, or an invalid one: limit the damage to this line
            i += 1
        return self.blank(start, min(i, len(text)))


def code_only(text):
    blanker = _Blanker(text)
    blanker.code(0)
    return "".join(blanker.out)


def _body(code, start, may_wrap):
    """The position of the brace that opens a declaration's body, or None for one without a body."""
    depth = 0
    for match in re.compile(r"[()\[\]{}\n]").finditer(code, start):
        c = match[0]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and c == "{":
            return match.start()
        elif depth == 0 and c == "\n" and (not may_wrap or NEXT.match(code, match.end())):
            return None
        if depth < 0 or (depth == 0 and c == "}"):
            return None
    return None


def _end(code, opening):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def declarations(code):
    """(name, first line, last line) of each function, initializer, subscript and computed property in blanked code."""
    for match in DECLARATION.finditer(code):
        name = match["func"] or match["var"] or match["init"] or match["deinit"] or match["subscript"]
        opening = _body(code, match.end(), may_wrap=match["var"] is None)
        if opening is not None:
            yield name, code.count("\n", 0, match.start()) + 1, code.count("\n", 0, _end(code, opening)) + 1


def enclosing_conditions(code, line):
    """The conditions of the #if blocks around a line; #else branches count as part of the block."""
    stack = []
    for text in code.splitlines()[:line]:
        directive = re.match(r"\s*#(if|endif)\b(.*)", text)
        if directive and directive[1] == "if":
            stack.append(directive[2])
        elif directive and stack:
            stack.pop()
    return stack
