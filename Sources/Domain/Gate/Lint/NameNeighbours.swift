/// Known names, arranged to find similar ones without comparing a name to all of them.
///
/// Names that differ only in digits are a series, not a mistake, and are grouped by their letters.
/// Most series are skipped by their length and their set of letters: one edit changes either by at
/// most one.
struct NameNeighbours {
    /// A name, and the line after which other names may be a mistyped form of it.
    private struct Known {
        let name: String
        let since: Int
    }

    private struct Series {
        let letters: [UInt8]
        let mask: UInt64
        var names: [Known] = []
        /// Indexes of the names by their digits, to find a name that differs only in letters.
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

    /// The number of names compared in a long series, in the order of their lines.
    private static let comparedNames = 16

    private var series: [Series] = []
    private var placesByLength: [Int: [Int]] = [:]
    private var byCase: [String: [Known]] = [:]

    /// Each name has the line after which other names may be a mistyped form of it.
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

    /// A known name that was probably meant: equal except for case, or one edit away, or two edits
    /// away if both have 8 bytes or more. Names of up to 3 bytes are too short for edits.
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
                // The series are in the order of their first names' lines.
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

    /// One bit for each byte that occurs. Few bytes in names share a bit.
    private static func mask(_ letters: [UInt8]) -> UInt64 {
        letters.reduce(0) { $0 | 1 << UInt64($1 & 63) }
    }
}
