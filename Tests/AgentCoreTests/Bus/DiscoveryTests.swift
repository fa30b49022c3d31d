import Sessions
import Testing
import Wire

@testable import AgentCore

@Suite("Home Assistant's discovery")
struct DiscoveryTests {
    private func told(_ discovery: HomeAssistantDiscovery?) throws -> [BusPublication] {
        var bench = try Bench()
        bench.settings.discovery = discovery
        try bench.restart()
        bench.handle(.started)
        return bench.handle(.busConnected(resumed: false)).compactMap { effect in
            guard case .publishBus(let publication) = effect,
                publication.topic.hasPrefix("homeassistant/")
            else { return nil }
            return publication
        }
    }

    @Test("says nothing unless asked")
    func off() throws {
        #expect(try told(nil).isEmpty)
    }

    @Test("is retained, one message a sensor, at each connect")
    func announced() throws {
        let root = try #require(TopicRoot("homeassistant"))
        let publications = try told(.announced(below: root))
        #expect(publications.count == HomeAssistantSensor.all.count)
        for publication in publications {
            #expect(publication.retain)
            let levels = publication.topic.split(separator: "/")
            #expect(levels.count == 5)
            #expect(["sensor", "binary_sensor"].contains(levels[1]))
            #expect(levels[2].hasPrefix("postern_") && levels[4] == "config")
            #expect(!publication.payload.isEmpty)
        }
    }

    @Test("is taken back by empty messages on the same topics")
    func withdrawn() throws {
        let root = try #require(TopicRoot("homeassistant"))
        let publications = try told(.withdrawn(below: root))
        #expect(publications.count == HomeAssistantSensor.all.count)
        #expect(publications.allSatisfy { $0.payload.isEmpty && $0.retain })
    }

    @Test("figures are those of health, and name nobody")
    func figures() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.bus([.write("thermo", "create/Reading", "1", packet: 1)]))
        let figures = bench.agent.figures(at: bench.instant)
        #expect(figures.state == .available)
        #expect(figures.accepted == 1)
        #expect(figures.lastContact == Bench.start)
        #expect(figures.sentence.hasPrefix("session available"))
        #expect(figures.sentence.contains("0 waiting; uplink "))
    }
}
