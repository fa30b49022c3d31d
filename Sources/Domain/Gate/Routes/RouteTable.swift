import Sessions

/// Where other people's topics enter: the routes of `agent.toml`, ready to be asked.
package struct RouteTable: Sendable {
    /// In the file's order.
    package let routes: [Route]
    /// The write that each route always comes to; nil where it depends on the topic.
    private let fixed: [NamedWrite?]
    private let trie: TopicTrie

    /// `routes` do not overlap, see `TopicFilter.firstOverlap(in:)`.
    package init(_ routes: [Route] = []) {
        self.routes = routes
        trie = TopicTrie(routes.map(\.from))
        fixed = routes.map { route in
            guard route.isFixed, case .write(let write) = route.entry(of: "") else { return nil }
            return write
        }
    }

    /// What a message on `topic` would write; nil where no route takes it, and for every topic
    /// that begins with `$`, whatever a route says.
    ///
    /// Takes no longer with more routes. Does not allocate where the topic has no part in the
    /// write.
    package func entry(of topic: String) -> RouteEntry? {
        let bytes = topic.utf8.span
        guard !bytes.isEmpty, bytes[0] != TopicByte.dollar, let index = trie.match(bytes) else {
            return nil
        }
        if let write = fixed[index] { return .write(write) }
        return routes[index].entry(of: topic)
    }

    /// What the route of a refused topic says of it: its operation, and its class if it names
    /// one. Nil where no route takes the topic.
    package func stated(of topic: String) -> (operation: String, className: String)? {
        trie.match(topic.utf8.span).map { index in
            let route = routes[index]
            return (route.operation.rawValue, route.className?.description ?? "")
        }
    }
}

/// What a route makes of one topic.
package enum RouteEntry: Equatable, Sendable {
    case write(NamedWrite)
    /// A level of the topic is no name of a class or record; the app that the route stands for.
    case refused(AppName, Rejection)
}
