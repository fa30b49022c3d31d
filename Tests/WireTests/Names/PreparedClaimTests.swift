import Sessions
import Testing
import Wire

@Suite("Prepared claim")
struct PreparedClaimTests {
    private static let fingerprint = "SHA256:" + Array(repeating: "AB", count: 32)
        .joined(separator: ":")

    static let file = Sample(
        description: "prepared claim",
        json: [
            "v": 1, "id": .string(Example.board), "secret": .string(Example.key),
            "name": "barn-1", "broker": "mqtts://broker.example:8884", "ca": "a certificate",
            "caFingerprint": .string(fingerprint), "sealKey": .string(Example.key),
            "authority": "Home", "exp": Example.time,
        ],
        members: [
            Member("v", .integer, refuses: [0, 2]),
            Member("id", .text, refuses: ["", "../x", .string(Example.board.uppercased())]),
            Member("secret", .text, refuses: ["", .string(Example.key + "=")]),
            Member("name", .text, refuses: ["", " ", "a\n", "\u{1B}[2J"]),
            Member("broker", .text, refuses: ["", "http://x", "unix:/run/x.sock"]),
            Member("sealKey", .text, refuses: ["", .string(Example.key + "AA")]),
            Member("authority", .text, refuses: ["", "a\u{0}"]),
            Member("exp", .integer, refuses: [.number(0.5)]),
        ]
    ) { bytes throws(WireError) in try PreparedClaimFile(parsing: bytes).reveal() }

    private static let claim: [String: JSONValue] = [
        "v": 1, "mode": "auth", "to": "AQIDBAUGBwg", "enc": .string(Example.key),
        "ct": .string(Example.key),
    ]

    static let request = Sample(
        description: "join request",
        json: [
            "type": "claim.join", "id": .string(Example.id), "iat": Example.time,
            "installationId": .string(Example.board), "deviceKey": .string(Example.key),
            "claim": .object(claim), "boardName": "barn-1",
        ],
        members: [
            Member("type", .text, refuses: ["", "provision", "claim.join "]),
            Member("id", .text, refuses: ["", "1"]),
            Member("iat", .integer, refuses: [.number(1.5)]),
            Member("installationId", .text, refuses: ["", "+", "../x"]),
            Member("deviceKey", .text, refuses: ["", .string(Example.key + "AA")]),
            Member("claim", .object),
            Member("boardName", .text, refuses: ["a\n"]),
        ]
    ) { bytes throws(WireError) in try JoinRequest(parsing: bytes).plaintext }

    static let secret = Sample(
        description: "join secret", json: ["claimSecret": .string(Example.key)],
        members: [Member("claimSecret", .text, refuses: ["", .string(Example.key + "\n")])]
    ) { bytes throws(WireError) in try JoinSecret(parsing: bytes).plaintext }

    @Test("has the claim secret sealed by the device key, not by another secret")
    func mode() {
        var json = Self.request.json
        json["claim"] = .object(Self.claim.merging(["mode": "psk"]) { $1 })
        #expect(throws: WireError.mistyped("mode")) {
            try JoinRequest(parsing: JSONValue.object(json).bytes)
        }
    }

    @Test("prints what it was parsed from", arguments: [file, request, secret])
    func inverse(sample: Sample) throws {
        #expect(try sample.copy(sample.bytes) == sample.bytes)
    }

    @Test("names the member that is missing or malformed", arguments: [file, request, secret])
    func members(sample: Sample) {
        for member in sample.members {
            #expect(throws: WireError.missing(member.name), "\(member)") {
                try sample.copy(sample.bytes(member, nil))
            }
            for value in member.refused {
                #expect(throws: WireError.mistyped(member.name), "\(member) = \(value)") {
                    try sample.copy(sample.bytes(member, value))
                }
            }
        }
    }

    @Test("has a CA and its fingerprint, or neither")
    func authority() throws {
        var json = Self.file.json
        json["ca"] = nil
        #expect(throws: WireError.missing("ca")) {
            try PreparedClaimFile(parsing: JSONValue.object(json).bytes)
        }
        json["caFingerprint"] = nil
        #expect(try PreparedClaimFile(parsing: JSONValue.object(json).bytes).ca == nil)
        json["ca"] = "a certificate"
        #expect(throws: WireError.missing("caFingerprint")) {
            try PreparedClaimFile(parsing: JSONValue.object(json).bytes)
        }
    }

    @Test("is at most 16 KiB")
    func size() {
        let large = Self.file.bytes + Array(repeating: UInt8(ascii: " "), count: 16 * 1024)
        #expect(throws: WireError.tooLarge(limit: 16 * 1024)) {
            try PreparedClaimFile(parsing: large)
        }
    }
}

@Suite("Board fingerprint")
struct BoardFingerprintTests {
    @Test("shows the first 60 bits of the digest")
    func text() {
        let zero = BoardFingerprint(digest: Array(repeating: 0, count: 32))
        #expect(zero?.description == "0000-0000-0000")
        let one = [UInt8](repeating: 0, count: 7) + [0x10] + [UInt8](repeating: 255, count: 24)
        #expect(BoardFingerprint(digest: one)?.description == "0000-0000-0001")
        let high = [UInt8](repeating: 255, count: 32)
        #expect(BoardFingerprint(digest: high)?.description == "ZZZZ-ZZZZ-ZZZZ")
        #expect(BoardFingerprint(digest: [1, 2, 3]) == nil)
    }

    @Test("is read as people type it", arguments: [
        "ABCD-EFGH-JKMN", "abcd-efgh-jkmn", "ABCDEFGHJKMN",
    ])
    func typed(text: String) {
        #expect(BoardFingerprint(text)?.description == "ABCD-EFGH-JKMN")
    }

    @Test("is nothing else", arguments: [
        "", "ABCD-EFGH-JKM", "ABCD-EFGH-JKMNP", "ABCD-EFGH-JKMU", "ABCD EFGH JKMN", "ÄBCDEFGHJKM",
    ])
    func refused(text: String) {
        #expect(BoardFingerprint(text) == nil)
    }
}
