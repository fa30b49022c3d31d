/// Finds routes whose writes are never allowed.
extension PolicyLint {
    /// Checks app, class, operation and topic, but not the payload.
    func refusedRoutes() -> [PolicyFinding] {
        let gate = Gate(policy: policy, scope: scope)
        return routes.compactMap { refusedWrite($0, gate) ?? refusedTopic($0) }
    }

    private func refusedWrite(_ route: Route, _ gate: Gate) -> PolicyFinding? {
        // If a level of the topic names the class, the class is known only when a message arrives.
        guard let className = route.className,
            let refusal = gate.refusalWhateverPayload(route.app, className, route.operation)
        else { return nil }
        return finding(route, refusal.rule, """
            the route from \(route.from) brings in \(route.operation.rawValue) \
            \(className) of \(route.app), which \(refusal.rule) always refuses; \
            allow it there or drop the route
            """)
    }

    private func refusedTopic(_ route: Route) -> PolicyFinding? {
        guard let scope, let to = route.to, let topics = to.topicsElsewhere(from: route.from),
            !scope.topics.contains(where: { $0.overlaps(topics) })
        else { return nil }
        return finding(route, .scopeTopics, """
            the route from \(route.from) leads to \(to), which scope:topics never grants; \
            add it to the scope's topics, or use {data}/… instead
            """)
    }

    private func finding(_ route: Route, _ rule: RuleID, _ text: String) -> PolicyFinding {
        PolicyFinding(
            kind: .routeRefused, rule: rule, place: .route(line: route.line), text: text)
    }
}
