import Sessions

/// The content of `storage.key`: the tier that keeps the key, and the fields that the tier needs
/// to open it.
///
/// It consists of ASCII lines that each end with a newline. The first names format and version,
/// the second the tier. Each other line is a field in base64url, sorted by name.
///
///     postern storage key 1
///     source = tpm2
///     check = …
///     parent = …
///
/// Each slot has exactly one text. Any text that `bytes` would not write is refused.
struct KeySlot: Equatable {
    /// The most bytes that the file may have.
    static let limit = 8192
    static let version = 1
    private static let title = "postern storage key "
    private static let fieldLimit = 8

    enum Fault: Error, Equatable {
        case malformed
        case newer(Int)
        case unknownSource(String)
    }

    let tier: KeyTier
    var fields: [String: [UInt8]]

    init(_ tier: KeyTier, _ fields: [String: [UInt8]]) {
        self.tier = tier
        self.fields = fields
    }

    init(parsing bytes: [UInt8]) throws(Fault) {
        guard bytes.count <= Self.limit, bytes.last == UInt8(ascii: "\n"),
            bytes.allSatisfy({ $0 == UInt8(ascii: "\n") || (0x20...0x7E).contains($0) })
        else { throw .malformed }
        let lines = String(decoding: bytes.dropLast(), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines.count <= 2 + Self.fieldLimit,
            lines[0].hasPrefix(Self.title), lines[0].utf8.count <= Self.title.utf8.count + 4,
            let version = Int(lines[0].dropFirst(Self.title.count)), version >= 1
        else { throw .malformed }
        guard version == Self.version else { throw .newer(version) }
        let source = try Self.pair(lines[1])
        guard source.name == "source" else { throw .malformed }
        guard let tier = KeyTier(rawValue: source.value) else {
            throw .unknownSource(String(source.value.prefix(32)))
        }
        self.init(tier, [:])
        for line in lines.dropFirst(2) {
            let pair = try Self.pair(line)
            guard let value = Base64URL.decode(pair.value) else { throw .malformed }
            fields[pair.name] = value
        }
        guard self.bytes == bytes else { throw .malformed }
    }

    private static func pair(_ line: Substring) throws(Fault) -> (name: String, value: String) {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "=", (1...16).contains(parts[0].utf8.count),
            parts[0].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { throw .malformed }
        return (String(parts[0]), String(parts[2]))
    }

    var bytes: [UInt8] {
        var text = "\(Self.title)\(Self.version)\nsource = \(tier.rawValue)\n"
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            text += "\(name) = \(Base64URL.encode(value))\n"
        }
        return Array(text.utf8)
    }
}
