// swift-tools-version: 6.2

import PackageDescription

// An app's package, as its maker writes it: it knows the library by its path, and nothing else of
// this repository.
let library = Target.Dependency.product(name: "PosternApp", package: "postern")

let package = Package(
    name: "board-app",
    dependencies: [.package(name: "postern", path: "../../..")],
    targets: [
        .executableTarget(name: "thermo", dependencies: [library]),
        .executableTarget(name: "board-app", dependencies: [library]),
    ]
)
