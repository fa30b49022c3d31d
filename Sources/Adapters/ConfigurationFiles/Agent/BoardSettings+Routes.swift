import Gate
import Wire

/// Reads `[[route]]`: the mappings from foreign topics to writes.
extension BoardSettings {
    /// Each route is one subscription at the board's own broker.
    private static let routeLimit = 1000

    /// Reads all routes. Two routes must not overlap: one message would become two writes.
    static func routes(
        _ sections: [(line: Int, section: TOMLSection)], under root: TopicRoot
    ) throws(SettingsError) -> [Route] {
        if sections.count > routeLimit {
            throw sections[routeLimit].section.fault(
                "from", "there are at most \(routeLimit) routes")
        }
        let reserved = ["\(root)/#"].compactMap(TopicFilter.init) + BusTopic.own
        var routes: [Route] = []
        for (line, section) in sections {
            routes.append(try route(section, line: line, reserved: reserved))
        }
        if let (earlier, later) = TopicFilter.firstOverlap(in: routes.map(\.from)) {
            throw sections[later].section.fault(
                "from", "\"\(routes[later].from)\" overlaps \"\(routes[earlier].from)\" of the"
                    + " route on line \(routes[earlier].line): a topic has at most one route")
        }
        return routes
    }

    private static func route(
        _ section: TOMLSection, line: Int, reserved: [TopicFilter]
    ) throws(SettingsError) -> Route {
        let from = try section.value("from", SettingValue.topicFilter)
        let app = try section.value("app", SettingValue.appName)
        let operation = try section.value("op", SettingValue.operation)
        let declared = RouteDeclaration(
            from: try section.need("from", from),
            app: try section.need("app", app),
            className: try section.need("class", section.text("class")),
            operation: try section.need("op", operation),
            objectID: try section.text("object_id"),
            to: try section.text("to"))
        do throws(RouteFault) {
            return try Route(declared, line: line, reserved: reserved)
        } catch {
            throw section.fault(error.key, error.sentence)
        }
    }
}
