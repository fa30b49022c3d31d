import Gate
package import Sessions
import Wire

/// The checks of one run of `doctor`, and the probes that they need.
package struct Examination<Facts: Examined>: Sendable {
    package let checks: [Check<Facts>]

    /// All checks without these ids. Throws for an unknown id.
    package init(
        _ all: [Check<Facts>], without ids: [String]
    ) throws(UnknownCheck) {
        for id in ids where !all.contains(where: { $0.id == id }) {
            let nearest = all.map(\.id).min {
                EditDistance.between(id, $0) < EditDistance.between(id, $1)
            }
            throw UnknownCheck(id: id, nearest: nearest)
        }
        checks = all.filter { !ids.contains($0.id) }
    }

    /// The probes that the checks need.
    package var probes: Set<Facts.Probe> {
        checks.reduce(into: []) { $0.formUnion($1.needs) }
    }

    package func report(_ facts: Facts) -> DoctorReport {
        DoctorReport(checks, facts)
    }
}

/// An id that no check has.
package struct UnknownCheck: Error, Equatable, CustomStringConvertible {
    package let id: String
    package let nearest: String?

    package var description: String {
        "there is no check \"\(id)\"" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
    }
}

/// The description of a check, without its code.
package struct CheckNote: Equatable, Sendable {
    package let id: String
    package let group: CheckGroup
    package let about: String
    package let why: String

    package init<Facts>(_ check: Check<Facts>) {
        id = check.id
        group = check.group
        about = check.about
        why = check.why
    }

    /// For `--list`: a line for the check, and below it why it matters.
    package var lines: [String] {
        ["\(id.padded)\(group.rawValue): \(about)", "".padded + why]
    }

    /// For `--list --json`.
    package static func json(_ notes: [CheckNote]) -> JSONValue {
        .object(["checks": .array(notes.map { note in
            .object([
                "id": .string(note.id), "group": .string(note.group.rawValue),
                "about": .string(note.about), "why": .string(note.why),
            ])
        })])
    }
}

extension String {
    /// Padded with spaces to 18 characters, with at least one space.
    var padded: String { self + String(repeating: " ", count: max(1, 18 - count)) }
}
