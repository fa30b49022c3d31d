/// The part of a list that a caller asks for. The store reads only that part.
package struct ListSlice: Equatable, Sendable {
    /// The maximum number of entries in one answer.
    package static let most = 10_000

    /// How many entries to skip: 0 to `most`.
    package let skip: Int
    /// The maximum number of entries: 0 to `most`.
    package let limit: Int

    /// The longest list that the store reads: `most` entries.
    package static let longest = ListSlice(skip: 0, limit: most)

    /// Limits both numbers to their allowed range.
    package init(skip: Int, limit: Int) {
        self.skip = min(max(skip, 0), Self.most)
        self.limit = min(max(limit, 0), Self.most)
    }

    package func of<Element>(_ list: [Element]) -> [Element] {
        Array(list.dropFirst(skip).prefix(limit))
    }
}
