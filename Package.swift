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
        _ name: String, _ layer: String, _ dependencies: [Target.Dependency] = [],
        _ settings: [SwiftSetting] = settings
    ) -> Target {
        .target(
            name: name, dependencies: dependencies, path: "Sources/\(layer)/\(name)",
            swiftSettings: settings)
    }

    static func program(
        _ name: String, _ layer: String, _ dependencies: [Target.Dependency]
    ) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, path: "Sources/\(layer)/\(name)",
            swiftSettings: settings)
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

/// Tests that are not named here are left out, with the modules that only they need:
/// `Tests/ARM64/run` builds a part of them.
let wanted = Context.environment["POSTERN_TESTS"]?.split(separator: " ").map(String.init)

/// The fuzzers have no `main` but libFuzzer's, so they are here only for `Tests/Fuzz/run`, which
/// builds them with `--sanitize fuzzer` into a folder of their own.
let fuzzers: [Target] = Context.environment["POSTERN_FUZZ"] == nil ? [] : [
    "payload", "topic", "policy", "webauthn",
].map { name in
    .executableTarget(
        name: "fuzz-\(name)", dependencies: ["Oracles"], path: "Tests/Fuzz/\(name)",
        swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
}

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
// Minutes of C++, so it is a trait: nothing else here needs it, and Apple systems have their own.
let crypto = Target.Dependency.product(
    name: "Crypto", package: "swift-crypto",
    condition: .when(platforms: [.linux], traits: ["EncryptedFile"]))
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")

let package = Package(
    name: "postern",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "postern-agent", targets: ["postern-agent"]),
        .executable(name: "postern-authority", targets: ["postern-authority"]),
        .executable(name: "postern", targets: ["postern"]),
        // For programs of others; each is built without the rest of the package.
        .library(name: "PosternApp", targets: ["PosternApp"]),
        .library(name: "PosternSession", targets: ["PosternSession"]),
    ],
    traits: [
        .trait(
            name: "EncryptedFile",
            description: "PosternSession's EncryptedFileStorage on Linux, with swift-crypto"),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1",
                 traits: []),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: ([
        // C, as module maps; the pieces of our own say in their first lines why they are C.
        .systemLibrary(name: "CMosquitto", path: "Sources/C/CMosquitto", pkgConfig: "libmosquitto",
                       providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "COpenSSL", path: "Sources/C/COpenSSL", pkgConfig: "libcrypto",
                       providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPostgreSQL", path: "Sources/C/CPostgreSQL", pkgConfig: "libpq",
                       providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CCurl", path: "Sources/C/CCurl", pkgConfig: "libcurl",
                       providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CQREncode", path: "Sources/C/CQREncode", pkgConfig: "libqrencode",
                       providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CLinux", path: "Sources/C/CLinux"),
        .target(name: "CSocketBuffer", path: "Sources/C/CSocketBuffer"),
        .target(name: "CTSS2", path: "Sources/C/CTSS2"),
        .target(name: "CWipedMemory", path: "Sources/C/CWipedMemory"),

        // Domain.
        .swift("Sessions", "Domain", [], hot),
        .swift("Gate", "Domain", ["Sessions"], hot),
        .swift("Wire", "Domain", ["Sessions", "Gate"], hot),
        .swift("WebAuthn", "Domain", ["Sessions", "Wire"], hot),

        // Cores.
        .swift("AgentCore", "Agent", ["Sessions", "Gate", "Wire"], hot),
        .swift("AuthorityCore", "Authority", ["Sessions", "Gate", "WebAuthn", "Wire"], hot),

        // Adapters.
        .swift("MQTT", "Adapters", [
            "CMosquitto", "COpenSSL", "CSocketBuffer", "LinuxIO", "Sessions", "Wire",
        ]),
        .swift("Cryptography", "Adapters", ["COpenSSL", "Sessions"], hot),
        .swift("LinuxIO", "Adapters", ["CLinux"]),
        .swift("HTTPClient", "Adapters", ["CCurl", "LinuxIO", "Sessions"]),
        .swift("QRCode", "Adapters", ["CQREncode"]),
        .swift("MetricsServer", "Adapters", ["LinuxIO"]),
        .swift("LogOutput", "Adapters", ["LinuxIO", "Sessions", "Wire", logging]),
        .swift("ConfigurationFiles", "Adapters", ["Sessions", "Gate", "Wire"]),
        .swift("TPM", "Adapters", ["CTSS2", "Sessions"]),
        .swift("Doctor", "Adapters", ["Gate", "LinuxIO", "MQTT", "Sessions", "Wire", arguments]),
        .swift("AgentStore", "Agent", [
            "AgentCore", "Cryptography", "LinuxIO", "Sessions", "Gate", "TPM", "Wire",
        ], hot),
        .swift(
            "AgentCryptography", "Agent", ["AgentCore", "Cryptography", "Sessions", "Wire"], hot),
        .swift("AgentService", "Agent", [
            "AgentCore", "AgentCryptography", "AgentStore", "ConfigurationFiles",
            "Cryptography", "Gate", "LinuxIO", "LogOutput", "MQTT", "MetricsServer", "Sessions",
            "TPM", "Wire", logging,
        ]),
        .swift("AgentCommands", "Agent", [
            "AgentCore", "AgentService", "AgentStore", "ConfigurationFiles", "Cryptography",
            "Doctor", "Gate", "LinuxIO", "MQTT", "QRCode", "Sessions", "Wire", arguments,
        ]),
        .swift("PostgreSQLClient", "Authority", ["CPostgreSQL", "LinuxIO", "Sessions"]),
        .swift("AuthorityStore", "Authority", [
            "AuthorityCore", "PostgreSQLClient", "Sessions", "Gate", "Wire", grdb,
        ]),
        .swift("AuthorityData", "Authority", [
            "AuthorityCore", "AuthorityStore", "PostgreSQLClient", "Sessions", "Gate", "Wire", grdb,
        ], hot),
        .swift("AuthorityHTTP", "Authority", [
            "AuthorityCore", "COpenSSL", "Cryptography", "MetricsServer", "Sessions", "Gate",
            "WebAuthn", "Wire", hummingbird, logging,
        ]),
        .swift("AuthorityBroker", "Authority", [
            "AuthorityCore", "AuthorityStore", "ConfigurationFiles", "Cryptography", "LinuxIO",
            "MQTT", "Sessions", "Wire", logging, subprocess,
        ]),
        .swift("AuthorityService", "Authority", [
            "AuthorityBroker", "AuthorityCore", "AuthorityData", "AuthorityHTTP",
            "AuthorityStore", "ConfigurationFiles", "Cryptography", "Gate", "HTTPClient", "LinuxIO",
            "LogOutput", "MQTT", "MetricsServer", "PostgreSQLClient", "Sessions", "WebAuthn",
            "Wire", logging,
        ]),
        .swift("AuthorityCommands", "Authority", [
            "AuthorityBroker", "AuthorityCore", "AuthorityHTTP", "AuthorityService",
            "AuthorityStore", "ConfigurationFiles", "Cryptography", "Doctor", "LinuxIO",
            "LogOutput", "MQTT", "PostgreSQLClient", "Sessions", "Wire", arguments, logging,
        ]),
        .swift("AdminCommands", "Admin", [
            "AgentCore", "ConfigurationFiles", "Cryptography", "Doctor", "FleetSimulator", "Gate",
            "HTTPClient", "LinuxIO", "MQTT", "MetricsServer", "Sessions", "Wire", arguments,
        ]),
        // Simulated boards around the real agent.
        .swift("FleetSimulator", "Simulation", [
            "AgentCore", "AgentCryptography", "ConfigurationFiles", "Cryptography", "Gate",
            "LinuxIO", "MQTT", "MetricsServer", "Sessions", "Wire",
        ], hot),

        // Libraries for programs of others. PosternSession leans on nothing of the house, which has
        // flags that a package with a version may not have. PosternApp is used by its path.
        .swift("PosternApp", "Libraries", ["Gate", "LinuxIO", "MQTT", "Sessions", "Wire"]),
        .swift("PosternSession", "Libraries", [crypto]),

        // Programs: they only wire.
        .program("postern-agent", "Agent", ["AgentCommands", "CWipedMemory"]),
        .program("postern-authority", "Authority", ["AuthorityCommands", "CWipedMemory"]),
        .program("postern", "Admin", ["AdminCommands"]),

        // Tests, and what several of them lean on.
        .target(name: "FreePorts", path: "Tests/FreePorts", swiftSettings: settings),
        .target(name: "PostgresServers", dependencies: ["FreePorts"],
                path: "Tests/PostgresServers", swiftSettings: settings),
        .target(name: "DoctorBreakages", dependencies: ["Doctor", "Sessions", "Wire"],
                path: "Tests/DoctorBreakages", swiftSettings: settings),
        .tests("SessionsTests", ["Sessions"]),
        .tests("GateTests", ["Gate", "Sessions"]),
        .tests("WireTests", ["Wire", "Gate", "Sessions"]),
        .tests("CryptographyTests", ["Cryptography", "Sessions"]),
        .tests("WebAuthnTests", ["Cryptography", "Sessions", "WebAuthn"]),
        .tests("LinuxIOTests", ["LinuxIO"]),
        .tests("HTTPClientTests", ["HTTPClient", "Sessions", "FreePorts"]),
        .tests("MQTTTests", [
            "MQTT", "CSocketBuffer", "LinuxIO", "QRCode", "Sessions", "Wire", "FreePorts",
        ]),
        .tests("ConfigurationFilesTests", ["ConfigurationFiles", "Gate", "Sessions", "Wire"]),
        .tests("AgentCoreTests", [
            "AgentCore", "AgentCryptography", "Cryptography", "Gate", "Sessions", "Wire",
        ]),
        .tests("AgentStoreTests", [
            "AgentCore", "AgentStore", "Cryptography", "LinuxIO", "Gate", "Sessions", "TPM",
            "Wire", "FreePorts",
        ]),
        .tests("DoctorTests", ["Doctor", "LinuxIO", "MQTT", "Sessions", "Wire"]),
        .tests("LogOutputTests", ["LogOutput", "MetricsServer", "LinuxIO", "Sessions", logging]),
        .tests("AgentServiceTests", [
            "AgentCommands", "AgentService", "AgentCore", "AgentStore", "ConfigurationFiles",
            "Cryptography", "Doctor", "Gate", "LinuxIO", "MQTT", "Sessions", "Wire",
            "DoctorBreakages", logging,
        ]),
        .tests("AuthorityTests", [
            "AuthorityBroker", "AuthorityCommands",
            "AuthorityCore", "AuthorityData", "AuthorityStore", "AuthorityService",
            "AuthorityHTTP", "MQTT", "LinuxIO", "Cryptography", "Doctor", "Gate", "Sessions",
            "Wire", "ConfigurationFiles",
            "FreePorts", "PostgresServers", "PostgreSQLClient", grdb, "HTTPClient",
            "DoctorBreakages", "WebAuthn",
        ]),
        .tests("AuthorityDataTests", [
            "AuthorityCore", "AuthorityData", "Gate", "PostgreSQLClient", "PostgresServers",
            "Sessions", "Wire", grdb,
        ]),
        .tests("PostgreSQLClientTests", [
            "FreePorts", "PostgresServers", "PostgreSQLClient", "Sessions",
        ]),
        .tests("AuthorityHTTPTests", [
            "AuthorityHTTP", "AdminCommands", "AuthorityCore", "AuthorityData", "MQTT",
            "MetricsServer", "LinuxIO", "Gate", "Sessions", "WebAuthn", "Wire", "FreePorts",
            "HTTPClient", logging,
        ]),
        .tests("AdminCommandsTests", [
            "AdminCommands", "Doctor", "Gate", "LinuxIO", "MQTT", "MetricsServer", "Sessions",
            "Wire", "DoctorBreakages",
        ]),
        .tests("FleetSimulatorTests", [
            "FleetSimulator", "AdminCommands", "AgentCore", "Cryptography", "Gate", "LinuxIO",
            "MQTT", "Sessions", "Wire",
        ]),
        .tests("LifeTests", [
            "AgentCore", "AgentCryptography", "AuthorityCore", "AuthorityService", "Cryptography",
            "Gate", "Sessions", "WebAuthn", "Wire",
        ], hot),
        .tests("RepositoryTests", []),

        // What the gate is held against: by the fuzzers with their own inputs, by the tests with
        // those that are kept.
        .target(
            name: "Oracles",
            dependencies: ["Gate", "Sessions", "ConfigurationFiles", "WebAuthn", "Wire"],
            path: "Tests/Oracles", swiftSettings: settings),
        // Figures; the C counts allocations, which Swift cannot: it is in no program that ships.
        .target(name: "CAllocations", path: "Tests/Benchmarks/Allocations"),
        .executableTarget(name: "bench-gate", dependencies: ["CAllocations", "Gate", "Sessions"],
                          path: "Tests/Benchmarks/Gate", swiftSettings: settings),
        .executableTarget(
            name: "bench-data",
            dependencies: [
                "AuthorityCore", "AuthorityData", "Gate", "PostgreSQLClient", "PostgresServers",
                "Sessions", "Wire",
            ], path: "Tests/Benchmarks/Data", swiftSettings: settings),
        // What the power-cut sweep records and opens: the board's store without its agent.
        .executableTarget(
            name: "powercut-store",
            dependencies: ["AgentCore", "AgentStore", "Cryptography", "Gate", "Sessions", "Wire"],
            path: "Tests/PowerCut/Store", swiftSettings: settings),
        .tests("DifferentialTests", ["Oracles", "Gate", "Sessions", "Wire"]),
    ] + fuzzers).filter { target in target.type != .test || wanted?.contains(target.name) ?? true }
)
