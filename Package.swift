// swift-tools-version: 6.2

import PackageDescription

/// Settings of every target: Swift 6, and nothing unsafe that does not say so.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .strictMemorySafety(),
]

/// What the tests run for minutes of virtual time, or seal a hundred thousand times. Optimised in
/// the debug build, too, it takes a few seconds more to compile and minutes less to test.
let hot: [SwiftSetting] = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

extension Target {
    static func swift(
        _ name: String, _ dependencies: [Target.Dependency] = [],
        _ settings: [SwiftSetting] = settings
    ) -> Target {
        .target(name: name, dependencies: dependencies, swiftSettings: settings)
    }

    static func program(
        _ name: String, _ dependencies: [Target.Dependency], _ linker: [LinkerSetting] = []
    ) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, swiftSettings: settings,
            linkerSettings: linker)
    }

    /// Nobody imports tests, so their module is not written before they are compiled.
    static func tests(
        _ name: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = settings
    ) -> Target {
        .testTarget(
            name: name, dependencies: dependencies,
            swiftSettings: settings + [
                .unsafeFlags(["-no-emit-module-separately-wmo"], .when(configuration: .debug)),
            ])
    }
}

/// A board's program is a megabyte smaller with packed relocations, on disk and in memory; gold
/// cannot write them. lld would put all of ICU's data into the other programs.
let packed: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"],
        .when(platforms: [.linux], configuration: .release)),
]

/// Tests that are not named here are left out, with the modules that only they need:
/// `Tests/ARM64/run` builds a part of them.
let wanted = Context.environment["POSTERN_TESTS"]?.split(separator: " ").map(String.init)

