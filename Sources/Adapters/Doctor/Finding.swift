/// What a check came to.
package enum CheckResult: String, Comparable, CaseIterable, Sendable {
    case ok, skipped, warning, failed

    package static func < (left: Self, right: Self) -> Bool { left.weight < right.weight }

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
package struct Finding: Equatable, Sendable {
    package let result: CheckResult
    package let found: String
    /// Nil where nothing is to be done.
    package let next: String?

    package static func ok(_ found: String) -> Self {
        Self(result: .ok, found: found, next: nil)
    }

    /// Not known, for a reason that another check tells, or that is no fault.
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
