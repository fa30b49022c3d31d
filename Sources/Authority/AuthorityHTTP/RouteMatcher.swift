import Hummingbird
import Wire

/// Finds the routes of a path, for a request, for a method that a body names in place of its
/// own, and for each request of a batch alike.
///
/// Names are compared after percent-decoding; of two patterns that fit, the one with a name
/// where the other has a parameter wins.
struct RouteMatcher: Sendable {
    /// A path and all that can be done there.
    struct Place: Sendable {
        let routes: [HTTPRequest.Method: Route]
        fileprivate let pattern: [Segment]
        /// The parts of the path that the pattern names.
        fileprivate(set) var parameters: [String: String] = [:]

        /// What HEAD gets is a GET's without its body. Source: RFC 9110 §9.3.2.
        func route(for method: HTTPRequest.Method) -> Route? {
            routes[method] ?? (method == .head ? routes[.get] : nil)
        }

        var allowed: [HTTPRequest.Method] {
            [.get, .post, .put, .patch, .delete, .options].filter { routes[$0] != nil }
        }

        var isParse: Bool { routes.values.contains(where: \.isParse) }
        /// The most that any of its routes takes.
        var bodyLimit: Int { routes.values.map(\.bodyLimit).max() ?? 0 }
        /// Any of its routes: at Parse's paths without a POST all ask for the same.
        var anyRoute: Route? { routes[.put] ?? routes[.get] ?? routes.values.first }
    }

    fileprivate enum Segment: Hashable, Sendable {
        case name(String)
        case parameter(String)

        init(_ text: Substring) {
            self = text.hasPrefix(":")
                ? .parameter(String(text.dropFirst())) : .name(String(text))
        }
    }

    /// By the number of segments; the ones with names first.
    private let places: [Int: [Place]]

    init(_ routes: [Route]) {
        let patterns = Dictionary(grouping: routes) { route in
            route.path.split(separator: "/").map(Segment.init)
        }
        let places = patterns.map { pattern, routes in
            Place(
                routes: Dictionary(
                    routes.map { ($0.method, $0) }, uniquingKeysWith: { first, _ in first }),
                pattern: pattern)
        }
        self.places = Dictionary(grouping: places, by: \.pattern.count).mapValues { group in
            group.sorted { Self.rank($0).lexicographicallyPrecedes(Self.rank($1)) }
        }
    }

    /// `GET /parse/users/:id` of each route.
    var names: [String] {
        places.values.joined().flatMap { $0.routes.values.map { "\($0.methodName) \($0.path)" } }
    }

    /// Nil where there is nothing.
    func place(of path: String) -> Place? {
        let parts = path.split(separator: "/")
        guard let candidates = places[parts.count] else { return nil }
        var names: [String] = []
        for part in parts {
            guard let name = PercentEncoding.decode(String(part)) else { return nil }
            names.append(name)
        }
        for var place in candidates {
            if let found = Self.parameters(of: names, in: place.pattern) {
                place.parameters = found
                return place
            }
        }
        return nil
    }

    private static func parameters(
        of names: [String], in pattern: [Segment]
    ) -> [String: String]? {
        var found: [String: String] = [:]
        for (name, segment) in zip(names, pattern) {
            switch segment {
            case .name(let expected):
                guard name == expected else { return nil }
            case .parameter(let parameter): found[parameter] = name
            }
        }
        return found
    }

    private static func rank(_ place: Place) -> [Int] {
        place.pattern.map { segment in if case .name = segment { 0 } else { 1 } }
    }
}
