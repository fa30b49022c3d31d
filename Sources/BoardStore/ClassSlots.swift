/// Gives each class of the queue a bit of its own, so that rows without a class can be passed
/// over unopened. All classes beyond the first 62 share the last bit.
struct ClassSlots: Equatable {
    static let limit = 62
    static let shared: Int64 = 1 << 62

    private(set) var names: [String] = []

    init() {}

    init(_ names: [String]) { self.names = Array(names.prefix(Self.limit)) }

    /// The bit of a class that may be new, and whether it was.
    mutating func bit(for name: String) -> (bit: Int64, isNew: Bool) {
        if let known = names.firstIndex(of: name) { return (1 << Int64(known), false) }
        guard names.count < Self.limit else { return (Self.shared, false) }
        names.append(name)
        return (1 << Int64(names.count - 1), true)
    }

    /// The bits that rows with such a class may have; 0 when there is none.
    func mask(of name: String) -> Int64 {
        if let known = names.firstIndex(of: name) { return 1 << Int64(known) }
        return names.count < Self.limit ? 0 : Self.shared
    }

    /// The class, if it is the only one.
    func name(ofOnly bits: Int64) -> String? {
        guard bits > 0, bits.nonzeroBitCount == 1, bits != Self.shared,
            bits.trailingZeroBitCount < names.count
        else { return nil }
        return names[bits.trailingZeroBitCount]
    }
}
