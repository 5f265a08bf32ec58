// swift-tools-version: 6.2
import PackageDescription

/// The same settings as the library's own targets.
let shared: [SwiftSetting] = [.strictMemorySafety(), .enableExperimentalFeature("Lifetimes")]

// Where HealthKit exists, this setting makes the adapter use the simulator.
#if os(macOS)
    let traits: Set<Package.Dependency.Trait> = [.defaults, "SimulatedHealthKit"]
#else
    let traits: Set<Package.Dependency.Trait> = [.defaults]
#endif

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "HealthKV", path: "..", traits: traits)],
    targets: [
        // A separate module for liblmdb, so that the rows contestant shares nothing with the store that it is compared
        // with.
        .systemLibrary(name: "CLMDBRows", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CRocksDB", pkgConfig: "rocksdb", providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .target(
            name: "Histories", dependencies: [.product(name: "HealthKV", package: "HealthKV")], swiftSettings: shared),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CLMDBRows", "CSQLite", "CRocksDB", "CMalloc", "Histories",
                // The system of Apple has a cipher of its own.
                .target(name: "CCrypto", condition: .when(platforms: [.linux])),
                .product(name: "HealthKV", package: "HealthKV"),
                .product(name: "HealthKVSync", package: "HealthKV"),
                // Also provides the simulator of HealthKit, which is not a product.
                .product(name: "HealthKitPeer", package: "HealthKV"),
            ],
            swiftSettings: shared),
        .executableTarget(
            name: "HotPaths", dependencies: ["Histories", .product(name: "HealthKV", package: "HealthKV")],
            swiftSettings: shared),
        .executableTarget(
            name: "demo", dependencies: ["Histories", .product(name: "HealthKV", package: "HealthKV")],
            swiftSettings: shared),
        .testTarget(name: "HistoriesTests", dependencies: ["Histories"], swiftSettings: shared),
        .testTarget(
            name: "BenchTests",
            dependencies: ["bench", "Histories", .product(name: "HealthKVSync", package: "HealthKV")],
            swiftSettings: shared),
    ],
    swiftLanguageModes: [.v6]
)
