import Sessions
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    static let uuid = "9b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b"

    @Test("an installation id is a lower-case UUIDv4", arguments: [
        uuid, "00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff",
        "ffffffff-ffff-4fff-9fff-ffffffffffff", "ffffffff-ffff-4fff-afff-ffffffffffff",
    ])
    func installation(text: String) {
        #expect(InstallationID(text)?.description == text)
    }

    @Test("what is no installation id is refused", arguments: [
        "", uuid.uppercased(), uuid + " ", " " + uuid, uuid + "\0", String(uuid.dropLast()),
        "9b2f8a4e-1c3d-1e5f-8a9b-0c1d2e3f4a5b", "9b2f8a4e-1c3d-4e5f-7a9b-0c1d2e3f4a5b",
        "9b2f8a4e-1c3d-4e5f-ca9b-0c1d2e3f4a5b", "9b2f8a4e1c3d-4e5f-8a9b-0c1d2e3f4a5b-",
        "9b2f8a4e/1c3d/4e5f/8a9b/0c1d2e3f4a5b", "gb2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
        "{\(uuid)}", "urn:uuid:\(uuid)", "９b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b",
        "../../../../../../../../../../../etc", "+", "#",
    ])
    func noInstallation(text: String) {
        #expect(InstallationID(text) == nil)
    }

    @Test("16 random bytes make an installation id that parses", arguments: [
        [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0xFF, count: 16), Array(0..<16),
    ])
    func random(bytes: [UInt8]) {
        let id = InstallationID(random: bytes)
        #expect(InstallationID(id.description) == id)
        let message = MessageID(random: bytes)
        #expect(MessageID(message.description) == message)
        #expect(message.description == id.description)
    }

    @Test("a message id is any UUID, folded to lower case")
    func message() {
        #expect(MessageID(Self.uuid.uppercased()) == MessageID(Self.uuid))
        #expect(MessageID("9b2f8a4e-1c3d-1e5f-0a9b-0c1d2e3f4a5b") != nil)
        for text in ["", "x", Self.uuid + "0", "\(Self.uuid)\n", "9b2f8a4e1c3d4e5f8a9b0c1d2e3f4a5b",
            "K" + Self.uuid.dropFirst(), "\u{212A}b2f8a4e-1c3d-4e5f-8a9b-0c1d2e3f4a5b"]
        {
            #expect(MessageID(text) == nil)
        }
    }

    @Test("an objectId has 10 letters and digits", arguments: [
        ("abcDEF0123", true), ("0000000000", true), ("ZZZZZZZZZZ", true), ("", false),
        ("abcDEF012", false), ("abcDEF01234", false), ("abcDEF012-", false),
        ("abcDEF012_", false), ("abcDEF012\0", false), ("аbcDEF012", false),
        ("abcDEF01é", false), ("abc/EF0123", false),
    ])
    func object(text: String, isOne: Bool) {
        #expect(ObjectID(text)?.description == (isOne ? text : nil))
    }

    @Test("random bytes make an objectId without favour")
    func randomObject() throws {
        #expect(ObjectID(random: Array(0..<10))?.description == "ABCDEFGHIJ")
        #expect(ObjectID(random: [61, 62, 247] + Array(repeating: 0, count: 7))?.description
            == "9A9AAAAAAA")
        #expect(ObjectID(random: [255, 248, 250] + Array(0..<10))?.description == "ABCDEFGHIJ")
        #expect(ObjectID(random: Array(0..<9)) == nil)
        #expect(ObjectID(random: []) == nil)
        #expect(ObjectID(random: Array(repeating: 255, count: 1000)) == nil)
        var seen: [Character: Int] = [:]
        for byte in UInt8(0)...255 {
            let id = ObjectID(random: Array(repeating: byte, count: 10))
            if let character = id?.description.first { seen[character, default: 0] += 1 }
        }
        #expect(seen.count == 62)
        #expect(Set(seen.values) == [4])
    }

    @Test("a record's id has 1 to 64 of a small alphabet", arguments: [
        ("a", true), ("A-_9", true), (String(repeating: "x", count: 64), true), ("", false),
        (String(repeating: "x", count: 65), false), ("a/b", false), ("+", false), ("#", false),
        ("a\0", false), ("..", false), ("a b", false), ("ａ", false), ("a\u{301}", false),
    ])
    func record(text: String, isOne: Bool) {
        #expect(RecordID(text)?.description == (isOne ? text : nil))
        #expect(UserID(text)?.description == (isOne ? text : nil))
    }

    @Test("a key id is short printable ASCII", arguments: [
        ("k1", true), ("~!", true), (String(repeating: "k", count: 128), true), ("", false),
        (String(repeating: "k", count: 129), false), ("a b", false), ("a\n", false),
        ("ä", false), ("\u{7F}", false),
    ])
    func key(text: String, isOne: Bool) {
        #expect(KeyID(text)?.description == (isOne ? text : nil))
    }

    @Test("a key id is the first 8 bytes of a digest")
    func keyDigest() {
        #expect(KeyID(digest: Array(0..<32)).description == Base64URL.encode(Array(0..<8)))
        #expect(KeyID(KeyID(digest: Array(0..<32)).description) == KeyID(digest: Array(0..<32)))
    }
}
