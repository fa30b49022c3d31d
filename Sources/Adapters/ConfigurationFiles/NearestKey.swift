import Gate

/// Finds the known key that is most like an unknown one.
enum NearestKey {
    /// The known key with the fewest edits. The first one wins a tie. Nil if no key is known.
    static func to(_ key: String, among known: [String]) -> String? {
        known.map { ($0, EditDistance.between(key, $0)) }.min { $0.1 < $1.1 }?.0
    }
}
