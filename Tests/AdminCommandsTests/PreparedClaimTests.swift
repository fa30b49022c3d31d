@testable import AdminCommands
import Foundation
import LinuxIO
import Sessions
import Testing
import Wire

@Suite("A list of prepared claims")
struct PreparedClaimRowTests {
    private func row(
        _ id: String, _ name: String, _ state: String = "asking", more: String = ""
    ) throws -> PreparedClaimRow {
        try PreparedClaimRow(json: JSONObject(parsing: Array("""
            {"id":"\(id)","name":"\(name)","owner":"ada","state":"\(state)","createdAt":1,
            "expiresAt":1700000100,"autoAccept":false,"labels":["barn"],"board":{
            "installationId":"584d2c66-8ef4-4f73-8df6-469224e8b16a","name":"b",
            "fingerprint":"ABCD-EFGH-JKMN","askedAt":2}\(more)}
            """.utf8)))
    }

    private let one = "11111111-0000-4000-8000-000000000000"
    private let other = "11122222-0000-4000-8000-000000000000"

    @Test("has each board with its fingerprint, and prints what it read")
    func read() throws {
        let row = try row(one, "barn-1", more: ",\"secondAt\":3")
        #expect(row.board?.fingerprint.description == "ABCD-EFGH-JKMN" && row.isAsking)
        #expect(row.words == "barn-1 (ABCD-EFGH-JKMN)")
        #expect(row.stateWords == "asks to join; A SECOND BOARD CAME")
        #expect(try PreparedClaimRow(json: JSONObject(row.json.asObject ?? [:])).json == row.json)
    }

    @Test("says which claims serve no more")
    func late() throws {
        #expect(try row(one, "b", "prepared").isOpen && row(one, "b").isOpen)
        for state in ["accepted", "expired"] {
            let row = try row(one, "b", state)
            #expect(!row.isOpen && row.stateWords == state)
        }
    }

    @Test("finds a claim by name, id, or a beginning of the id, and each once")
    func named() throws {
        let rows = [try row(one, "barn-1"), try row(other, "barn-2")]
        let found = try rows.named(["barn-2", "11111", other])
        #expect(found.map(\.name) == ["barn-2", "barn-1"])
    }

    @Test("takes the open one of two with the same name")
    func open() throws {
        let rows = [try row(one, "barn-1", "expired"), try row(other, "barn-1")]
        #expect(try rows.named(["barn-1"]).map(\.id.description) == [other])
        #expect(try rows.named(["11111"]).map(\.id.description) == [one])
    }

    @Test("finds nothing, and does nothing, if one of the names is wrong", arguments: [
        ["barn-1", "shed"], ["111"], ["barn-1", ""],
    ])
    func wrong(names: [String]) throws {
        let rows = [try row(one, "barn-1"), try row(other, "barn-2")]
        let failure = #expect(throws: CommandFailure.self) { try rows.named(names) }
        #expect(failure?.exitStatus == .usage)
    }
}

@Suite("A request to prepare claims that failed")
struct PreparingFailureTests {
    @Test("may have made claims, if the answer is lost", arguments: [
        (CommandFailure.offline(layer: "HTTP", text: "no answer in time"), true),
        (.failed(layer: "HTTP", text: "the answer is too long"), true),
        (.offline(layer: "authority", text: "the store is away"), true),
        (.offline(layer: "TCP", text: "no connection"), false),
        (.offline(layer: "TLS", text: "not trusted"), false),
        (.refused(Refusal(.quota, "too many")), false),
    ])
    func advice(failure: CommandFailure, isUnsure: Bool) {
        let told = failure.afterPreparing
        #expect(told.sentence.contains("postern claims end NAME") == isUnsure)
        #expect(told.sentence.hasPrefix(failure.sentence) && told.exitStatus == failure.exitStatus)
    }
}

@Suite("The files of prepared claims")
struct ClaimFolderTests {
    @Test("have the names of their boards", arguments: ["barn-1", "Scheune 1", "温室"])
    func good(name: String) { #expect(ClaimFileName(name)?.description == name + ".claim") }

    @Test("stay in their folder and can be seen there", arguments: [
        "", ".", "..", "../barn", "a/b", ".barn", "a\nb", "a\u{1b}[2J", "a\u{202e}b",
        String(repeating: "a", count: 201),
    ])
    func bad(name: String) { #expect(ClaimFileName(name) == nil) }

    private let one = "11111111-0000-4000-8000-000000000000"
    private let secret = SecretBytes([UInt8](repeating: 7, count: 32))

    private func file(_ id: String) throws -> PreparedClaimFile {
        PreparedClaimFile(
            id: try #require(InstallationID(id)), secret: secret, name: "barn-1",
            broker: try BrokerURI("mqtts://gate.example"), ca: nil,
            sealKey: [UInt8](repeating: 1, count: 32), authority: "Home",
            expiresAt: Timestamp(milliseconds: 2000))
    }

    private func made(_ name: String, file id: String? = nil) throws -> MadeClaim {
        let file = String(decoding: try file(id ?? one).reveal(), as: UTF8.self)
        return try MadeClaim(json: JSONObject(parsing: Array("""
            {"id":"\(one)","name":"\(name)","owner":"ada","state":"prepared","createdAt":1,
            "expiresAt":2,"board":null,"file":\(file)}
            """.utf8)))
    }

    private var text: String { Base64URL.encode(secret.reveal()) }

    /// Runs `body` with the path of a folder that does not exist yet.
    private func inFolder(_ body: (String) throws -> Void) throws {
        let place = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        try body(place.path + "/cards")
    }

    @Test("are private, in a private folder with nothing else")
    func written() throws {
        try inFolder { path in
            let folder = try ClaimFolder(path + "/")
            try folder.check(["barn-1"])
            #expect(try folder.write(made("barn-1")) == "\(path)/barn-1.claim")
            #expect(try PrivateFolder.names(in: path) == ["barn-1.claim"])
            try PrivateFolder.check(path)
            let content = try PrivateFile.read("\(path)/barn-1.claim", limit: 1000)
            #expect(try content == file(one).reveal())
            let members = try made("barn-1").json(path: path).asObject
            #expect(members?["file"] == .string(path))
            #expect(try !made("barn-1").json(path: path).text.contains(text))
        }
    }

    @Test("replace no file: neither before a claim is made, nor after")
    func kept() throws {
        try inFolder { path in
            let folder = try ClaimFolder(path)
            try PrivateFile.write("\(path)/barn-1.claim", [1])
            let early = #expect(throws: CommandFailure.self) { try folder.check(["a", "barn-1"]) }
            #expect(early?.exitStatus == .usage)
            let late = #expect(throws: CommandFailure.self) { try folder.write(made("barn-1")) }
            #expect(late?.sentence.contains(text) == false)
            #expect(try PrivateFile.read("\(path)/barn-1.claim", limit: 100) == [1])
        }
    }

    @Test("never lead out of the folder, and are of the claim that the authority names")
    func hostile() {
        #expect(throws: WireError.self) { try made("../barn") }
        let other = "22222222-0000-4000-8000-000000000000"
        #expect(throws: WireError.self) { try made("barn-1", file: other) }
    }
}
