/// A line and a column in a text.
struct SourcePlace: Equatable, Sendable {
    /// From 1.
    let line: Int
    /// From 1, in characters (Unicode code points). A tab is one character.
    let column: Int
}

extension SettingsError {
    init(file: String, _ place: SourcePlace?, _ message: String) {
        self.init(file: file, line: place?.line, column: place?.column, message: message)
    }

    /// Decodes a file's bytes as UTF-8.
    ///
    /// Throws at the first character that is not UTF-8.
    package static func text(of bytes: [UInt8], file: String) throws(SettingsError) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated()
        where String(validating: line, as: UTF8.self) == nil {
            let whole = String(decoding: line, as: UTF8.self).unicodeScalars
            let column = whole.prefix { $0 != "\u{FFFD}" }.count + 1
            throw SettingsError(
                file: file, line: index + 1, column: column, message: "the file is not UTF-8")
        }
        throw SettingsError(file: file, message: "the file is not UTF-8")
    }
}
