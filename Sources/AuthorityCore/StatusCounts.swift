package import Wire

/// What a board's status says of its own counts; nil where it says nothing.
package struct StatusCounts: Equatable, Sendable {
    /// Messages that wait on the board.
    package let queue: Int64?
    /// Writes refused since its agent's start.
    package let refused: Int64?

    package init(queue: Int64?, refused: Int64?) {
        self.queue = queue
        self.refused = refused
    }

    /// How many writes were refused since an earlier status. Of a board that was started anew
    /// all are; of one never heard before nobody knows since when they count.
    package func refused(since earlier: StatusCounts?) -> Int64 {
        guard let refused, let known = earlier?.refused, refused > 0 else { return 0 }
        return refused >= known ? refused - known : refused
    }
}

extension BoardStatus {
    package var counts: StatusCounts { StatusCounts(queue: nil, refused: nil) }
}
