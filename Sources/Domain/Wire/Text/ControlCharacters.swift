extension String {
    /// The control characters of C0 and C1, and DEL. Source: Unicode, general category Cc.
    var hasControlCharacters: Bool { unicodeScalars.contains(where: Self.isControl) }

    var withoutControlCharacters: String {
        guard hasControlCharacters else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.filter { !Self.isControl($0) }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}
