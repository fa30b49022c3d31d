import Gate

/// Which of the keys that are known somebody may have meant.
enum NearestKey {
    /// The known key with the fewest edits; the first of equals; nil if none is known.
    static func to(_ key: String, among known: [String]) -> String? {
        known.map { ($0, EditDistance.between(key, $0)) }.min { $0.1 < $1.1 }?.0
    }
}
