/// The part of a list that a caller asks for. The store reads that part and no more.
package struct ListSlice: Equatable, Sendable {
    /// The most that one answer has.
    package static let most = 10_000

    /// How many to leave out at the beginning: 0 to `most`.
    package let skip: Int
    /// How many at most: 0 to `most`.
    package let limit: Int

    /// The longest beginning that one answer has.
    package static let first = ListSlice(skip: 0, limit: most)

    /// Numbers outside of their bounds become the nearest that is allowed.
    package init(skip: Int, limit: Int) {
        self.skip = min(max(skip, 0), Self.most)
        self.limit = min(max(limit, 0), Self.most)
    }

    package func of<Element>(_ list: [Element]) -> [Element] {
        Array(list.dropFirst(skip).prefix(limit))
    }
}
