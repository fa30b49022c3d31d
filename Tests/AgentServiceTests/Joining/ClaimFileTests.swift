import Foundation
import Sessions
import Testing
import Wire

@testable import AgentService

@Suite("The file of a prepared claim")
struct ClaimFileTests {
    /// Reads the file, expects an error, and returns its sentence.
    private func refusal(_ fixture: ClaimFixture) throws -> String {
        let error = #expect(throws: AgentFailure.self) { _ = try fixture.file?.read() }
        let sentence = try #require(error).sentence
        #expect(!sentence.contains(fixture.secret))
        #expect(fixture.has("claim"))
        return sentence
    }

    @Test("is read with its CA, also if others may read it")
    func read() throws {
        for mode in [0o600, 0o640, 0o644, 0o755] {
            let fixture = try ClaimFixture()
            try fixture.write(try fixture.members(), mode: mode)
            let claim = try #require(try fixture.file?.read())
            #expect(claim.name == "barn-1" && claim.authority == "Home" && claim.ca != nil)
        }
    }

    @Test("is refused if another user may have changed it", arguments: [0o660, 0o602, 0o666])
    func tooOpen(mode: Int) throws {
        let fixture = try ClaimFixture()
        try fixture.write(try fixture.members(), mode: mode)
        #expect(try refusal(fixture).contains("too open"))
    }

    @Test("is refused without one of its members, or with a malformed one", arguments: [
        "v", "id", "secret", "name", "broker", "sealKey", "authority", "exp", "caFingerprint", "ca",
    ])
    func member(name: String) throws {
        let fixture = try ClaimFixture()
        for value in [nil, JSONValue.bool(true), .string("")] {
            var members = try fixture.members()
            members[name] = value
            try fixture.write(members)
            #expect(try refusal(fixture).contains("claim"))
        }
    }

    @Test("is refused if it is no object, too large, cut, or not UTF-8")
    func malformed() throws {
        let fixture = try ClaimFixture()
        let whole = JSONValue.object(try fixture.members()).text
        let large = whole + String(repeating: " ", count: PreparedClaimFile.limit)
        for text in ["", "[]", large, String(whole.dropLast()), "\u{0}" + whole, whole + whole] {
            try fixture.folder.write("claim", text, mode: 0o600)
            _ = try refusal(fixture)
        }
        try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: fixture.folder.path + "/claim"))
        _ = try refusal(fixture)
    }

    @Test("is refused with a key of small order, or a CA that is not the one of the fingerprint")
    func keys() throws {
        let fixture = try ClaimFixture()
        var members = try fixture.members()
        members["sealKey"] = .string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
        try fixture.write(members)
        #expect(try refusal(fixture).contains("sealKey"))
        let other = try ClaimFixture().members()
        for ca in [other["ca"]?.asString ?? "", "no certificate"] {
            members = try fixture.members()
            members["ca"] = .string(ca)
            try fixture.write(members)
            #expect(try refusal(fixture).contains("ca"))
        }
        members = try fixture.members()
        members["ca"] = .string((members["ca"]?.asString ?? "") + (other["ca"]?.asString ?? ""))
        try fixture.write(members)
        #expect(try refusal(fixture).contains("more than one"))
        members = try fixture.members()
        members["ca"] = .string((members["ca"]?.asString ?? "") + "-----BEGIN CERTIFICATE-----")
        try fixture.write(members)
        #expect(try refusal(fixture).contains("no certificate"))
    }

    @Test("is refused with any byte of its structure flipped, or is another claim's")
    func flipped() throws {
        let fixture = try ClaimFixture()
        let whole = Array(JSONValue.object(try fixture.members(withCA: false)).text.utf8)
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= 0x80
            let url = URL(fileURLWithPath: fixture.folder.path + "/claim")
            try Data(bytes).write(to: url)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: url.path)
            #expect(throws: AgentFailure.self) { _ = try fixture.file?.read() }
        }
    }

    @Test("is refused as a link or a folder")
    func kind() throws {
        let fixture = try ClaimFixture()
        try fixture.write(try fixture.members(), to: "real")
        let path = fixture.folder.path + "/claim"
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: fixture.folder.path + "/real")
        #expect(try refusal(fixture).contains("wrong kind"))
        try fixture.folder.remove("claim")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try refusal(fixture).contains("wrong kind"))
    }

    @Test("that was being erased when the power failed is nothing")
    func blank() throws {
        let fixture = try ClaimFixture()
        let whole = JSONValue.object(try fixture.members()).text
        let half = whole.utf8.count / 2
        let dashes = String(repeating: "-", count: half)
        for text in [dashes, dashes + whole.dropFirst(half), whole.prefix(half) + dashes] {
            try fixture.folder.write("claim", text, mode: 0o600)
            #expect(try fixture.file?.read() == nil)
        }
    }

    @Test("is gone after it is erased, and its content was overwritten")
    func erase() throws {
        let fixture = try ClaimFixture()
        try fixture.write(try fixture.members(), mode: 0o644)
        let path = fixture.folder.path
        try FileManager.default.linkItem(atPath: path + "/claim", toPath: path + "/other")
        try fixture.file?.erase()
        #expect(!fixture.has("claim"))
        #expect(try fixture.text("other").allSatisfy { $0 == "-" })
    }
}
