"""A rule of tools/tidy: dependencies between the folders of a module go one way, from higher folders to lower ones."""
import re

# From the bottom to the top. A folder that is not listed counts as the top; a listed one may lie within another.
ORDERS = {
    "Sources/HealthModel/": ["Units", "Catalog", "Dates", "Workouts", "Filters", "Conveniences"],
    "Sources/ColumnFormat/": ["Kernels", "Columns", "ColumnKernels", "Records", "Chunks", "Identity", "Links", "Summaries"],
    "Sources/HealthKV/": ["Values", "Records", "Transactions", "Tables", "Files", "Reading", "Statistics", "Writing", "Store", "Check",
                          "Repair", "Views"],
    "Sources/AppleHealthExport/": ["Zlib", "Archive", "Reading", "Writing", "Mapping", "Importing"],
    "Sources/HealthKitSimulator/": ["Units", "Controls", "Apple/Values", "Records", "Apple/Objects", "Simulation", "Apple/Calls"],
    "tools/kvinspect/": ["Dates", "JSON", "Terminal", "Arguments", "Output", "Lines", "Stores", "Report", "Shells", "Verbs"],
    "Sources/HealthKVSync/": ["Peer", "Plan", "State", "Calls", "Stores", "Remote", "Session", "Pull", "Push", "Reconcile", "Engine", "Foundation"],
}
DECLARED = (r"(?m)^(?:(?:public|package|internal|final|indirect|nonisolated|@\w+(?:\([^)]*\))?)\s+)*"
            r"(?:struct|enum|class|actor|protocol|typealias)\s+(\w+)")
# A name after a dot belongs to the name before it, such as another module.
NAMED = r"(?<![\w.])[A-Z]\w+"


def folder_of(path, order):
    """The listed folder that holds a file, or the first folder of its path."""
    return next((folder for folder in order if path.startswith(folder + "/")), path.split("/", 1)[0])


def arrows(tree):
    for home, order in ORDERS.items():
        rank = {folder: place for place, folder in enumerate(order)}
        files = {}
        for path in tree.swift:
            if path.startswith(home) and "/" in path[len(home):]:
                files[path] = folder_of(path[len(home):], order)
        for path, folder in files.items():
            if folder not in rank:
                yield path, 1, f"{folder} has no place in the order of tools/lib/tidy_arrows.py"
        declared = {}
        for path in files:
            for match in re.finditer(DECLARED, tree.code(path)):
                declared.setdefault(match[1], path)
        for path, folder in files.items():
            code = tree.code(path)
            told = set()
            for match in re.finditer(NAMED, code):
                owner = declared.get(match[0])
                if owner is None or match[0] in told:
                    continue
                above = files[owner]
                if rank.get(folder, len(order)) < rank.get(above, len(order)):
                    told.add(match[0])
                    yield path, code.count("\n", 0, match.start()) + 1, f"{folder} refers to {match[0]} of {above}, which is above it"
