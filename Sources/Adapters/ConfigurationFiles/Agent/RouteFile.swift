package import Gate
package import Wire

/// A file of routes alone: `[[route]]` as in `agent.toml`.
package enum RouteFile {
    /// Reads the text. Any fault refuses the whole file. No variable overrides it.
    package static func parse(
        _ text: String, file: String, under root: TopicRoot
    ) throws(SettingsError) -> [Route] {
        let document = try TOMLDocument(text, file: file, environment: { _ in nil }).root
        try document.allow(only: .routes)
        return try BoardSettings.routes(document.sections("route"), under: root)
    }

    /// Writes routes so that `parse` reads the same. Nil if there are none.
    package static func text(of routes: [Route]) -> String? {
        guard !routes.isEmpty else { return nil }
        return routes.map(text).joined(separator: "\n")
    }

    private static func text(of route: Route) -> String {
        let declared = route.declaration
        let values = [
            ("from", declared.from.description), ("app", declared.app.description),
            ("class", declared.className), ("op", declared.operation.rawValue),
            ("object_id", declared.objectID), ("to", declared.to),
        ]
        let lines = values.compactMap { name, value in
            value.map { "\(name) = \(TOMLText.quoted($0))\n" }
        }
        return "[[route]]\n" + lines.joined()
    }
}
