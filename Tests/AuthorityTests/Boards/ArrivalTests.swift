import Sessions
import Testing
import Wire

@testable import AuthorityCore

@Suite("Arrival")
struct ArrivalTests {
    private static let start = Timestamp(milliseconds: 1_700_000_000_000)
    private let board = InstallationID.numbered(1)

    private func at(_ seconds: Int64) -> Timestamp { Self.start + .seconds(seconds) }

    private func listening() -> LiveData {
        var data = LiveData()
        data.listen(true)
        return data
    }

    @Test("shows how many of the messages that a board sent are missing")
    func missing() {
        var data = listening()
        data.note(forwarded: 100, of: board, at: at(0))
        #expect(data.arrival(of: board, at: at(60))?.missing == 0)
        data.count(board, number: 103, at: at(100))
        data.note(forwarded: 110, of: board, at: at(180))
        // The data may be behind the heartbeat.
        #expect(data.arrival(of: board, at: at(182))?.missing == 0)
        let shown = data.arrival(of: board, at: at(186))
        #expect(shown == Arrival(sent: 110, arrived: 103, missing: 7, toldAt: at(180)))
        #expect(data.runningMinute(of: board, at: at(186)).arrival == shown)
        #expect(data.live(of: board, at: at(186)).arrival == shown)
        // A later heartbeat is no reason to call the same messages late only.
        data.note(forwarded: 120, of: board, at: at(360))
        #expect(data.arrival(of: board, at: at(361))?.missing == 7)
        data.count(board, number: 121, at: at(362))
        #expect(data.arrival(of: board, at: at(400))?.missing == 0)
    }

    @Test("does not wait for what may have come before anybody listened")
    func baseline() {
        var data = LiveData()
        data.note(forwarded: 100, of: board, at: at(0))
        #expect(data.arrival(of: board, at: at(10)) == nil)
        data.listen(true)
        data.note(forwarded: 200, of: board, at: at(20))
        data.count(board, number: 150, at: at(21))
        #expect(data.arrival(of: board, at: at(60))?.missing == 0)
        data.note(forwarded: 201, of: board, at: at(180))
        #expect(data.arrival(of: board, at: at(186))?.missing == 1)
        data.listen(false)
        #expect(data.arrival(of: board, at: at(190)) == nil)
    }

    @Test("is not told where the broker carries no numbers")
    func unnumbered() {
        var data = listening()
        data.note(forwarded: 1, of: board, at: at(0))
        data.count(board, at: at(1))
        #expect(data.arrival(of: board, at: at(10)) == nil)
    }
}
