import Sessions
import Wire

/// Holds the reader of what peers send against Foundation's decoder, and against the clock.
package enum ReaderOracle {
    /// What is wrong with how a text was read; nil where nothing is.
    package static func complaint(about text: [UInt8]) -> String? {
        let cost = ProcessorCost.complaint(about: text.count) {
            _ = try? JSONValue(parsing: text)
        }
        if let cost { return cost }
        guard let value = try? JSONValue(parsing: text) else { return nil }
        guard let tree = FoundationReader.value(of: text) else { return "Foundation refuses" }
        guard isSame(value, tree) else { return "Foundation reads \(tree), not \(value)" }
        guard let again = try? JSONValue(parsing: value.bytes), isSame(again, value) else {
            return "written as \(value.text), which is read otherwise"
        }
        return nil
    }

    /// Of a number with many digits two readers may say that it is an integer or a double, not
    /// that its value is another.
    private static func isSame(_ own: JSONValue, _ other: JSONValue) -> Bool {
        switch (own, other) {
        case (.integer(let own), .number(let other)): Double(own) == other
        case (.number(let own), .integer(let other)): own == Double(other)
        case (.array(let own), .array(let other)):
            own.count == other.count && zip(own, other).allSatisfy(isSame)
        case (.object(let own), .object(let other)):
            own.count == other.count && own.allSatisfy { name, value in
                other[name].map { isSame(value, $0) } ?? false
            }
        default: own == other
        }
    }
}
