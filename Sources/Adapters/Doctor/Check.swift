/// The facts that checks decide from. A probe is a part of gathering them that takes time or that
/// others may notice. A probe that no check needs is not run.
package protocol Examined: Sendable {
    associatedtype Probe: Hashable, Sendable
}

/// The subject of a check. Results are grouped by it, in this order.
package enum CheckGroup: String, CaseIterable, Sendable {
    case configuration, agent, authority, rules, bus, board, login, storage, uplink, broker, page
    case versions
}

/// One check for a possible fault. Its id is never renamed.
package struct Check<Facts: Examined>: Sendable {
    package let id: String
    package let group: CheckGroup
    /// The expected state, for people.
    package let about: String
    /// The consequence if the check fails.
    package let why: String
    package let needs: Set<Facts.Probe>
    /// Decides only from the facts.
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
