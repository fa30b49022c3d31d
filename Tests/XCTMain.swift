import Foundation
import Testing

/// Where the tests begin. SwiftPM takes the file by its name. Without it, SwiftPM searches the
/// compiler's index for XCTest's tests, which there are none of, and the debug build has no index.
@main
struct TestRunner {
    static func main() async {
        // `swift test` also starts the program for XCTest's tests.
        guard CommandLine.arguments.contains("swift-testing") else { exit(0) }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
