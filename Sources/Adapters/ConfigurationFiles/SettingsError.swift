package import Gate
package import Wire

/// What is wrong with a configuration, and where: a sentence for the person who wrote it.
///
/// Prints as `agent.toml:12:5: …`. A value's error stands where the value begins, an unknown
/// key's at the key, a missing key's where its table begins; only what the file as a whole lacks
/// has no place. Values are repeated, for no secret stands in these files.
package struct SettingsError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file's name as the caller gave it, or the variable that holds the faulty value.
    package let file: String
    /// From 1.
    package let line: Int?
    /// From 1, in characters (Unicode code points).
    package let column: Int?
    package let message: String

    package init(file: String, line: Int? = nil, column: Int? = nil, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }

    package var description: String {
        let place = [line, column].compactMap { $0 }.map { ":\($0)" }.joined()
        return "\(file)\(place): \(message)"
    }
}

/// An error that says what is wrong with one value, not knowing where it stands.
protocol ValueFault: Error {
    var sentence: String { get }
}

/// A value that the configuration's own rules refuse.
struct SettingFault: ValueFault, Equatable {
    let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}

extension GrammarError: ValueFault {
    var sentence: String { text }
}

extension BrokerURI.ParseError: ValueFault {
    var sentence: String { description }
}
