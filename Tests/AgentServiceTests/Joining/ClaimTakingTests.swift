import AgentCore
import AgentStore
import Cryptography
import Foundation
import Logging
import Sessions
import Testing
import Wire

@testable import AgentService

@Suite("Taking a prepared claim")
struct ClaimTakingTests {
    private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Starts an agent as `run` does. Returns what its vault then has.
    private func start(_ fixture: ClaimFixture) throws -> BoardRecords {
        let board = try OpenBoard(try BoardFiles(folder: fixture.folder.path))
        _ = try board.makeLivingAgent(Self.log)
        let records = try board.store.load()
        board.release()
        return records
    }

    @Test("puts it into the vault and erases the file", arguments: ["claim", "state/claim"])
    func take(place: String) throws {
        let fixture = try ClaimFixture()
        try fixture.configure()
        #expect(try start(fixture).join == nil)
        try fixture.write(try fixture.members(), to: place)
        let records = try start(fixture)
        let join = try #require(records.join)
        #expect(records.memory.takenClaims == [join.id] && join.authority == "Home")
        #expect(Base64URL.encode(join.secret.reveal()) == fixture.secret)
        #expect(!fixture.has(place))
        #expect(try start(fixture).join?.id == join.id)
    }

    @Test("again after a power cut before the file was erased only erases it")
    func powerCut() throws {
        let fixture = try ClaimFixture()
        try fixture.configure()
        try fixture.write(try fixture.members())
        let first = try start(fixture)
        try fixture.write(try fixture.members())
        let second = try start(fixture)
        #expect(second.join?.id == first.join?.id)
        #expect(!fixture.has("claim"))
    }

    @Test("replaces an older one by a new file, and leaves a second file for the next start")
    func replaced() throws {
        let fixture = try ClaimFixture()
        try fixture.configure()
        try fixture.write(try fixture.members())
        let old = try start(fixture).join?.id
        let new = try #require(InstallationID("5c0f7a9e-4b7d-4b8c-9e43-0123456789ab"))
        try fixture.write(try fixture.members(id: new))
        try fixture.write(try ClaimFixture().members(), to: "state/claim")
        #expect(try start(fixture).join?.id == new && old != new)
        #expect(!fixture.has("claim") && fixture.has("state/claim"))
    }

    @Test("leaves a file that cannot be used, and starts without it")
    func unusable() throws {
        let fixture = try ClaimFixture()
        try fixture.configure()
        try fixture.write(try fixture.members(), mode: 0o666)
        #expect(try start(fixture).join == nil)
        #expect(try fixture.text("claim").contains(fixture.secret))
        try fixture.folder.write("claim", "----\n", mode: 0o600)
        #expect(try start(fixture).join == nil)
        try fixture.folder.write("claim", "-----", mode: 0o600)
        #expect(try start(fixture).join == nil)
        #expect(!fixture.has("claim"))
    }

    @Test("is decided by the board's session, the clock and what was taken before")
    func decision() throws {
        let fixture = try ClaimFixture()
        let claim = try PreparedClaimFile(
            parsing: JSONValue.object(try fixture.members()).bytes)
        let identity = BoardIdentity(
            installation: claim.id, deviceSecret: SecretBytes([]), deviceKey: [])
        var records = BoardRecords(identity: identity)
        func decision() -> ClaimTaking.Decision { ClaimTaking.decision(on: claim, records) }
        #expect(decision() == .take)
        records.memory.floor = claim.expiresAt - .seconds(1)
        #expect(decision() == .take)
        records.memory.floor = claim.expiresAt
        #expect(decision() == .expired)
        records.memory.took(claim.id)
        for _ in 0..<15 { records.memory.took(InstallationID(random: try RandomBytes.make(16))) }
        #expect(decision() == .alreadyTaken)
        let kept = try BoardMemory(json: JSONObject(parsing: records.memory.json.bytes))
        #expect(kept == records.memory)
        records.memory.took(InstallationID(random: try RandomBytes.make(16)))
        #expect(decision() == .expired && records.memory.takenClaims.count == 16)
    }

    @Test("does not ask the board's clock, which may be ahead, whether the claim has ended")
    func ahead() throws {
        let fixture = try ClaimFixture()
        try fixture.configure()
        try fixture.write(try fixture.members(expires: .seconds(-1)))
        #expect(try start(fixture).join != nil && !fixture.has("claim"))
    }
}