/// The fuzzers have no `main` but libFuzzer's, so they are here only for `Tests/Fuzz/run`, which
/// builds them with `--sanitize fuzzer` into a folder of their own.
let fuzzers: [Target] = Context.environment["POSTERN_FUZZ"] == nil ? [] : [
    "payload", "topic", "policy",
].map { name in
    .executableTarget(
        name: "fuzz-\(name)", dependencies: ["Oracles"], path: "Tests/Fuzz/\(name)",
        swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
}

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")

let package = Package(
    name: "postern",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "postern-agent", targets: ["postern-agent"]),
        .executable(name: "postern-authority", targets: ["postern-authority"]),
        .executable(name: "postern", targets: ["postern"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1",
                 traits: []),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: ([
        // C, as module maps; the pieces of our own say in their first lines why they are C.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto",
                       providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto",
                       providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl",
                       providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode",
                       providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CLinux"),
        .target(name: "CSocketBuffer"),
        .target(name: "CTSS2"),
        .target(name: "CWipedMemory"),

        // Domain.
        .swift("Sessions", [], hot),
        .swift("Gate", ["Sessions"], hot),

        // Cores.
        .swift("Wire", ["Sessions", "Gate"], hot),
        .swift("AgentCore", ["Sessions", "Gate", "Wire"], hot),
        .swift("AuthorityCore", ["Sessions", "Gate", "Wire"], hot),

        // Adapters.
        .swift("Mosquitto", ["CMosquitto", "COpenSSL", "CSocketBuffer", "LinuxIO", "Sessions",
                             "Wire"]),
        .swift("Cryptography", ["COpenSSL", "Sessions"], hot),
        .swift("LinuxIO", ["CLinux"]),
        .swift("BrokerClient", ["Mosquitto", "LinuxIO", "Wire"]),
        .swift("HTTPClient", ["CCurl", "LinuxIO", "Sessions"]),
        .swift("QRCode", ["CQREncode"]),
        .swift("Figures", ["LinuxIO"]),
        .swift("Journal", ["LinuxIO", "Sessions", "Wire", logging]),
        .swift("Settings", ["Sessions", "Gate", "Wire"]),
        .swift("TrustedPlatform", ["CTSS2", "Sessions"]),
        .swift("Diagnosis", ["Gate", "LinuxIO", "Mosquitto", "Sessions", "Wire", arguments]),
        .swift("AgentStore", ["AgentCore", "Cryptography", "LinuxIO", "Sessions", "Gate",
                              "TrustedPlatform", "Wire"], hot),
        .swift("Board", ["AgentCore", "AgentStore", "Settings", "Cryptography", "Diagnosis",
                         "Figures", "Gate", "Journal", "LinuxIO", "Mosquitto", "QRCode",
                         "Sessions", "TrustedPlatform", "Wire", logging,
                         arguments]),
        .swift("AuthorityStore", ["AuthorityCore", "Sessions", "Gate", "Wire", grdb]),
        .swift("PostgreSQLStore", ["AuthorityCore", "AuthorityStore", "CPostgreSQL", "LinuxIO",
                                   "Sessions", "Gate", "Wire"]),
        .swift("Console", ["AuthorityCore", "COpenSSL", "Cryptography", "Sessions", "Gate", "Wire",
                           hummingbird, logging]),
        .swift("AuthorityService", ["AuthorityCore", "AuthorityStore", "Settings", "Console",
                                    "Cryptography", "Diagnosis", "Figures", "Gate", "Journal",
                                    "LinuxIO",
                                    "Mosquitto", "BrokerClient", "PostgreSQLStore", "Sessions",
                                    "Wire", logging, arguments, subprocess, "HTTPClient"]),
        .swift("Commands", ["Settings", "Cryptography", "Diagnosis", "Gate", "LinuxIO", "Mosquitto",
                            "BrokerClient", "Sessions", "Wire", arguments, "HTTPClient"]),

        // Programs: they only wire.
        .program("postern-agent", ["Board", "CWipedMemory"], packed),
        .program("postern-authority", ["AuthorityService", "CWipedMemory"]),
        .program("postern", ["Commands"]),

        // Tests, and what several of them lean on.
        .target(name: "FreePorts", path: "Tests/FreePorts", swiftSettings: settings),
        .target(name: "PostgresServers", dependencies: ["FreePorts"],
                path: "Tests/PostgresServers", swiftSettings: settings),
        .tests("SessionsTests", ["Sessions"]),
        .tests("GateTests", ["Gate", "Sessions"]),
        .tests("WireTests", ["Wire", "Gate", "Sessions"]),
        .tests("CryptographyTests", ["Cryptography", "Sessions"]),
        .tests("LinuxIOTests", ["LinuxIO"]),
        .tests("HTTPClientTests", ["HTTPClient", "Sessions", "FreePorts"]),
        .tests("MosquittoTests", ["Mosquitto", "BrokerClient", "CSocketBuffer", "LinuxIO",
                                  "QRCode", "Sessions", "Wire", "FreePorts"]),
        .tests("SettingsTests", ["Settings", "Gate", "Sessions", "Wire"]),
        .tests("AgentCoreTests", ["AgentCore", "Board", "Cryptography", "Gate", "Sessions",
                                  "Wire"]),
        .tests("AgentStoreTests", ["AgentCore", "AgentStore", "Cryptography", "LinuxIO", "Gate",
                                   "Sessions", "TrustedPlatform", "Wire", "FreePorts"]),
        .tests("DiagnosisTests", ["Diagnosis", "LinuxIO", "Mosquitto", "Sessions", "Wire"]),
        .tests("JournalTests", ["Journal", "Figures", "LinuxIO", "Sessions", logging]),
        .tests("BoardTests", ["Board", "AgentCore", "AgentStore", "Diagnosis", "Gate",
                              "LinuxIO", "Mosquitto",
                              "Sessions", "Wire"]),
        .tests("AuthorityTests", ["AuthorityCore", "AuthorityStore", "AuthorityService", "Console",
                                  "BrokerClient", "LinuxIO", "Mosquitto", "Cryptography",
                                  "Diagnosis", "Gate", "Sessions", "Wire", "Settings",
                                  "FreePorts", "PostgresServers", "PostgreSQLStore", grdb,
                                  "HTTPClient"]),
        .tests("PostgreSQLStoreTests", ["AuthorityCore", "AuthorityStore", "FreePorts",
                                        "PostgresServers", "PostgreSQLStore", "Sessions"]),
        .tests("ConsoleTests", ["Console", "Commands", "AuthorityCore", "BrokerClient", "LinuxIO",
                                "Mosquitto", "Gate", "Sessions", "Wire", "FreePorts", "HTTPClient",
                                logging]),
        .tests("CommandsTests", ["Commands", "Cryptography", "Diagnosis", "Gate", "LinuxIO",
                                 "Mosquitto", "Wire", "Sessions"]),
        .tests("LifeTests", ["AgentCore", "AuthorityCore", "AuthorityService", "Board",
                             "Cryptography", "Gate", "Sessions", "Wire"], hot),
        .tests("RepositoryTests", []),

        // What the gate is held against: by the fuzzers with their own inputs, by the tests with
        // those that are kept.
        .target(name: "Oracles", dependencies: ["Gate", "Sessions", "Settings", "Wire"],
                path: "Tests/Oracles", swiftSettings: settings),
        // Figures; the C counts allocations, which Swift cannot: it is in no program that ships.
        .target(name: "CAllocations", path: "Tests/Benchmarks/Allocations"),
        .executableTarget(name: "bench-gate", dependencies: ["CAllocations", "Gate", "Sessions"],
                          path: "Tests/Benchmarks/Gate", swiftSettings: settings),
        // What the power-cut sweep records and opens: the board's store without its agent.
        .executableTarget(
            name: "powercut-store",
            dependencies: ["AgentCore", "AgentStore", "Cryptography", "Gate", "Sessions", "Wire"],
            path: "Tests/PowerCut/Store", swiftSettings: settings),
        .tests("DifferentialTests", ["Oracles", "Gate", "Sessions", "Wire"]),
    ] + fuzzers).filter { target in target.type != .test || wanted?.contains(target.name) ?? true }
)
