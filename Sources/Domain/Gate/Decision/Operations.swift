/// A set of operations: the `allow` of a rule.
struct Operations: OptionSet, Hashable, Sendable, CustomStringConvertible {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue & 0b111 }

    init(_ operation: Operation) {
        rawValue =
            switch operation {
            case .create: 1
            case .update: 2
            case .delete: 4
            }
    }

    static let all: Self = [Self(.create), Self(.update), Self(.delete)]

    /// The members in the contract's order.
    var members: [Operation] { Operation.allCases.filter { contains($0) } }

    func contains(_ operation: Operation) -> Bool { contains(Self(operation)) }

    /// `create, delete`, or `nothing` for the empty set.
    var description: String {
        isEmpty ? "nothing" : members.map(\.rawValue).joined(separator: ", ")
    }
}
