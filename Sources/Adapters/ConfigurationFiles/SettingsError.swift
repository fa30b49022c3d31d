package import Gate
package import Wire

/// A mistake in a configuration, and its place: a sentence for the person who wrote the file.
///
/// Prints as `agent.toml:12:5: …`. A faulty value's place is where the value begins. An unknown
/// key's place is the key. A missing key's place is where its table begins. A mistake of the whole
/// file has no place. Messages repeat values, because these files hold no secrets.
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

/// An error about one value that does not know the value's place.
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
