// swift-tools-version: 6.2
import PackageDescription

/// Settings that every target shares. None of them is an unsafe flag: other packages must be able to depend on this one.
let shared: [SwiftSetting] = [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

let package = Package(
    name: "HealthKV",
    platforms: [.iOS(.v18), .macOS(.v15), .watchOS(.v11)],
    products: [
        .library(name: "HealthKV", targets: ["HealthKV"]),
        .library(name: "HealthKVSync", targets: ["HealthKVSync"]),
        .library(name: "HealthKitPeer", targets: ["HealthKitPeer"]),
        // For the tests of apps and of peers that others write.
        .library(name: "HealthKitSimulator", targets: ["HealthKitSimulator"]),
        .library(name: "HealthKVPeerConformance", targets: ["HealthKVPeerConformance"]),
        .executable(name: "kvinspect", targets: ["kvinspect"]),
    ],
    traits: [
        .trait(
            name: "SimulatedHealthKit",
            description: "HealthKitPeer talks to the simulator also where HealthKit is there.")
    ],
    targets: [
        // Targets stand in dependency order: each may import only what stands above it (tools/tidy holds the table).
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(name: "CPrefetch"),
        .target(name: "LMDB", dependencies: ["CLMDB"], swiftSettings: shared),
        .target(name: "PageReader", swiftSettings: shared),
        .target(name: "HealthModel", swiftSettings: shared),
        .target(name: "ColumnFormat", dependencies: ["CPrefetch", "HealthModel"], swiftSettings: shared),
        .target(
            name: "HealthKV", dependencies: ["LMDB", "PageReader", "ColumnFormat", "HealthModel"],
            swiftSettings: shared),
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
            name: "kvinspect", dependencies: ["HealthKV"], path: "tools/kvinspect", swiftSettings: shared),
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
        // What tests share. No product holds it, so whoever depends on this package does not build it.
        .target(name: "TestSupport", dependencies: ["LMDB"], path: "Tests/Support", swiftSettings: shared),
        // A peer in memory and a clock that stands still, to try the engine with.
        .target(name: "SyncSupport", dependencies: ["HealthKVSync"], path: "Tests/SyncSupport", swiftSettings: shared),
        .executableTarget(
            name: "CrashHarness", dependencies: ["HealthKV", "ColumnFormat", "TestSupport"],
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
            name: "HealthKVTests", dependencies: ["HealthKV", "PageReader", "ColumnFormat", "LMDB", "TestSupport"],
            exclude: ["Golden/v1"],
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
            ],
            swiftSettings: shared),
        .testTarget(
            name: "KVInspectTests", dependencies: ["kvinspect", "HealthKV", "TestSupport"], swiftSettings: shared),
    ],
    swiftLanguageModes: [.v6]
)
