import Sessions

/// The routes of `agent.toml`, prepared for a fast search by topic.
package struct RouteTable: Sendable {
    /// In the file's order.
    package let routes: [Route]
    /// The write that a route always gives; nil if it depends on the topic.
    private let fixed: [NamedWrite?]
    private let trie: TopicTrie

    /// `routes` must not overlap, see `TopicFilter.firstOverlap(in:)`.
    package init(_ routes: [Route] = []) {
        self.routes = routes
        trie = TopicTrie(routes.map(\.from))
        fixed = routes.map { route in
            guard route.isFixed, case .write(let write) = route.entry(of: "") else { return nil }
            return write
        }
    }

    /// The write that a message on `topic` asks for. Nil if no route matches, and always nil for a
    /// topic that begins with `$`.
    ///
    /// The time does not grow with the number of routes. Does not allocate if the write does not
    /// depend on the topic.
    package func entry(of topic: String) -> RouteEntry? {
        let bytes = topic.utf8.span
        guard !bytes.isEmpty, bytes[0] != TopicByte.dollar, let index = trie.match(bytes) else {
            return nil
        }
        if let write = fixed[index] { return .write(write) }
        return routes[index].entry(of: topic)
    }

    /// The operation that the route of a refused topic states, and its class if it names one. Nil
    /// if no route matches the topic.
    package func stated(of topic: String) -> (operation: String, className: String)? {
        trie.match(topic.utf8.span).map { index in
            let route = routes[index]
            return (route.operation.rawValue, route.className?.description ?? "")
        }
    }
}

/// The result of a route for one topic.
package enum RouteEntry: Equatable, Sendable {
    case write(NamedWrite)
    /// A level of the topic is not a valid class, record or destination. Names the route's app.
    case refused(AppName, Rejection)
}
