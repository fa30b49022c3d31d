import AuthorityCore
import Sessions
import Wire

/// The part of a `where` that a store cuts by an index. The rest is tested object by object.
struct WhereBounds: Sendable {
    private(set) var createdAt: ClosedRange<Timestamp>?
    private(set) var updatedAt: ClosedRange<Timestamp>?
    private(set) var installation: InstallationID?
    /// `objectId` by `$in` or by itself.
    private(set) var objects: Set<RecordID>?
    /// Whether no object can match, because two bounds exclude each other.
    private(set) var isEmpty = false
    /// The conditions that the bounds do not express.
    private(set) var rest: WhereClause

    private static let always = Timestamp(milliseconds: 0)...Timestamp(milliseconds: .max)

    /// Takes the conditions that every match must meet: those of the clause itself and of `$and`.
    init(_ clause: WhereClause) {
        rest = clause
        rest.condition = .all(take(clause.condition))
    }

    private mutating func take(_ condition: WhereClause.Condition) -> [WhereClause.Condition] {
        switch condition {
        case .all(let parts): parts.flatMap { take($0) }
        case .member(let path, let test): take(path, test) ? [] : [condition]
        case .any, .none: [condition]
        }
    }

    private mutating func take(_ path: [String], _ test: WhereClause.Test) -> Bool {
        switch (path, test) {
        case (["createdAt"], _):
            guard let range = Self.range(test) else { return false }
            createdAt = common(range, createdAt)
        case (["updatedAt"], _):
            guard let range = Self.range(test) else { return false }
            updatedAt = common(range, updatedAt)
        case (["installationId"], .equals(.string(let text))):
            installation = only(InstallationID(text), of: text, installation)
        case (["objectId"], .equals(let value)): name([value])
        case (["objectId"], .among(let values)): name(values)
        default: return false
        }
        return true
    }

    /// Other spellings of an id are not equal to it.
    private mutating func only<ID: Hashable & CustomStringConvertible>(
        _ id: ID?, of text: String, _ known: ID?
    ) -> ID? {
        guard let id, id.description == text, known == nil || known == id else {
            isEmpty = true
            return known
        }
        return id
    }

    /// A value that is no id equals none.
    private mutating func name(_ values: [JSONValue]) {
        let ids = Set(values.compactMap { $0.asString.flatMap { RecordID($0) } })
        let both = objects?.intersection(ids) ?? ids
        objects = both
        isEmpty = isEmpty || both.isEmpty
    }

    private mutating func common(
        _ range: Range, _ known: ClosedRange<Timestamp>?
    ) -> ClosedRange<Timestamp>? {
        let known = known ?? Self.always
        guard case .some(let range) = range, range.overlaps(known) else {
            isEmpty = true
            return known
        }
        return range.clamped(to: known)
    }

    private enum Range { case none, some(ClosedRange<Timestamp>) }

    /// Nil for a test that is no range. Times have whole milliseconds, so an excluded bound is the
    /// next or the previous one.
    private static func range(_ test: WhereClause.Test) -> Range? {
        let (first, last) = (always.lowerBound, always.upperBound)
        switch test {
        case .equals(let value): return MemberOrder.time(value).map { .some($0...$0) }
        case .ordered(let comparison, let value):
            guard let time = MemberOrder.time(value) else { return nil }
            return switch comparison {
            case .atLeast: .some(time...last)
            case .atMost: .some(first...time)
            case .greater: time < last ? .some((time + .milliseconds(1))...last) : Range.none
            case .less: time > first ? .some(first...(time - .milliseconds(1))) : Range.none
            }
        default: return nil
        }
    }
}
