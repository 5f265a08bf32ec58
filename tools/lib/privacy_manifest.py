"""Compares the privacy manifest with the sources: Apple requires a reason for each category of API in use."""
import plistlib
import re

MANIFEST = "Sources/HealthKV/PrivacyInfo.xcprivacy"
# The modules that an app links. Only tests use the simulator and the tools.
LINKED = ("Sources/LMDB/", "Sources/PageReader/", "Sources/HealthModel/", "Sources/ColumnFormat/", "Sources/HealthKV/",
          "Sources/HealthKVSync/", "Sources/HealthKitPeer/")

# Apple's list of functions and properties that need a reason, with the permitted reasons.
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
    """Yields (path, line, what) for each category that is used but not declared, not used, or without a reason."""
    if MANIFEST not in tree.files:
        return
    try:
        manifest = plistlib.loads(tree.text(MANIFEST).encode())
        declared = {entry["NSPrivacyAccessedAPIType"]: set(entry["NSPrivacyAccessedAPITypeReasons"])
                    for entry in manifest["NSPrivacyAccessedAPITypes"]}
        if manifest["NSPrivacyTracking"] or manifest["NSPrivacyTrackingDomains"]:
            yield MANIFEST, 1, "the package does not track users"
    except Exception as error:  # noqa: BLE001  Apple refuses any malformed manifest
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
            yield MANIFEST, 1, f"nothing uses {category}"
        if not reasons or not reasons <= REASONS.get(category, set()):
            yield MANIFEST, 1, f"{category} has no reason, or one that Apple does not know"
