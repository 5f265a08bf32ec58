"""The test of tools/tidy: a clean tree must be clean, and each violation planted in it must be found."""
import os
import tempfile
from collections import Counter
from pathlib import Path

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Planted",
    targets: [
        .systemLibrary(name: "CSystemLMDB"),
        .target(name: "LMDBInC", dependencies: ["CSystemLMDB"]),
        .target(name: "LMDB", dependencies: ["LMDBInC"]),
        .target(name: "HealthModel"),
        .target(name: "ColumnFormat", dependencies: ["HealthModel"]),
        .target(name: "HealthKV", dependencies: ["LMDB", "ColumnFormat", "HealthModel"]),
        .target(name: "HealthKitSimulator"),
        .target(name: "HealthKitPeer", dependencies: ["HealthKV", "HealthKitSimulator"]),
        .executableTarget(name: "kvinspect", dependencies: ["HealthKV"], path: "tools/kvinspect"),
        .testTarget(name: "HealthKVTests", dependencies: ["HealthKV"]),
    ]
)
"""


def function(lines):
    """A function with this number of lines, with braces in strings and comments that must not count."""
    filling = ['    let brace = "}"  // }'] + ['    /* { */ let text = "\\(f("}"))"'] * (lines - 3)
    return "\n".join(["func long(", "    _ a: Int) {"] + filling[: lines - 3] + ["}"]) + "\n"


def lines(count, of="let a = 1"):
    return f"{of}\n" * count


FOUNDATION = "#if canImport(FoundationEssentials)\nimport FoundationEssentials\n#else\nimport Foundation\n#endif\n"

# One line for each entry of the list of API that is too new.
TOO_NEW = """let a: InlineArray<2, Int> = b
let a: [3 of Int] = b
let a = text.utf8Span
let a = text.utf8.span
catch let error as UTF8.ValidationError {}
let a = CollectionOfOne(1).span
let a = b.enumerated().count
Task.immediate { await f() }
group.addImmediateTask { await f() }
let a = Task.name
task.escalatePriority(to: .high)
func isIsolatingCurrentContext() -> Bool? { nil }
let a = executor.isMainExecutor
for await a in Observations({ b.c }) {}
let a = ProgressManager(totalCount: 1)
let a = URL.Template("x")
let a = UTCClock()
let a = UUID.random(using: &generator)
let a = data.base64EncodedString(options: .base64URLAlphabet)
struct A: NotificationCenter.AsyncMessage {}
let a: HKMedicationDoseEvent
if #available(iOS 18.4, *) {}
@available(macOS 26, iOS 26, *) func f() {}
"""

# HealthKit's symbols as the list says them, and as the simulator declares them.
API = """# Symbols

## HKThing

`class HKThing: NSObject`, Sendable. iOS 8.0, macOS 13.0.

| declaration | since |
|---|---|
| `init(value: Int)` | |
| `var value: Int { get }` | iOS 9.0 |
| `func compare(with other: HKThing) async throws -> Int` | |

## HKLess

`struct HKLess`, Sendable. iOS 18.0, macOS 15.0.

## HKKind

`enum HKKind: Int`, Sendable. iOS 8.0.

| declaration | since |
|---|---|
| `case one, two` | |
"""
BAD_API = API.replace("iOS 9.0", "iOS 18.4") + """
## HKGone

`class HKGone`, not Sendable. iOS 8.0. Deprecated.
"""
THING = """import Foundation
// Immutable.
public final class HKThing: NSObject, @unchecked Sendable {
    public let value: Int
    public init(value: Int) { self.value = value }
    public func compare(
        with other: HKThing
    ) async throws -> Int { 0 }
    public override var hash: Int { value }
}
public struct HKLess: Sendable {}
public enum HKKind: Int, Sendable {
    case one = 1
    case two
}
"""

PRIVACY = """<plist version="1.0"><dict>
<key>NSPrivacyTracking</key><false/><key>NSPrivacyTrackingDomains</key><array/>
<key>NSPrivacyAccessedAPITypes</key><array><dict>
<key>NSPrivacyAccessedAPIType</key><string>NSPrivacyAccessedAPICategoryDiskSpace</string>
<key>NSPrivacyAccessedAPITypeReasons</key><array><string>E174.1</string></array>
</dict></array></dict></plist>
"""

ARCHITECTURE = """# Layers

