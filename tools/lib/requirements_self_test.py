"""The faults that `tools/requirements --self-test` plants: one of each kind, beside correct requirements."""
import tempfile
from pathlib import Path

NUMBERS = {"002": "FR-001..012", "003": "E1..2"}

TESTS = {
    "Tests/A/OneTests.swift": '@Suite struct OneTests {\n    @Test("It is so") func plain() throws {\n        helper()\n    }\n\n'
                              "    func helper() {}\n\n"
                              '    @Test(\n        "Long") @MainActor\n    func attributed() async throws {}\n\n'
                              '    @Test("Later", .disabled("slow"))\n    func off() {}\n}\n',
    "Tests/A/SameTests.swift": "@Test func same() {}\n",
    "Tests/B/Inner/SameTests.swift": "@Test func same() {}\n",
}

# (number, text of the requirement, tests, words of the finding; None for a correct row)
ROWS = [
    ("FR-001", "System MUST", "`OneTests.plain`", None),
    ("FR-002", "a \\| b", "`OneTests.attributed`, `A/SameTests.same`", None),
    ("FR-003", "System MUST", "screen: only a person can see the colour of it", None),
    ("FR-004", "System MUST", "", "no test shows it"),
    ("FR-005", "System MUST", "`OneTests.gone`", "has no function gone"),
    ("FR-006", "System MUST", "`GoneTests.plain`", "0 files are called GoneTests.swift"),
    ("FR-007", "System MUST", "`SameTests.same`", "2 files are called SameTests.swift"),
    ("FR-008", "System MUST", "`OneTests.plain`, `OneTests.helper`", "is no test"),
    ("FR-009", "System MUST", "`OneTests.off`", "is switched off"),
    ("FR-010", "System MUST", "screen", "does not say why"),
    ("FR-011", "", "`OneTests.plain`", "it says nothing"),
    ("FR-001", "System MUST", "`OneTests.plain`", "stands here twice"),
    ("FR-013", "System MUST", "`OneTests.plain`", "no document has this number"),
]
MISSING = ["002 FR-012 is missing", "003 E2 is missing"]


def run(check):
    with tempfile.TemporaryDirectory() as root:
        for path, text in TESTS.items():
            place = Path(root, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        table = "".join(f"| {number} | {words} | {shown} |\n" for number, words, shown, _ in ROWS)
        head = "| no. | what the document says | shown by |\n|---|---|---|\n"
        Path(root, "docs").mkdir()
        Path(root, "docs/REQUIREMENTS.md").write_text(
            f"# Requirements\n\n## An app: document 002, a plan\n\n{head}{table}\n"
            f"## Another: document 003, a plan\n\n{head}| E1 | It fails | `OneTests.plain` |\n")
        _, findings = check(root, NUMBERS)
    planted = [(number, words) for number, _, _, words in ROWS if words] + [("", words) for words in MISSING]
    wrong = []
    for number, words in planted:
        found = [finding for finding in findings if number in finding and words in finding]
        if not found:
            wrong.append(f"not found: {number} {words}")
        for finding in found[:1]:
            findings.remove(finding)
    wrong += [f"found without cause: {finding}" for finding in findings]
    for line in wrong:
        print(f"requirements --self-test: {line}")
    print(f"requirements --self-test: {len(planted)} planted, {len(ROWS) - len(planted) + len(MISSING) + 1} in order, {len(wrong)} wrong")
    return 1 if wrong else 0
