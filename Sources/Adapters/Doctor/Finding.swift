/// The result of a check.
package enum CheckResult: String, Comparable, CaseIterable, Sendable {
    case ok, note, skipped, warning, failed

    package static func < (left: Self, right: Self) -> Bool { left.weight < right.weight }

    private var weight: Int {
        switch self {
        case .ok: 0
        case .note: 1
        case .skipped: 2
        case .warning: 3
        case .failed: 4
        }
    }
}

/// The result of one check, and the next step.
package struct Finding: Equatable, Sendable {
    package let result: CheckResult
    package let found: String
    /// Nil if nothing needs to be done.
    package let next: String?

    package static func ok(_ found: String) -> Self {
        Self(result: .ok, found: found, next: nil)
    }

    /// A weakness that nobody can remove on this machine. The exit status does not show it.
    package static func note(_ found: String) -> Self {
        Self(result: .note, found: found, next: nil)
    }

    /// The check has no result, because another check explains it or because it does not apply.
    package static func skipped(_ why: String) -> Self {
        Self(result: .skipped, found: why, next: nil)
    }

    package static func warning(_ found: String, next: String) -> Self {
        Self(result: .warning, found: found, next: next)
    }

    package static func failed(_ found: String, next: String) -> Self {
        Self(result: .failed, found: found, next: next)
    }
}