| module | does | depends on |
|---|---|---|
| CSystemLMDB | a | - |
| LMDBInC | a | CSystemLMDB |
| LMDB | a | LMDBInC |
| HealthModel | a | - |
| ColumnFormat | a | HealthModel |
| HealthKV | a | ColumnFormat, HealthModel, LMDB |
| HealthKitSimulator | a | - |
| HealthKitPeer | a | HealthKV, HealthKitSimulator |
| kvinspect | a | HealthKV |
"""

# Files that look like violations and are none.
CLEAN = {
    "Package.swift": MANIFEST,
    "Sources/CSystemLMDB/module.modulemap": "module CSystemLMDB [system] { header \"shim.h\" }\n",
    "Sources/CSystemLMDB/shim.h": "#include <lmdb.h>\n",
    "Sources/LMDB/Pointers.swift": "import LMDBInC\nfunc f(_ p: UnsafeRawPointer) { unsafe g(p) }\n",
    "Sources/HealthModel/Limits.swift": lines(900) + function(80),
    "Sources/HealthModel/Words.swift": "// unsafe code, import Foundation and InlineArray are words here.\n"
                                       "let a = \"unsafe x UnsafeRawPointer InlineArray \\(b) XXXXXX\"\n"
                                       "func b(_ s: OutputSpan<Int>) {}\n",
    "Sources/ColumnFormat/Kernels/Fast.swift": "import HealthModel\nfunc f() { unsafe g() }\n",
    "Sources/HealthKV/Store.swift": FOUNDATION + "public import HealthModel\nimport struct LMDB.Table\nimport Glibc\n",
    "Sources/HealthKV/Sharing.swift": "// Only the writer's thread touches it.\nfinal class A: @unchecked Sendable {}\n"
                                      "nonisolated(unsafe) let b = 1  // written once\n",
    "Sources/HealthKV/Documented.swift": "/// A.\n@inlinable\npublic struct A: Equatable {\n    /// B.\n    public private(set) var b = 1\n"
                                         "    let c = 2\n    public static func == (l: A, r: A) -> Bool { true }\n}\n"
                                         "/// A.\npublic enum E {\n    /// B.\n    case b\n}\nenum F {\n    case c\n}\n",
    "Sources/HealthKV/Constants.swift": "/// A.\nextension A {\n    public static let b = A(1)\n    public static let c = A(\n"
                                        "        2)\n    public static let d = [\n        A(3)\n    ]\n"
                                        "    @inlinable\n    public static let e = A(4)\n\n    // F.\n"
                                        "    public static let f = A(5)\n    public static let g = A(6)\n}\n"
                                        "extension A {\n    /// H.\n    @inlinable\n    public static let h = A(7)\n"
                                        "    public static let i = A(8)\n}\n",
    "Sources/LMDB/Inner.swift": "public let a = 1\n",
    "Sources/HealthKV/PrivacyInfo.xcprivacy": PRIVACY,
    "Sources/HealthKV/Room.swift": "let a = statvfs(b)  // UserDefaults and stat(c) are words here\n",
    "tools/kvinspect/Main.swift": "import HealthKV\n",
    "tools/lib/examples-prelude.swift": "import HealthKV\nimport LMDB\n",
    "tools/run": "#!/usr/bin/env bash\ntrue\n",
    "Tests/HealthKVTests/Long.swift": "import Foundation\n@testable import HealthKV\n" + function(120),
    "Tests/HealthKVTests/Requirement.swift": "protocol P {\n    func f()\n    mutating func g()\n}\n" + lines(120),
    "docs/healthkit-api.md": API,
    "Sources/HealthKitSimulator/Apple/Values/HKThing.swift": THING,
    "Sources/HealthKitPeer/HealthKitGateway.swift": "import Foundation\nimport HealthKitSimulator\nlet a = HKThing(value: 1)\n",
    "docs/A.md": "# A title\n\n[there](B.md#a-part-of-it), [here](#a-title), [out](https://example.org/x), "
                 "`[not](a-link)`\n",
    "Sources/HealthKV/Records/Header.swift": "struct Header {}\n",
    "Sources/HealthKV/Store/Engine.swift": "final class Engine { let header = Header(); let other = LMDB.Upper() }\n",
    "Sources/HealthKV/Check/Upper.swift": "struct Upper { let engine = Engine() }\n",
    "docs/ARCHITECTURE.md": ARCHITECTURE,
    "docs/SEMANTICS.md": "# Rules\n\n## Of data\n\n### C1 Order\n\nThe greater version wins.\n\n### C22 Deletions\n",
    "Sources/HealthModel/Cited.swift": "// The order of SEMANTICS C1, C22; docs/B.md has more, and B.md too.\n"
                                       + 'let a = "' + "data " * 30 + '"\n',
    "docs/Wide.md": "# W\n\n| " + "cell " * 40 + "|\n|---|\n\n```\n" + "code " * 40 + "\n```\n",
    "docs/B.md": "## A part of it\n\n```\n[not](a-link)\n```\n[up]: ../Package.swift\n",
}

# A dependency that is missing in the table and out of order, a target that is missing there, and an unsafe flag.
BAD_MANIFEST = (
    MANIFEST.replace('"LMDB", dependencies: ["LMDBInC"]', '"LMDB", dependencies: ["LMDBInC", "HealthModel"]')
    .replace('.target(name: "HealthModel")', '.target(name: "HealthModel", swiftSettings: [.unsafeFlags(["-O"])])')
    .replace(".testTarget(name:", '.target(name: "Extra"),\n        .testTarget(name:')
)

BAD_ARCHITECTURE = ARCHITECTURE.replace("| kvinspect | a | HealthKV |", "| kvinspect | a | HealthKV, LMDB |")

# (file, content, the rule that must find it); a file with several violations has an entry for each.
SWIFT = "Sources/HealthKV/"
SIMULATED = "Sources/HealthKitSimulator/Apple/Values/HKThing.swift"
BAD_THING = THING.replace("throws -> Int", "throws -> Int64").replace("struct HKLess: Sendable", "struct HKLess").replace(
    "    case two\n", "")
BAD_PRIVACY = PRIVACY.replace("E174.1", "A1.1").replace("</dict></array></dict>", """</dict><dict>
<key>NSPrivacyAccessedAPIType</key><string>NSPrivacyAccessedAPICategoryActiveKeyboards</string>
<key>NSPrivacyAccessedAPITypeReasons</key><array><string>54BD.1</string></array>
</dict></array></dict>""")
PLANTS = [
    ("Package.swift", BAD_MANIFEST, "targets"),
    ("docs/ARCHITECTURE.md", BAD_ARCHITECTURE, "modules"),  # what LMDB depends on
    ("docs/ARCHITECTURE.md", BAD_ARCHITECTURE, "modules"),  # no row of Extra
    ("docs/ARCHITECTURE.md", BAD_ARCHITECTURE, "modules"),  # kvinspect depends on less
    ("Package.swift", BAD_MANIFEST, "manifest-flags"),
    ("Sources/Other/Other.swift", "let a = 1\n", "imports"),
    ("Sources/Other/Other.swift", "let a = 1\n", "orphan"),
    ("Sources/HealthModel/Upwards.swift", "import HealthKV\n", "imports"),
    ("Sources/HealthKV/Kind.swift", "@preconcurrency import struct CSystemLMDB.MDB_val\n", "imports"),
    ("Examples/Diet/Deep.swift", "import HealthKV\n", "imports"),
    ("Examples/Diet/Deep.swift", "import HealthKV\n", "orphan"),
    ("tools/kvinspect/Deep.swift", "import LMDB\n", "imports"),
    ("Sources/LMDB/Foundation.swift", FOUNDATION, "foundation"),
    ("Sources/LMDB/Foundation.swift", FOUNDATION, "foundation"),
    (SWIFT + "Bare.swift", "#if os(Linux)\nimport Foundation\n#endif\n", "foundation"),
    (SWIFT + "Records/Backwards.swift", "struct Backwards { let engine: Engine }\n", "arrow"),
    (SWIFT + "Elsewhere/Unlisted.swift", "struct Unlisted {}\n", "arrow"),
    ("Sources/HealthKitSimulator/Units/Backwards.swift", "struct Backwards { let thing: HKThing }\n", "arrow"),
    (SWIFT + "WideCode.swift", "let a = " + "b + " * 30 + "c\n", "wide"),
    (SWIFT + "WideComment.swift", "/// " + "word " * 30 + "\nlet a = 1\n", "wide"),
    ("docs/WideProse.md", "# W\n\n" + "word " * 30 + "\n", "wide"),
    (SWIFT + "CitedRule.swift", "// SEMANTICS C1 and C99\n", "citations"),
    (SWIFT + "CitedFile.swift", "// docs/" + "Gone.md has it.\n", "citations"),
    ("docs/Cited.md", "See SEMAN" + "TICS D4.\n", "citations"),
    ("Sources/HealthModel/LongFunction.swift", function(81), "function-length"),
    ("Sources/HealthModel/LongInit.swift", "struct A {\n    init?() {\n" + lines(80) + "    }\n}\n", "function-length"),
    ("Sources/HealthModel/LongProperty.swift", "var a: Int {\n" + lines(80) + "}\n", "function-length"),
    ("Tests/HealthKVTests/LongTest.swift", function(121), "function-length"),
    ("docs/Path.md", "See /ho" + "me/me/notes.\n", "machine-path"),
    (SWIFT + "Path.swift", 'let a = "/tm' + 'p/wt-a"\n', "machine-path"),
    ("docs/Registry.md", "From https://py" + "pi.org/simple.\n", "registry"),
    (SWIFT + "Leftover.swift", "// TO" + "DO: more\n", "leftover"),
    ("Sources/CSystemLMDB/leftover.c", "/* st" + "ub */\n", "leftover"),
    (SWIFT + "Pointer.swift", "func f(_ p: UnsafeMutableBufferPointer<Int>) {}\n", "unsafe"),
    (SWIFT + "Expression.swift", "let a = unsafe f()\n", "unsafe"),
    (SWIFT + "Beside.swift", "func f() async {\n    async let a = g()\n    _ = await a\n}\n", "async-let"),
    ("Sources/ColumnFormat/Outside.swift", "a.withUnsafeBytes { f($0) }\n", "unsafe"),
    (SWIFT + "Interpolated.swift", 'let a = "\\(unsafe f())"\n', "unsafe"),
    (SWIFT + "Unexplained.swift", "// Too far away.\n\n\n\nfinal class A: @unchecked Sendable {}\n", "unexplained"),
    (SWIFT + "Global.swift", "nonisolated(unsafe) var a = 1\n", "unexplained"),
    (SWIFT + "Undocumented.swift", "/// A.\npublic struct A {\n    public var b = 1\n}\n", "undocumented"),
    (SWIFT + "Attributed.swift", "// A.\n@inlinable\n@discardableResult public func a() -> Int { 1 }\n", "undocumented"),
    (SWIFT + "Cases.swift", "/// A.\npublic enum A: Int {\n    /// B.\n    case b\n    case c\n}\n", "undocumented"),
    (SWIFT + "Headless.swift", "extension A {\n    public static let b = 1\n    public static let c = 2\n}\n", "undocumented"),
    (SWIFT + "Headless.swift", "extension A {\n    public static let b = 1\n    public static let c = 2\n}\n", "undocumented"),
    (SWIFT + "Broken.swift", "/// A.\nextension A {\n    public static let b = 1\n\n    public static let c = 2\n}\n",
     "undocumented"),
    (SWIFT + "Interrupted.swift", "extension A {\n    /// B.\n    public static let b = 1\n    static let c = 2\n"
                                  "    public static let d = 3\n}\n", "undocumented"),
    (SWIFT + "Among.swift", "extension A {\n    // B.\n    public static let b = 1\n    public static let c = 2\n"
                            "    public static var d: Int { 3 }\n}\n", "undocumented"),
    (SWIFT + "Lone.swift", "extension A {\n    // B.\n    public static let b = 1\n}\n", "undocumented"),
    (SWIFT + "Defaults.swift", "let a = UserDefaults.standard\n", "privacy"),
    # A reason that Apple does not know, and a category that nothing calls.
    (SWIFT + "PrivacyInfo.xcprivacy", BAD_PRIVACY, "privacy"),
    (SWIFT + "PrivacyInfo.xcprivacy", BAD_PRIVACY, "privacy"),
    ("docs/Link.md", "# L\n\n[gone](Gone.md)\n", "link"),
    ("docs/Anchor.md", "# L\n\n[gone](B.md#gone)\n", "link"),
    ("tools/broken", "#!/usr/bin/env bash\nif true; then\n", "script"),
    ("tools/pipe", "#!/usr/bin/env bash\nif a | grep -q b; then c; fi\n", "script"),
    ("tools/not-executable", "#!/usr/bin/env python3\n", "script"),
    ("docs/healthkit-api.md", BAD_API, "healthkit"),  # newer than the deployment target
    ("docs/healthkit-api.md", BAD_API, "healthkit"),  # old
    ("docs/healthkit-api.md", BAD_API, "healthkit"),  # not in the simulator
    ("docs/healthkit-api.md", BAD_API, "healthkit"),  # a case that is not in the simulator
    (SIMULATED, BAD_THING, "healthkit"),  # another result
    (SIMULATED, BAD_THING, "healthkit"),  # not Sendable
    ("docs/healthkit-api.md", BAD_API, "healthkit"),  # the function as it should be
    ("Sources/HealthKitSimulator/Apple/Values/HKExtra.swift", "public class HKExtra {}\n", "healthkit"),
    ("Sources/HealthKitPeer/Other.swift", "let a = HKKind.one\n", "healthkit"),
    ("Sources/HealthKitPeer/HealthKitValues.swift", "let a = HKUnknown()\n", "healthkit"),
    ("Sources/HealthKitPeer/Essentials.swift", "import FoundationEssentials\n", "foundation"),
    ("tools/Alone.swift", "let a = 1\n", "orphan"),
] + [(SWIFT + "TooNew.swift", TOO_NEW, "too-new")] * len(TOO_NEW.splitlines())


def write(root, files):
    for path, text in files.items():
        place = Path(root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if text.startswith("#!") and path != "tools/not-executable":
            os.chmod(place, 0o755)


def differences(found, wanted):
    found = Counter((finding.path, finding.rule) for finding in found)
    yield from (f"not found: {path}: {rule}" for path, rule in sorted((wanted - found).elements()))
    yield from (f"found without cause: {path}: {rule}" for path, rule in sorted((found - wanted).elements()))


def run(findings):
    with tempfile.TemporaryDirectory() as root:
        write(root, CLEAN)
        wrong = list(differences(findings(root), Counter()))
        write(root, {path: text for path, text, _ in PLANTS})
        wrong += differences(findings(root), Counter((path, rule) for path, _, rule in PLANTS))
    for line in wrong:
        print(f"tidy --self-test: {line}")
    print(f"tidy --self-test: {len(PLANTS)} planted, {len(CLEAN)} clean files, {len(wrong)} wrong")
    return 1 if wrong else 0
