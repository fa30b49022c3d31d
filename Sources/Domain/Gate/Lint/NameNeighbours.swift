/// Names that are in use, arranged so that those near to one are found without comparing it to
/// every other.
///
/// Names that differ in digits alone are a series, no mistake, and stand under their letters.
/// Most series are passed over by their length and by which letters they have: an edit makes
/// them differ by one at most.
struct NameNeighbours {
    /// A name and from which line on it is better known than one that stands alone.
    private struct Known {
        let name: String
        let since: Int
    }

    private struct Series {
        let letters: [UInt8]
        let mask: UInt64
        var names: [Known] = []
        /// By their digits, for the name that differs in letters alone.
        var places: [[UInt8]: Int] = [:]

        func near(
            _ name: String, _ letters: [UInt8], _ digits: [UInt8], _ line: Int, _ most: Int
        ) -> String? {
            guard letters != self.letters, EditDistance.between(letters, self.letters) <= most
            else { return nil }
            let alike = places[digits].map { [names[$0]] } ?? []
            return (alike + names.prefix(comparedNames)).first { known in
                let shorter = min(name.utf8.count, known.name.utf8.count)
                return known.since < line && shorter > 3
                    && EditDistance.between(name, known.name) <= (shorter >= 8 ? 2 : 1)
            }?.name
        }
    }

    /// Of a long series so many names are compared with one, in the order of their lines.
    private static let comparedNames = 16

    private var series: [Series] = []
    private var placesByLength: [Int: [Int]] = [:]
    private var byCase: [String: [Known]] = [:]

    /// The names, each with the line from which on it is better known than another.
    init(_ names: [String: Int]) {
        var places: [[UInt8]: Int] = [:]
        for (name, since) in names.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            let known = Known(name: name, since: since)
            byCase[name.lowercased(), default: []].append(known)
            let (letters, digits) = Self.parts(name)
            let place = places[letters] ?? series.count
            if place == series.count {
                places[letters] = place
                placesByLength[letters.count, default: []].append(place)
                series.append(Series(letters: letters, mask: Self.mask(letters)))
            }
            series[place].places[digits] = series[place].places[digits] ?? series[place].names.count
            series[place].names.append(known)
        }
    }

    /// A better known name that was likely meant: equal but for case, one edit away, or two
    /// where both have eight bytes or more. Those of up to three bytes are too short to tell.
    func likelyMeant(by name: String, on line: Int) -> String? {
        let equal = byCase[name.lowercased()]?.first { $0.since < line && $0.name != name }
        if let equal { return equal.name }
        let length = name.utf8.count
        guard length > 3 else { return nil }
        let (letters, digits) = Self.parts(name)
        let mask = Self.mask(letters)
        let most = length >= 8 ? 2 : 1
        for difference in [0, -1, 1, -2, 2] where difference.magnitude <= most {
            for place in placesByLength[letters.count + difference] ?? [] {
                // They stand in the order of their first names' lines.
                guard let since = series[place].names.first?.since, since < line else { break }
                let theirs = series[place].mask
                guard (mask & ~theirs).nonzeroBitCount <= most,
                    (theirs & ~mask).nonzeroBitCount <= most
                else { continue }
                let found = series[place].near(name, letters, digits, line, most)
                if let found { return found }
            }
        }
        return nil
    }

    private static func parts(_ name: String) -> (letters: [UInt8], digits: [UInt8]) {
        var parts: (letters: [UInt8], digits: [UInt8]) = ([], [])
        for byte in name.utf8.prefix(EditDistance.compared) {
            if byte.isDigit { parts.digits.append(byte) } else { parts.letters.append(byte) }
        }
        return parts
    }

    /// A bit for each byte that is there; few bytes of names share one.
    private static func mask(_ letters: [UInt8]) -> UInt64 {
        letters.reduce(0) { $0 | 1 << UInt64($1 & 63) }
    }
}
