import ConfigurationFiles
import Foundation
import Sessions
import Testing
import Wire

@testable import AgentCommands
@testable import AgentService

@Suite("Handing a prepared claim over")
struct ClaimHandoverTests {
    private func claim(_ members: [String: JSONValue]) throws -> PreparedClaimFile {
        try PreparedClaimFile(parsing: JSONValue.object(members).bytes)
    }

    private func settings(_ fixture: ClaimFixture) throws -> BoardSettings {
        try RuleContent(folder: fixture.folder.path).settings()
    }

    private func handover(_ fixture: ClaimFixture) -> ClaimHandover {
        ClaimHandover(folder: fixture.folder.path)
    }

    @Test("writes agent.toml with broker, CA and name where there is none")
    func absent() throws {
        let fixture = try ClaimFixture()
        #expect(try handover(fixture).configure(try claim(try fixture.members())))
        let settings = try settings(fixture)
        #expect(settings.name == "barn-1" && "\(settings.uplink.uri)" == "mqtts://broker.example")
        #expect(settings.uplink.caFile == fixture.folder.path + "/uplink-ca.pem")
        #expect(try fixture.text("uplink-ca.pem") == fixture.members()["ca"]?.asString)
        #expect(try !handover(fixture).configure(try claim(try fixture.members())))
    }

    @Test("adds the uplink and the name to a file that lacks them, and keeps the rest", arguments: [
        ("", "barn-1"), ("name = \"mine\"\n", "mine"),
        ("name = \"mine\"\n[outbox]\nmax_age = \"2d\"", "mine"), ("# nothing\n", "barn-1"),
    ])
    func extended(text: String, name: String) throws {
        let fixture = try ClaimFixture()
        try fixture.folder.write("agent.toml", text)
        #expect(try handover(fixture).configure(try claim(try fixture.members(withCA: false))))
        let settings = try settings(fixture)
        #expect(settings.name == name && "\(settings.uplink.uri)" == "mqtts://broker.example")
        #expect(settings.uplink.caFile == nil)
        #expect(settings.outbox.maxAge == .seconds((text.contains("2d") ? 2 : 14) * 86_400))
        #expect(try text.isEmpty || fixture.text("agent.toml").contains(text))
    }

    @Test("leaves a file with an uplink as it is, and one with a fault of its own", arguments: [
        "name = \"mine\"\n[uplink]\nuri = \"mqtts://other.example\"\n", "nonsense = 1\n",
        "[uplink]\n", "name = \n",
    ])
    func kept(text: String) throws {
        let fixture = try ClaimFixture()
        try fixture.folder.write("agent.toml", text)
        #expect(try !handover(fixture).configure(try claim(try fixture.members())))
        #expect(try fixture.text("agent.toml") == text)
        #expect(!fixture.has("uplink-ca.pem"))
    }

    @Test("refuses a broker without encryption, unless agent.toml has an uplink")
    func unencrypted() throws {
        let fixture = try ClaimFixture()
        let members = try fixture.members(broker: "mqtt://broker.example")
        let error = #expect(throws: AgentFailure.self) {
            _ = try handover(fixture).configure(try claim(members))
        }
        #expect(try #require(error).sentence.contains("not encrypted"))
        #expect(!fixture.has("agent.toml"))
        try fixture.configure()
        #expect(try handover(fixture).configure(try claim(members)))
        #expect("\(try settings(fixture).uplink.uri)" == "mqtts://broker.example")
    }

    @Test("adds only the name to a file that has an uplink and no name")
    func unnamed() throws {
        let fixture = try ClaimFixture()
        let text = "[uplink]\nuri = \"mqtts://other.example\"\n"
        try fixture.folder.write("agent.toml", text)
        #expect(try handover(fixture).configure(try claim(try fixture.members())))
        #expect(try fixture.text("agent.toml") == "name = \"barn-1\"\n" + text)
        #expect(!fixture.has("uplink-ca.pem"))
    }

    @Test("moves the file to the state folder, 0600, and the agent takes it from there")
    func moved() throws {
        let fixture = try ClaimFixture()
        try fixture.configure("")
        try fixture.write(try fixture.members(), mode: 0o644)
        let done = try #require(try handover(fixture).perform())
        #expect(done.isConfigured && done.fault == nil && !fixture.has("claim"))
        #expect(!done.isReplacement && done.passedOver == nil && done.wasOpen)
        let path = fixture.folder.path + "/state/claim"
        #expect(done.place.path == path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(try done.place.read()?.id == done.claim.id)
        #expect(try handover(fixture).perform() == nil)
        let other = try #require(InstallationID("5c0f7a9e-4b7d-4b8c-9e43-0123456789ab"))
        try fixture.write(try fixture.members(id: other))
        let second = try #require(try handover(fixture).perform())
        #expect(second.isReplacement && !second.wasOpen)
        #expect(try done.place.read()?.id == other)
    }

    @Test("ends with 2 where there is no file, 78 for one that cannot be used, and 0 once done")
    func command() throws {
        let fixture = try ClaimFixture()
        try fixture.configure("")
        func join() -> AgentService.ExitStatus {
            AgentProgram.run(["join", "--json", "--config-dir", fixture.folder.path])
        }
        #expect(join() == .usage)
        try fixture.folder.write("claim", "{}", mode: 0o600)
        #expect(join() == .badConfiguration)
        #expect(fixture.has("claim"))
        try fixture.write(try fixture.members())
        #expect(join() == .ok)
        #expect(!fixture.has("claim") && fixture.has("state/claim"))
    }
}
