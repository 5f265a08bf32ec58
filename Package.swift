// swift-tools-version: 6.2
import PackageDescription

/// Settings that every target shares. None of them is an unsafe flag: other packages must be able to depend on this
/// one.
let shared: [SwiftSetting] = [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

// Apple's systems have no liblmdb, and an app is built for them on macOS only: there LMDB is compiled in unless the app
// says otherwise. Inside a condition, since only the machine that builds is known here, not the one that runs the
// result.
#if os(macOS)
    let defaults: Set<String> = ["BundledLMDB"]
    let (resources, leftOut): ([Resource], [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
    let defaults: Set<String> = []
    // Elsewhere a resource would only bring the whole of Foundation along.
    let (resources, leftOut): ([Resource], [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

let package = Package(
    name: "HealthKV",
    platforms: [.iOS(.v18), .macOS(.v15), .watchOS(.v11)],
    products: [
        .library(name: "HealthKV", targets: ["HealthKV"]),
        .library(name: "HealthKVSync", targets: ["HealthKVSync"]),
        .library(name: "HealthKitPeer", targets: ["HealthKitPeer"]),
        .library(name: "AppleHealthExport", targets: ["AppleHealthExport"]),
        // For the tests of apps and of peers that others write.
        .library(name: "HealthKitSimulator", targets: ["HealthKitSimulator"]),
        .library(name: "HealthKVPeerConformance", targets: ["HealthKVPeerConformance"]),
        .executable(name: "kvinspect", targets: ["kvinspect"]),
    ],
    traits: [
        .default(enabledTraits: defaults),
        .trait(
            name: "BundledLMDB",
            description:
                "LMDB is compiled from the package swift-lmdb; without the trait the system's liblmdb is linked."),
        .trait(
            name: "SimulatedHealthKit",
            description: "HealthKitPeer talks to the simulator also where HealthKit is there."),
    ],
    dependencies: [
        // Nothing is fetched without the trait. The package has no versions, and its later commits have unsafe flags.
        .package(
            url: "https://github.com/swiftlang/swift-lmdb.git", revision: "29e6ac814f4f5138576bcb3d3995ed900aa8714e")
    ],
    targets: [
        // Targets stand in dependency order: each may import only what stands above it (tools/tidy holds the table).
        // Without pkgConfig, whose flags would link the system's library beside the one that the trait compiles in.
        .systemLibrary(name: "CSystemLMDB"),
        .systemLibrary(name: "CPrefetch"),
        .systemLibrary(name: "CZlib"),
        .target(
            name: "LMDBInC",
            dependencies: [
                "CSystemLMDB",
                .product(name: "CLMDB", package: "swift-lmdb", condition: .when(traits: ["BundledLMDB"])),
            ], swiftSettings: shared),
        .target(name: "PageReader", swiftSettings: shared),
        .target(name: "LMDB", dependencies: ["LMDBInC", "PageReader"], swiftSettings: shared),
        .target(name: "HealthModel", swiftSettings: shared),
        .target(name: "ColumnFormat", dependencies: ["CPrefetch", "HealthModel"], swiftSettings: shared),
        .target(name: "Salvage", dependencies: ["PageReader", "ColumnFormat"], swiftSettings: shared),
        .target(
            name: "HealthKV", dependencies: ["LMDB", "PageReader", "ColumnFormat", "HealthModel", "Salvage"],
            exclude: leftOut,
            resources: resources, swiftSettings: shared),
        // Exports of Apple Health, and other people's files.
        .target(
            name: "AppleHealthExport", dependencies: ["CZlib", "HealthKV", "HealthModel"], swiftSettings: shared),
        .target(name: "HealthKVSync", dependencies: ["HealthKV"], swiftSettings: shared),
        // What every peer must hold to; it needs no framework for tests.
        .target(name: "HealthKVPeerConformance", dependencies: ["HealthKVSync"], swiftSettings: shared),
        // HealthKit's rules in memory, where HealthKit is missing.
        .target(name: "HealthKitSimulator", swiftSettings: shared),
        .target(
            name: "HealthKitPeer",
            dependencies: [
                "HealthKVSync",
                .target(
                    name: "HealthKitSimulator", condition: .when(platforms: [.linux, .windows, .android, .openbsd])),
                .target(name: "HealthKitSimulator", condition: .when(traits: ["SimulatedHealthKit"])),
            ], swiftSettings: shared),
        .executableTarget(
            name: "kvinspect", dependencies: ["AppleHealthExport", "HealthKV", "LMDB"], path: "tools/kvinspect",
            swiftSettings: shared),
        // Three small apps as their developers would write them, on a simulated Apple Health.
        .executableTarget(
            name: "W8Trackr", dependencies: ["HealthKitPeer", "HealthKVSync", "HealthKitSimulator"],
            path: "Examples/W8Trackr", swiftSettings: shared),
        .executableTarget(
            name: "Walking", dependencies: ["HealthKitPeer", "HealthKVSync", "HealthKitSimulator"],
            path: "Examples/Walking", swiftSettings: shared),
        .executableTarget(
            name: "Diet", dependencies: ["HealthKitPeer", "HealthKVSync", "HealthKitSimulator"],
            path: "Examples/Diet", swiftSettings: shared),
        // A journal, a dashboard, a meal logger and a view model, each in one file, run by tests.
        .target(
            name: "SmallApps", dependencies: ["HealthKV"], path: "Examples/SmallApps", swiftSettings: shared),
        // What tests share. No product holds it, so a package that depends on this one does not build it.
        .target(name: "TestSupport", dependencies: ["LMDB"], path: "Tests/Support", swiftSettings: shared),
        // A peer in memory and a clock that stands still, to try the engine with.
        .target(name: "SyncSupport", dependencies: ["HealthKVSync"], path: "Tests/SyncSupport", swiftSettings: shared),
        .executableTarget(
            name: "CrashHarness", dependencies: ["HealthKV", "PageReader", "ColumnFormat", "LMDB", "TestSupport"],
            path: "Tests/Crash/Harness",
            swiftSettings: shared),
        // Stores, engines and simulated HealthKits that live through what goes wrong, by seeds.
        .executableTarget(
            name: "SimulationHarness",
            dependencies: ["HealthKitPeer", "HealthKVSync", "HealthKitSimulator", "TestSupport"],
            path: "Tests/Simulation/Harness", swiftSettings: shared),
        .testTarget(
            name: "LMDBTests", dependencies: ["LMDB", "TestSupport"], exclude: ["CompileFailures"],
            swiftSettings: shared),
        .testTarget(
            name: "PageReaderTests", dependencies: ["PageReader", "LMDB", "TestSupport"], swiftSettings: shared),
        .testTarget(
            name: "HealthModelTests", dependencies: ["HealthModel", "TestSupport"], exclude: ["Fixtures"],
            swiftSettings: shared),
        .testTarget(
            name: "ColumnFormatTests", dependencies: ["ColumnFormat", "HealthModel", "TestSupport"],
            swiftSettings: shared),
        .testTarget(
            name: "HealthKVTests",
            dependencies: ["HealthKV", "PageReader", "ColumnFormat", "LMDB", "Salvage", "TestSupport"],
            exclude: ["Golden/v1", "Golden/v2"],
            swiftSettings: shared),
        .testTarget(
            name: "HealthKitSimulatorTests", dependencies: ["HealthKitSimulator", "TestSupport"],
            swiftSettings: shared),
        .testTarget(
            name: "HealthKitPeerTests",
            dependencies: [
                "HealthKitPeer", "HealthKVSync", "HealthKitSimulator", "HealthKVPeerConformance", "TestSupport",
            ],
            swiftSettings: shared),
        .testTarget(
            name: "HealthKVSyncTests",
            dependencies: [
                "HealthKVSync", "HealthKV", "HealthKVPeerConformance", "LMDB", "SyncSupport", "TestSupport",
            ],
            swiftSettings: shared),
        .testTarget(
            name: "SeedAppTests",
            dependencies: [
                "HealthKitPeer", "HealthKVSync", "HealthKitSimulator", "TestSupport", "W8Trackr", "Walking", "Diet",
                "SmallApps",
            ],
            swiftSettings: shared),
        .testTarget(
            name: "AppleHealthExportTests", dependencies: ["AppleHealthExport", "HealthKV", "TestSupport"],
            swiftSettings: shared),
        .testTarget(
            name: "KVInspectTests", dependencies: ["kvinspect", "HealthKV", "TestSupport"], swiftSettings: shared),
    ],
    swiftLanguageModes: [.v6]
)
