package import Sessions

/// Where other people's topics enter: the routes of `agent.toml`, ready to be asked.
package struct RouteTable: Sendable {
    /// In the file's order.
    package let routes: [Route]

    package init(_ routes: [Route] = []) { self.routes = routes }

    /// What a message on `topic` would write; nil where no route takes it.
    package func entry(of topic: String) -> RouteEntry? {
        guard let route = routes.first(where: { $0.from.matches(topic) }) else { return nil }
        return .write(RoutedWrite(
            app: route.app, className: route.className, operation: route.operation, record: nil,
            destination: nil))
    }
}

/// What a route makes of one topic.
package enum RouteEntry: Equatable, Sendable {
    case write(RoutedWrite)
    /// A level of the topic is no name of a class or record; the app that the route stands for.
    case refused(AppName, Rejection)
}

/// A message of another program's, as the gate is asked about it.
package struct RoutedWrite: Equatable, Sendable {
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    /// Nil exactly for `create`.
    package let record: RecordID?
    /// The upstream topic that the route names; nil: the contract's for this write.
    package let destination: String?

    package init(
        app: AppName, className: ClassName, operation: Operation, record: RecordID?,
        destination: String?
    ) {
        self.app = app
        self.className = className
        self.operation = operation
        self.record = record
        self.destination = destination
    }
}
