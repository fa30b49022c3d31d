import MQTT
import Testing

@testable import AgentService

@Suite("Poison search")
struct PoisonSearchTests {
    /// Two connections that ended at their writes, so that the search is on.
    private func begun() -> PoisonSearch {
        var search = PoisonSearch()
        for _ in 1...2 {
            search.connectionBegan()
            _ = search.connectionEnded(.closed, inFlight: 50, alone: nil, at: .zero)
        }
        return search
    }

    /// One connection: controls as they are wanted, then the write alone, then the end.
    private func probe(
        _ search: inout PoisonSearch, _ sequence: Int64, _ end: ConnectionEnd,
        after span: Duration = .milliseconds(20)
    ) -> Int64? {
        search.connectionBegan()
        while search.wantsControl {
            search.controlSent()
            search.controlAnswered()
        }
        #expect(search.isReady)
        return search.connectionEnded(
            end, inFlight: 1, alone: (sequence, .seconds(100)), at: .seconds(100) + span)
    }

    @Test("begins after two connections that brought no answer, not before")
    func begins() {
        var search = PoisonSearch()
        #expect(!search.isOn)
        _ = search.connectionEnded(.broken, inFlight: 3, alone: nil, at: .zero)
        #expect(!search.isOn)
        search.writeAnswered()
        _ = search.connectionEnded(.closed, inFlight: 3, alone: nil, at: .zero)
        #expect(!search.isOn)
        _ = search.connectionEnded(.closed, inFlight: 3, alone: nil, at: .zero)
        #expect(!search.isOn)
        _ = search.connectionEnded(.closed, inFlight: 3, alone: nil, at: .zero)
        #expect(search.isOn)
        search.writeAnswered()
        #expect(!search.isOn)
    }

    @Test("says nothing of connections that ended with nothing in flight")
    func idle() {
        var search = PoisonSearch()
        for _ in 1...10 {
            search.connectionBegan()
            _ = search.connectionEnded(.closed, inFlight: 0, alone: nil, at: .zero)
        }
        #expect(!search.isOn)
    }

    @Test("blames a write that ends three connections in a row, alone, in order or by a word",
          arguments: [ConnectionEnd.closed, .told(0x81), .told(0x82), .told(0x90), .told(0x95),
                      .told(0x99)])
    func blames(end: ConnectionEnd) {
        var search = begun()
        // The next one is looked at like the first.
        let blamed = [7, 7, 7, 8, 8, 8].map { probe(&search, $0, end) }
        #expect(blamed == [nil, nil, 7, nil, nil, 8])
        #expect(search.isOn)
    }

    @Test("wants more acknowledged controls before each further try")
    func controls() {
        var search = begun()
        for count in [8, 12, 16] {
            search.connectionBegan()
            for _ in 0..<count {
                #expect(search.wantsControl)
                #expect(!search.isReady)
                search.controlSent()
                // One after the other: the next one waits for the answer.
                #expect(!search.wantsControl)
                search.controlAnswered()
            }
            #expect(!search.wantsControl)
            #expect(search.isReady)
            _ = search.connectionEnded(
                .closed, inFlight: 1, alone: (7, .seconds(1)), at: .seconds(1))
        }
    }

    @Test("blames nothing for an end that a network makes", arguments: [
        (ConnectionEnd.broken, 20), (.closed, 5001), (.told(0x8B), 20), (.told(0x97), 20),
        (.told(0x8E), 20), (.told(0x98), 20), (.told(0x87), 20),
    ])
    func network(end: ConnectionEnd, milliseconds: Int) {
        var search = begun()
        for _ in 1...20 {
            let blamed = probe(&search, 7, end, after: .milliseconds(milliseconds))
            #expect(blamed == nil)
        }
    }

    @Test("ends when the connection ends among the controls, so that writes have its time")
    func endsAmongControls() {
        var search = begun()
        search.connectionBegan()
        search.controlSent()
        search.controlAnswered()
        _ = search.connectionEnded(.closed, inFlight: 0, alone: nil, at: .zero)
        #expect(!search.isOn)
        #expect(search.isReady)
    }

    @Test("begins the count anew when the connection ends among the controls")
    func amongControls() {
        var search = begun()
        for _ in 1...20 {
            let blamed = [probe(&search, 7, .closed), probe(&search, 7, .closed)]
            #expect(blamed == [nil, nil])
            search.connectionBegan()
            search.controlSent()
            search.controlAnswered()
            _ = search.connectionEnded(.closed, inFlight: 0, alone: nil, at: .seconds(100))
        }
    }

    @Test("does not forget what it saw while the broker cannot be reached")
    func brokerGone() {
        var search = begun()
        for sequence in [7, 7] as [Int64] {
            let blamed = probe(&search, sequence, .closed)
            #expect(blamed == nil)
            for _ in 1...5 {
                search.connectionBegan()
                _ = search.connectionEnded(.closed, inFlight: 0, alone: nil, at: .seconds(200))
            }
        }
        let blamed = probe(&search, 7, .closed)
        #expect(blamed == 7)
    }

    @Test("costs no write on networks that drop one acknowledgement in so many",
          arguments: [2, 3, 5, 10, 20, 50])
    func lossy(one: UInt64) {
        // A fixed sequence of chances (Knuth's MMIX generator), the same at each run.
        var state: UInt64 = 0x9E37_79B9 &+ one
        func drops() -> Bool {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33).isMultiple(of: one)
        }
        var search = PoisonSearch()
        var blamed = 0
        for connection in 0..<2000 {
            search.connectionBegan()
            var isUp = true
            while isUp, search.wantsControl {
                search.controlSent()
                isUp = !drops()
                if isUp { search.controlAnswered() }
            }
            var isInFlight = false
            while isUp {
                isInFlight = true
                isUp = !drops()
                if isUp {
                    search.writeAnswered()
                    isInFlight = false
                }
            }
            let now = Duration.seconds(connection)
            let found = search.connectionEnded(
                .closed, inFlight: isInFlight ? 1 : 0, alone: isInFlight ? (7, now) : nil,
                at: now)
            if found != nil { blamed += 1 }
        }
        #expect(blamed == 0)
    }
}
