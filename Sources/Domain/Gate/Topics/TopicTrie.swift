/// Finds a filter that matches a topic. The time does not grow with the number of filters.
///
/// A tree over the levels, built once. One table holds the named children of all nodes, found by
/// the hash of parent and name. If filters overlap, the result is any one that matches. A search
/// then visits at most the nodes whose path the topic matches.
struct TopicTrie: Sendable {
    private static let none: Int32 = -1

    private struct Node {
        /// The child for `+`.
        var one = none
        /// The filter whose `#` is the next level.
        var many = none
        /// The filter that ends here.
        var end = none
        var hasNames = false
    }

    /// An entry of the table. The entry is free if `child` is `none`.
    private struct Edge {
        var hash: UInt32 = 0
        var parent = none
        var child = none
        /// The start of the name in `names`, and its length.
        var start = 0
        var count = 0
    }

    private var nodes = [Node()]
    private var edges = [Edge()]
    /// The names of all levels, one after the other.
    private var names: [UInt8] = []

    /// If two filters are equal, the first one counts.
    init(_ filters: [TopicFilter]) {
        var children: [Place: Int32] = [:]
        for (index, filter) in filters.enumerated() {
            insert(filter, Int32(clamping: index), &children)
        }
        hang(children)
    }

    private struct Place: Hashable {
        let parent: Int32
        let name: [UInt8]
    }

    private mutating func insert(
        _ filter: TopicFilter, _ index: Int32, _ children: inout [Place: Int32]
    ) {
        var node = 0
        for level in filter.description.topicLevels {
            let name = Array(level.utf8)
            if name == [TopicByte.many] {
                if nodes[node].many == Self.none { nodes[node].many = index }
                return
            }
            let isOne = name == [TopicByte.one]
            let place = Place(parent: Int32(clamping: node), name: name)
            let known = isOne ? nodes[node].one : children[place] ?? Self.none
            let child = known == Self.none ? Int32(clamping: nodes.count) : known
            if known == Self.none {
                nodes.append(Node())
                if isOne { nodes[node].one = child } else { children[place] = child }
            }
            nodes[node].hasNames = nodes[node].hasNames || !isOne
            node = Int(child)
        }
        if nodes[node].end == Self.none { nodes[node].end = index }
    }

    /// Fills the table to at most half of its size.
    private mutating func hang(_ children: [Place: Int32]) {
        var size = 1
        while size < children.count * 2 + 1 { size *= 2 }
        edges = [Edge](repeating: Edge(), count: size)
        for (place, child) in children {
            let hash = Self.hash(place.name.span, 0, place.name.count, under: place.parent)
            var slot = Int(hash) & (size - 1)
            while edges[slot].child != Self.none { slot = (slot + 1) & (size - 1) }
            edges[slot] = Edge(
                hash: hash, parent: place.parent, child: child, start: names.count,
                count: place.name.count)
            names += place.name
        }
    }

    /// The index of a filter that matches. Nil if none does, or if `topic` is not a valid topic.
    /// Does not allocate.
    func match(_ topic: Span<UInt8>) -> Int? {
        guard !topic.isEmpty, topic.count <= TopicFilter.longest else { return nil }
        var index = 0
        while index < topic.count {
            guard TopicByte.isPlain(topic[index]) else { return nil }
            index += 1
        }
        let found = find(below: 0, from: 0, in: topic)
        return found == Self.none ? nil : Int(found)
    }

    /// `start` is the start of a level. If it is past the end of the topic, no level is left.
    private func find(below node: Int, from start: Int, in topic: Span<UInt8>) -> Int32 {
        let here = nodes[node]
        if start > topic.count {
            // `sport/#` also matches its parent, `sport`.
            return here.end == Self.none ? here.many : here.end
        }
        var end = start
        while end < topic.count, topic[end] != TopicByte.separator { end += 1 }
        if here.hasNames {
            let child = child(of: Int32(truncatingIfNeeded: node), start, end, topic)
            if child != Self.none {
                let found = find(below: Int(child), from: end + 1, in: topic)
                if found != Self.none { return found }
            }
        }
        // Source: MQTT 5.0 §4.7.2.
        if start == 0, topic[0] == TopicByte.dollar { return Self.none }
        if here.one != Self.none {
            let found = find(below: Int(here.one), from: end + 1, in: topic)
            if found != Self.none { return found }
        }
        return here.many
    }

    private func child(
        of parent: Int32, _ start: Int, _ end: Int, _ topic: Span<UInt8>
    ) -> Int32 {
        let hash = Self.hash(topic, start, end, under: parent)
        let mask = edges.count - 1
        var slot = Int(hash) & mask
        while edges[slot].child != Self.none {
            let edge = edges[slot]
            if edge.hash == hash, edge.parent == parent, isName(of: edge, start, end, topic) {
                return edge.child
            }
            slot = (slot + 1) & mask
        }
        return Self.none
    }

    private func isName(
        of edge: Edge, _ start: Int, _ end: Int, _ topic: Span<UInt8>
    ) -> Bool {
        guard edge.count == end - start else { return false }
        var index = 0
        while index < edge.count {
            guard names[edge.start + index] == topic[start + index] else { return false }
            index += 1
        }
        return true
    }

    /// FNV-1a, starting from the parent's number. The names come from the board's own file, so
    /// nobody can make the table slow by choosing topics.
    private static func hash(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, under parent: Int32
    ) -> UInt32 {
        var hash: UInt32 = (2_166_136_261 ^ UInt32(bitPattern: parent)) &* 16_777_619
        var index = start
        while index < end {
            hash = (hash ^ UInt32(bytes[index])) &* 16_777_619
            index += 1
        }
        return hash ^ hash >> 15
    }
}
