import AuthorityCore
import Gate
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityService

@Suite("An open stream of a shared board", .serialized, .everyStore)
struct ShareStreamTests {
    private func isReading(_ celsius: Double) -> (ConsoleEvent) -> Bool {
        { event in
            guard case .reading(let reading) = event else { return false }
            return reading.values == ["celsius": celsius]
        }
    }

    enum End: CaseIterable { case removed, elsewhere, until, released, newOwner }

    @Test("brings no reading more once the share has ended, wherever", arguments: End.allCases)
    func over(end: End) async throws {
        let shared = try await SharedHouse()
        let authority = shared.house.authority
        let hub = try await RunningHub(shared.house)
        let ada = try await shared.house.login()
        let until = shared.house.clock.now + .seconds(3600)
        try await shared.share(ShareTerms(right: .see, until: until))
        let filter = EventFilter(board: shared.id)
        let stream = try await hub.watch(shared.carl, filter)
        let list = try await hub.watch(shared.carl)
        let administrator = try await hub.watch(ada, filter)
        hub.data(#"{"celsius":21.5}"#, of: shared.board)
        try await stream.wait(for: isReading(21.5))
        try await list.wait { if case .minute = $0 { true } else { false } }
        let share = try await authority.shares(of: shared.id, by: shared.bob).shares[0].share
        switch end {
        case .removed: try await authority.endShare(share.id, of: shared.id, by: shared.bob)
        case .elsewhere:
            let replica = House.authority(on: try await shared.house.place.open(), shared.house)
            try await replica.endShare(share.id, of: shared.id, by: shared.bob)
        case .until: shared.house.clock.advance(.seconds(3600))
        case .released: try await authority.release(shared.id, by: shared.bob)
        case .newOwner:
            let paired = try shared.board.pairedAnew()
            _ = try await shared.house.provisioned(paired, by: ada)
        }
        let ended = ContinuousClock.now
        // A reading that comes now reaches only those who may still see the board.
        hub.data(#"{"celsius":99}"#, of: shared.board)
        if end != .released { try await administrator.wait(for: isReading(99)) }
        for reader in [stream, list] {
            try await reader.wait { $0 == .unshared(shared.id) }
            let last = try #require(reader.heard.firstIndex(of: .unshared(shared.id)))
            #expect(!reader.heard[last...].dropFirst().contains { $0.isOf(shared.id) })
            #expect(!reader.heard.contains(where: isReading(99)))
            #expect(!reader.isOver)
        }
        print("a share that ended (\(end)) was gone from open streams after",
            ContinuousClock.now - ended)
        await hub.stop()
    }

    @Test("shows the classes of the share, and the board as the share allows")
    func classes() async throws {
        let shared = try await SharedHouse()
        let hub = try await RunningHub(shared.house)
        let authority = shared.house.authority
        let label = try #require(BoardLabel("cellar"))
        let name = try #require(BoardName("shed"))
        try await shared.share(ShareTerms(right: .see, classes: [ClassName("Reading")!]))
        let stream = try await hub.watch(shared.carl, EventFilter(board: shared.id))
        hub.data(#"{"celsius":1}"#, of: shared.board, class: "Secret")
        hub.data(#"{"celsius":2}"#, of: shared.board)
        try await stream.wait(for: isReading(2))
        #expect(!stream.heard.contains(where: isReading(1)))
        _ = try await authority.change(
            shared.id, BoardChange(name: name, labels: .set([label])), by: shared.bob)
        try await stream.wait {
            guard case .board(let board) = $0, board.name == "shed" else { return false }
            return board.labels.isEmpty && board.isSeenOnly && board.shared?.terms.right == .see
        }
        // A share that shows less drops what waits, and the stream stays.
        try await shared.share(ShareTerms(right: .see, classes: [ClassName("Secret")!]))
        hub.data(#"{"celsius":3}"#, of: shared.board)
        hub.data(#"{"celsius":4}"#, of: shared.board, class: "Secret")
        try await stream.wait(for: isReading(4))
        #expect(!stream.heard.contains(where: isReading(3)))
        #expect(!stream.heard.contains(.unshared(shared.id)))
        await hub.stop()
    }

    @Test("shows a board from the moment that it is shared")
    func accepted() async throws {
        let shared = try await SharedHouse()
        let hub = try await RunningHub(shared.house)
        let stream = try await hub.watch(shared.carl)
        try await shared.share(ShareTerms(right: .manage))
        try await stream.wait {
            if case .board(let board) = $0 { board.shared?.terms.right == .manage } else { false }
        }
        await hub.stop()
    }
}

extension ConsoleEvent {
    fileprivate func isOf(_ id: InstallationID) -> Bool {
        switch self {
        case .board(let board): board.installation == id
        case .minute(let minute): minute.board == id
        case .reading(let reading): reading.board == id
        default: false
        }
    }
}
