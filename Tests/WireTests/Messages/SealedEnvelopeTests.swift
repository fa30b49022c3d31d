import Sessions
import Testing
import Wire

@Suite("Sealed envelope")
struct SealedEnvelopeTests {
    static let sample = Sample(
        description: "envelope", json: Example.envelope,
        members: [
            Member("v", .integer, refuses: [0, 2, -1, .integer(.max)]),
            Member("mode", .text, refuses: ["", "base", "PSK", "auth ", "authpsk"]),
            Member("to", .text, refuses: ["", "a b", "\u{0}"]),
            Member("enc", .text, refuses: bad(count: 32)),
            Member("ct", .text, refuses: bad(count: 15) + [""]),
        ]
    ) { bytes throws(WireError) in try SealedEnvelope(parsing: bytes).payload }

    /// Lengths beside the right one, and texts that are no strict base64url.
    private static func bad(count: Int) -> [JSONValue] {
        let good = Base64URL.encode(Array(repeating: 1, count: count == 15 ? 16 : count))
        return (count == 15 ? [0, 1, 15] : [0, 1, 31, 33, 64]).map {
            .string(Base64URL.encode(Array(repeating: 1, count: $0)))
        } + [good + "=", good + "\n", " " + good, "+" + good.dropFirst(), "é" + good]
            .map(JSONValue.string)
    }

    @Test("prints what it was parsed from, in both modes", arguments: ["psk", "auth"])
    func inverse(mode: String) throws {
        var json = Example.envelope
        json["mode"] = .string(mode)
        let bytes = JSONValue.object(json).bytes
        let envelope = try SealedEnvelope(parsing: bytes)
        #expect(envelope.payload == bytes)
        #expect(try SealedEnvelope(parsing: envelope.payload) == envelope)
        #expect(envelope.mode.rawValue == mode)
    }

    @Test("names the member that is missing or malformed")
    func members() {
        for member in Self.sample.members {
            for value in [nil, JSONValue.null] {
                #expect(throws: WireError.missing(member.name), "\(member)") {
                    try Self.sample.copy(Self.sample.bytes(member, value))
                }
            }
            for value in member.refused {
                #expect(throws: WireError.mistyped(member.name), "\(member) = \(value)") {
                    try Self.sample.copy(Self.sample.bytes(member, value))
                }
            }
        }
    }

    @Test("ignores unknown members and the order of the known")
    func tolerance() throws {
        let text = String(decoding: Self.sample.bytes, as: UTF8.self)
        let moved = "{\"zz\":1,\"v\":1," + text.dropFirst().replacing(",\"v\":1", with: "")
        #expect(try Self.sample.copy(Array(moved.utf8)) == Self.sample.bytes)
    }

    @Test("takes 128 KiB and not a byte more")
    func size() throws {
        let pad = SealedEnvelope.limit - Self.sample.bytes.count
        let full = Array(repeating: UInt8(ascii: " "), count: pad) + Self.sample.bytes
        #expect(try Self.sample.copy(full) == Self.sample.bytes)
        #expect(throws: WireError.tooLarge(limit: SealedEnvelope.limit)) {
            try Self.sample.copy([UInt8(ascii: " ")] + full)
        }
    }

    @Test("never traps on a damaged payload")
    func damage() {
        for index in Self.sample.bytes.indices {
            for bit in UInt8(0)..<8 {
                var bytes = Self.sample.bytes
                bytes[index] ^= 1 << bit
                _ = try? SealedEnvelope(parsing: bytes)
            }
        }
    }
}
