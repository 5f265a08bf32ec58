"""The test of tools/examples: correct examples must compile, and each fault planted in one must be found."""
import tempfile
from pathlib import Path

RIGHT = {
    "README.md": """# A title

```swift
import HealthKV

let store = try SampleStore.open(at: folder)
try store.write { try $0.save(Sample(.bodyMass, 72.4, .kilogram, at: now)) }
```

```sh
this is no Swift
```

```swift
for await change in store.changes() { print(change) }
```
""",
    "Sources/HealthModel/Type.swift": """/// ```swift
/// let type = SampleType("stepCount")
/// assert(type == .stepCount)
/// ```
struct A {
    /// A member, whose example stands further right.
    ///
    /// ```swift
    /// let later = now + .seconds(1)
    /// ```
    func f() {}
}
""",
    "Sources/LMDB/Transaction.swift": """/// ```swift
/// var mine = try environment.beginWrite()
/// try mine.put(table, [1], [2])
/// try mine.commit()
/// ```
""",
}

# Groups of (file, line, replacement), each planted separately, since ownership errors are reported
# only if all types are correct.
TYPES = "Sources/HealthModel/Type.swift"
TRANSACTION = "Sources/LMDB/Transaction.swift"
GROUPS = [
    [],
    [
        ("README.md", 6, "let store = try SampleStore.open(near: folder)"),
        ("README.md", 15, "for change in store.changes() { print(change) }"),
        (TYPES, 3, "/// assert(type == Table.self)"),  # Table is in a module that this one does not import
        (TYPES, 9, "    /// let later = now.later(by: 1)"),
        (TRANSACTION, 3, "/// try mine.put(table, 1, 2)"),
    ],
    [
        ("README.md", 7, "store.path"),  # compiles with a warning: the result is unused
        (TRANSACTION, 2, "/// var mine = try environment.beginWrite(); try mine.commit()"),
    ],
    [
        ("README.md", 7, "try store.write {{ _ in }"),  # the last line of its example
        (TYPES, 11, "    /// ```swift"),  # the fence is not closed
    ],
]


def write(root, faults):
    for path, text in RIGHT.items():
        lines = text.splitlines()
        for place, line, fault in faults:
            if place == path:
                lines[line - 1] = fault
        file = Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n")


def run(check):
    wrong = []
    for faults in GROUPS:
        with tempfile.TemporaryDirectory() as root:
            write(root, faults)
            _, findings = check(root)
        wanted = {(path, line) for path, line, _ in faults}
        found = {(finding.path, finding.line) for finding in findings}
        wrong += [f"not found: {path}:{line}" for path, line in sorted(wanted - found)]
        wrong += [f"found without cause: {f.path}:{f.line}: {f.what}" for f in findings if (f.path, f.line) not in wanted]
    for line in wrong:
        print(f"examples --self-test: {line}")
    print(f"examples --self-test: {sum(map(len, GROUPS))} planted, {len(wrong)} wrong")
    return 1 if wrong else 0
