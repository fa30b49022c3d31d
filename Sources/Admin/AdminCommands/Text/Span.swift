import ArgumentParser

/// A span of time on the command line: `90s`, `10m`, `24h`, `30d`, `2w`.
struct Span: ExpressibleByArgument, Equatable, Sendable {
    let seconds: Int64
    /// The longest span: one year.
    private static let longest: Int64 = 366 * 86_400

    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let last = argument.last, let unit = units[last],
            let count = Int64(argument.dropLast()), count >= 0, count <= Self.longest,
            argument.utf8.first != UInt8(ascii: "+"), count * unit <= Self.longest
        else { return nil }
        seconds = count * unit
    }

    init(seconds: Int64) { self.seconds = seconds }

    var duration: Duration { .seconds(seconds) }
    var defaultValueDescription: String { TimeText.span(seconds) }
}
