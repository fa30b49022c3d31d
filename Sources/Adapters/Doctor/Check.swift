/// What checks decide from. A probe is a part of the gathering that takes time or that somebody
/// else notices; what no check needs is not probed.
package protocol Examined: Sendable {
    associatedtype Probe: Hashable, Sendable
}

/// What a check is about; results are shown under it, in this order.
package enum CheckGroup: String, CaseIterable, Sendable {
    case configuration, agent, authority, rules, bus, board, login, storage, uplink, broker, page
    case versions
}

/// One thing that may be wrong. Its id is never renamed.
package struct Check<Facts: Examined>: Sendable {
    package let id: String
    package let group: CheckGroup
    /// What it looks at.
    package let about: String
    /// What goes wrong where it fails.
    package let why: String
    package let needs: Set<Facts.Probe>
    /// Decides from the facts alone.
    package let judge: @Sendable (Facts) -> Finding

    package init(
        id: String, group: CheckGroup, about: String, why: String, needs: Set<Facts.Probe> = [],
        judge: @escaping @Sendable (Facts) -> Finding
    ) {
        self.id = id
        self.group = group
        self.about = about
        self.why = why
        self.needs = needs
        self.judge = judge
    }
}
