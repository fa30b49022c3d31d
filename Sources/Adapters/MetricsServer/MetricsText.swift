/// Metrics in Prometheus' text form, version 0.0.4.
///
/// Each family is written once, as a whole, with its help and type. The caller keeps names stable.
/// Source: Prometheus documentation, Exposition formats, Text format details.
package struct MetricsText: Sendable {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    package enum Kind: String, Sendable {
        /// A value that only grows, during a run or over the program's whole life. Its name ends in
        /// `_total`.
        case counter
        case gauge
    }

    /// One value of a family, with its labels.
    package struct Sample: Sendable {
        package let labels: [(name: String, value: String)]
        package let value: Double

        package init(_ labels: [(name: String, value: String)] = [], _ value: Double) {
            self.labels = labels
            self.value = value
        }
    }

    package mutating func counter(_ name: String, _ help: String, _ value: Int64) {
        family(name, .counter, help, [Sample([], Double(value))])
    }

    /// Writes no sample for nil: an unknown value is absent, not 0.
    package mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
        family(name, .gauge, help, value.map { [Sample([], $0)] } ?? [])
    }

    package mutating func gauge(_ name: String, _ help: String, _ value: Int64?) {
        gauge(name, help, value.map(Double.init))
    }

    /// Writes 1 for true and 0 for false.
    package mutating func gauge(_ name: String, _ help: String, _ isSo: Bool) {
        gauge(name, help, isSo ? 1.0 : 0.0)
    }

    /// Writes a family. Help and type are written even if there are no samples.
    package mutating func family(
        _ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]
    ) {
        text += "# HELP \(name) \(Self.escaped(help, quote: false))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { label in
                    "\(label.name)=\"\(Self.escaped(label.value, quote: true))\""
                }
                text += "{" + labels.joined(separator: ",") + "}"
            }
            text += " \(Self.number(sample.value))\n"
        }
    }

    private static func escaped(_ text: String, quote: Bool) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": shown.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": shown.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quote: shown.append(contentsOf: "\\\"".unicodeScalars)
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }

    /// Writes whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}
