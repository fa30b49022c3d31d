/// What a check came to.
enum CheckResult: String, Comparable, CaseIterable {
    case ok, skipped, warning, failed

    static func < (left: Self, right: Self) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .ok: 0
        case .skipped: 1
        case .warning: 2
        case .failed: 3
        }
    }
}

/// What one check found, and what to do about it.
struct Finding: Equatable {
    let result: CheckResult
    let found: String
    /// Nil where nothing is to be done.
    let next: String?

    static func ok(_ found: String) -> Self { Self(result: .ok, found: found, next: nil) }

    /// Not known, for a reason that another check tells.
    static func skipped(_ why: String) -> Self { Self(result: .skipped, found: why, next: nil) }

    static func warning(_ found: String, next: String) -> Self {
        Self(result: .warning, found: found, next: next)
    }

    static func failed(_ found: String, next: String) -> Self {
        Self(result: .failed, found: found, next: next)
    }
}

/// What a check is about; results are shown under it.
enum CheckGroup: String, CaseIterable {
    case configuration, agent, rules, bus, board, uplink, versions
}

/// One thing that may be wrong with a board. Its id is never renamed.
struct Check: Sendable {
    let id: String
    let group: CheckGroup
    /// What it looks at, for `--list`.
    let about: String
    /// Decides from the facts alone.
    let judge: @Sendable (BoardFacts) -> Finding

    static let all =
        configuration + agent + rules + bus + board + uplink + versions
}
