// swift-tools-version: 6.2

import PackageDescription

// A program of somebody else: it sees only what is public, and builds nothing else of the package.
let package = Package(
    name: "session-app",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "postern", path: "../../..", traits: ["EncryptedFile"])],
    targets: [
        .executableTarget(
            name: "session-app",
            dependencies: [.product(name: "PosternSession", package: "postern")],
            swiftSettings: [
                .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
    ]
)
