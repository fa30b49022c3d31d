package import Wire

extension BoardStatus {
    /// How many writes were refused since an earlier status. Of a board that was started anew
    /// all are; of one never heard before nobody knows since when they count.
    package func refused(since earlier: BoardStatus?) -> Int64 {
        guard let refused, let known = earlier?.refused, refused > 0 else { return 0 }
        return refused >= known ? refused - known : refused
    }
}
