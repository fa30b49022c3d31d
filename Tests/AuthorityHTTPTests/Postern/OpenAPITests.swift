import AuthorityHTTP
import Foundation
import Logging
import Testing

/// The published description of the HTTP API against the routes that there are, both ways.
/// `Tests/Interop/test_openapi.py` calls them by it.
@Suite("OpenAPI")
struct OpenAPITests {
    @Test("describes every route, and none that is not there")
    func routes() throws {
        let described = Set(try Self.operations())
        let server = ConsoleServer(
            frontend: StubFrontend(), listen: (host: "127.0.0.1", port: 0),
            logger: Logger(label: "console", factory: { _ in SwiftLogNoOpLogHandler() }))
        // The classes that have routes of their own are found under both names.
        let served = Set(server.routeNames.map(Self.plain).filter { !$0.contains("/classes/_") })
        #expect(described.subtracting(served).sorted() == [])
        #expect(served.subtracting(described).sorted() == [])
    }

    /// `GET /boards/{}` of each operation. The file writes a path in two columns, and a method
    /// below it in four.
    private static func operations() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Provisioning/openapi.yaml")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        var path = ""
        var found: [String] = []
        for line in lines {
            if line.hasPrefix("  /"), line.hasSuffix(":") {
                path = String(line.dropFirst(2).dropLast()).replacing(#/\{\w+\}/#, with: "{}")
            } else if let method = line.wholeMatch(of: #/ {4}(get|put|post|delete|patch):/#)?.1 {
                found.append("\(method.uppercased()) \(path)")
            }
        }
        return found
    }

    private static func plain(_ route: String) -> String {
        route.replacing(#/:\w+/#, with: "{}")
    }
}
