package import Wire

extension BoardStatus {
    /// The number of writes refused since an earlier status. If the board restarted since, all
    /// refusals count. Without an earlier status the result is 0.
    package func refused(since earlier: BoardStatus?) -> Int64 {
        guard let refused, let known = earlier?.refused, refused > 0 else { return 0 }
        return refused >= known ? refused - known : refused
    }
}
