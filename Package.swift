// swift-tools-version: 6.2

import PackageDescription

/// Settings of every target: Swift 6, and nothing unsafe that does not say so.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .strictMemorySafety(),
] + (Context.environment["CI"] == nil ? [] : [.treatAllWarnings(as: .error)])

extension Target {
    static func swift(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
        .target(name: name, dependencies: dependencies, swiftSettings: settings)
    }

    static func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
        .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
    }

    static func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
        .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
    }
}

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
let toml = Target.Dependency.product(name: "TOMLKit", package: "TOMLKit")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")

/// Off unless asked for, `--traits PostgreSQL`: a board and a house have no use for libpq.
let postgreSQL = TargetDependencyCondition.when(traits: ["PostgreSQL"])

let package = Package(
    name: "postern",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "postern-agent", targets: ["postern-agent"]),
        .executable(name: "postern-authority", targets: ["postern-authority"]),
        .executable(name: "postern", targets: ["postern"]),
    ],
    traits: [
        .trait(name: "PostgreSQL", description: "An authority that keeps its records there."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // C, as module maps; the two pieces of our own say in their headers why they are C.
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto",
                       providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto",
                       providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3",
                       providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode",
                       providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CLinux"),
        .target(name: "CSocketBuffer"),
        .target(name: "CTSS2"),

        // Domain.
        .swift("Sessions"),
        .swift("Gate", ["Sessions"]),

        // Cores.
        .swift("Wire", ["Sessions", "Gate"]),
        .swift("AgentCore", ["Sessions", "Gate", "Wire"]),
        .swift("AuthorityCore", ["Sessions", "Gate", "Wire"]),

        // Adapters.
        .swift("Mosquitto", ["CMosquitto", "COpenSSL", "CSocketBuffer", "LinuxIO", "Sessions",
                             "Wire"]),
        .swift("Cryptography", ["COpenSSL", "Sessions"]),
        .swift("LinuxIO", ["CLinux"]),
        .swift("BrokerClient", ["Mosquitto", "LinuxIO", "Wire"]),
        .swift("QRCode", ["CQREncode"]),
        .swift("Figures", ["LinuxIO"]),
        .swift("Journal", ["LinuxIO", "Sessions", "Wire", logging]),
        .swift("Settings", ["Sessions", "Gate", "Wire", toml]),
        .swift("TrustedPlatform", ["CTSS2", "Sessions"]),
        .swift("Diagnosis", ["Gate", "LinuxIO", "Mosquitto", "Sessions", "Wire", arguments]),
        .swift("BoardStore", ["CSQLite", "Cryptography", "LinuxIO", "Sessions", "Gate",
                              "TrustedPlatform"]),
        .swift("Board", ["AgentCore", "BoardStore", "Settings", "Cryptography", "Diagnosis",
                         "Figures", "Gate", "Journal", "LinuxIO", "Mosquitto", "QRCode",
                         "Sessions", "TrustedPlatform", "Wire", logging,
                         arguments]),
        .swift("AuthorityStore", ["AuthorityCore", "Sessions", "Gate", "Wire", grdb]),
        .swift("PostgreSQLStore", [
            "AuthorityCore", "AuthorityStore", "LinuxIO", "Sessions", "Gate", "Wire",
            .target(name: "CPostgreSQL", condition: postgreSQL),
        ]),
        .swift("Console", ["AuthorityCore", "Sessions", "Gate", "Wire", hummingbird,
                            hummingbirdTLS, logging]),
        .swift("AuthorityService", ["AuthorityCore", "AuthorityStore", "Settings", "Console",
                                    "Cryptography", "Diagnosis", "Figures", "Gate", "Journal",
                                    "LinuxIO",
                                    "Mosquitto", "BrokerClient", "Sessions", "Wire", logging,
                                    .target(name: "PostgreSQLStore", condition: postgreSQL),
                                    arguments, subprocess, httpClient]),
        .swift("Commands", ["Settings", "Cryptography", "Diagnosis", "Gate", "LinuxIO", "Mosquitto",
                            "BrokerClient", "Sessions", "Wire", arguments, httpClient]),

        // Programs: they only wire.
        .program("postern-agent", ["Board"]),
        .program("postern-authority", ["AuthorityService"]),
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
        .tests("MosquittoTests", ["Mosquitto", "BrokerClient", "LinuxIO", "QRCode", "Sessions",
                                  "Wire", "FreePorts"]),
        .tests("SettingsTests", ["Settings", "Gate", "Sessions", "Wire"]),
        .tests("AgentCoreTests", ["AgentCore", "Board", "Cryptography", "Gate", "Sessions",
                                  "Wire"]),
        .tests("BoardStoreTests", ["BoardStore", "Cryptography", "LinuxIO", "Gate", "Sessions",
                                   "TrustedPlatform", "FreePorts"]),
        .tests("DiagnosisTests", ["Diagnosis", "LinuxIO", "Mosquitto", "Sessions", "Wire"]),
        .tests("JournalTests", ["Journal", "Figures", "LinuxIO", "Sessions", logging]),
        .tests("BoardTests", ["Board", "AgentCore", "BoardStore", "Diagnosis", "Gate",
                              "LinuxIO", "Mosquitto",
                              "Sessions", "Wire"]),
        .tests("AuthorityTests", ["AuthorityCore", "AuthorityStore", "AuthorityService", "Console",
                                  "BrokerClient", "LinuxIO", "Mosquitto", "Cryptography",
                                  "Diagnosis", "Gate", "Sessions", "Wire", "Settings",
                                  "FreePorts", "PostgresServers", grdb, httpClient,
                                  .target(name: "PostgreSQLStore", condition: postgreSQL)]),
        .tests("PostgreSQLStoreTests", [
            "AuthorityCore", "AuthorityStore", "FreePorts", "PostgresServers", "Sessions",
            .target(name: "PostgreSQLStore", condition: postgreSQL),
        ]),
        .tests("ConsoleTests", ["Console", "Commands", "AuthorityCore", "BrokerClient", "LinuxIO",
                                "Mosquitto", "Gate", "Sessions", "Wire", "FreePorts", httpClient,
                                logging]),
        .tests("CommandsTests", ["Commands", "Cryptography", "Diagnosis", "Gate", "LinuxIO",
                                 "Mosquitto", "Wire", "Sessions"]),
        .tests("LifeTests", ["AgentCore", "AuthorityCore", "AuthorityService", "Board",
                             "Cryptography", "Gate", "Sessions", "Wire"]),
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
            dependencies: ["BoardStore", "Cryptography", "Gate", "Sessions"],
            path: "Tests/PowerCut/Store", swiftSettings: settings),
        .tests("DifferentialTests", ["Oracles", "Gate", "Sessions", "Wire"]),
    ] + fuzzers
)
