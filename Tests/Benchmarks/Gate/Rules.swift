import Gate
import Sessions

/// Policies, scopes, routes and writes of any size, none of them looking into a payload.
struct Rules {
    let gate: Gate
    let writes: [Write]
    private static let apps = (0..<40).compactMap { AppName("app-\($0)") }

    /// A policy of `count` rules and a scope of as many, at most the 1,000 that a scope may have.
    init(count: Int, hasRates: Bool = false) throws {
        let rate = hasRates ? try Rate("1000000/s") : nil
        func rules(_ count: Int, _ id: (Int) -> RuleID, _ rate: Rate?) -> [Rule] {
            (1...count).map { number in
                Rule(
                    id: id(number), app: number % 3 == 0 ? nil : Self.app(number),
                    className: Self.name(number), allow: [.create, .update], fields: nil,
                    maxBytes: ByteCount(bytes: 4096), rate: rate)
            }
        }
        let limits = Dictionary(uniqueKeysWithValues: Self.apps.map {
            ($0, AppLimit(rate: rate, maxBytes: ByteCount(bytes: 65_536)))
        })
        gate = Gate(
            policy: Policy(
                allowsByDefault: false, apps: limits, rules: rules(count, RuleID.policy, rate)),
            scope: Scope(
                allowsByDefault: true, rules: rules(min(count, 1000), RuleID.scope, nil),
                topics: []))
        // All over the list, refused ones too: one in nine deletes, one in nine has no rule, one
        // names a protected class.
        let payload = Array(#"{"celsius":21.5,"unit":"C"}"#.utf8)
        writes = (0..<1024).compactMap { index in
            let number = 1 + index * 7919 % count
            let isKnown = index % 9 != 4
            let name =
                index % 128 == 77 ? ClassName("_User")
                : isKnown ? Self.name(number) : ClassName("Unheard\(index)")
            return name.map {
                Write(
                    app: Self.app(number), className: $0,
                    operation: index % 9 == 7 ? .delete : .create, payload: payload)
            }
        }
    }

    private static func app(_ number: Int) -> AppName { apps[number % apps.count] }

    private static func name(_ number: Int) -> ClassName? { ClassName("Reading\(number)") }
}

/// Routes as a home has them, and topics that they take.
struct Routes {
    let table: RouteTable
    let topics: [String]

    init(count: Int) {
        var routes: [Route] = []
        var topics: [String] = []
        for number in 1...count {
            let forms = [
                "zigbee2mqtt/room\(number)/+", "tele/plug\(number)/SENSOR", "home\(number)/#",
            ]
            guard let filter = TopicFilter(forms[number % 3]), let app = AppName("home"),
                let name = ClassName("Reading\(number)")
            else { continue }
            routes.append(
                Route(line: number, from: filter, app: app, className: name, operation: .create))
            topics.append(
                filter.description.replacing("+", with: "lamp").replacing("#", with: "a/b/c"))
        }
        topics.append("tele/plug/STATE")
        table = RouteTable(routes)
        self.topics = topics
    }
}
