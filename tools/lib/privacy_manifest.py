"""The privacy manifest against the sources: Apple wants a reason for each category of API that an app's libraries call."""
import plistlib
import re

MANIFEST = "Sources/HealthKV/PrivacyInfo.xcprivacy"
# What an app links; the simulator and the tools stay with tests.
LINKED = ("Sources/LMDB/", "Sources/PageReader/", "Sources/HealthModel/", "Sources/ColumnFormat/", "Sources/HealthKV/",
          "Sources/HealthKVSync/", "Sources/HealthKitPeer/")

# Apple's list of API that needs a reason, with the reasons that may be given. A property counts as much as a function.
FILE_TIMESTAMP = "NSPrivacyAccessedAPICategoryFileTimestamp"
DISK_SPACE = "NSPrivacyAccessedAPICategoryDiskSpace"
BOOT_TIME = "NSPrivacyAccessedAPICategorySystemBootTime"
KEYBOARDS = "NSPrivacyAccessedAPICategoryActiveKeyboards"
DEFAULTS = "NSPrivacyAccessedAPICategoryUserDefaults"
CALLS = {
    FILE_TIMESTAMP: r"\b(f?stat|lstat|fstatat|getattrlistat)\(|\b(content|file)?(creation|modification)Date(Key)?\b(?=\s*[\],.?)]|$)"
                    r"|\bcontentModificationDateKey\b|\.fileModificationDate\b",
    DISK_SPACE: r"\bf?statv?fs\(|\bvolume(Available|Total)Capacity\w*|\bsystem(Free)?Size\b",
    BOOT_TIME: r"\bsystemUptime\b|\bmach_absolute_time\b",
    KEYBOARDS: r"\bactiveInputModes\b",
    DEFAULTS: r"\bUserDefaults\b",
}
REASONS = {
    FILE_TIMESTAMP: {"DDA9.1", "C617.1", "3B52.1", "0A2A.1"},
    DISK_SPACE: {"85F4.1", "E174.1", "7D9E.1", "B728.1"},
    BOOT_TIME: {"35F9.1", "8FFB.1", "3D61.1"},
    KEYBOARDS: {"3EC4.1", "54BD.1"},
    DEFAULTS: {"CA92.1", "1C8F.1", "C56D.1", "AC6B.1"},
}


def findings(tree):
    """(path, line, what): a category that is called and not declared, or declared and not called, or without a reason."""
    if MANIFEST not in tree.files:
        return
    try:
        manifest = plistlib.loads(tree.text(MANIFEST).encode())
        declared = {entry["NSPrivacyAccessedAPIType"]: set(entry["NSPrivacyAccessedAPITypeReasons"])
                    for entry in manifest["NSPrivacyAccessedAPITypes"]}
        if manifest["NSPrivacyTracking"] or manifest["NSPrivacyTrackingDomains"]:
            yield MANIFEST, 1, "the package tracks nobody"
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, Apple would refuse it
        yield MANIFEST, 1, f"no property list of this kind: {error!r}"
        return
    called = {}
    for path in (path for path in tree.swift if path.startswith(LINKED)):
        for category, pattern in CALLS.items():
            match = re.search(pattern, tree.code(path))
            if match and category not in called:
                called[category] = (path, tree.code(path).count("\n", 0, match.start()) + 1)
    for category, (path, line) in called.items():
        if category not in declared:
            yield path, line, f"{MANIFEST} gives no reason for {category}"
    for category, reasons in declared.items():
        if category not in called:
            yield MANIFEST, 1, f"nothing calls what {category} is about"
        if not reasons or not reasons <= REASONS.get(category, set()):
            yield MANIFEST, 1, f"{category} has no reason, or one that Apple does not know"
