import AuthorityCore
import NIOHTTP1
import Sessions
import Testing

@Suite("The route that releases a board")
struct ReleaseRouteTests {
    private let place = "boards/\(StubFrontend.iid)"

    @Test("deletes the data first, unless it stays with its owner", arguments: [true, false])
    func data(keepsData: Bool) async throws {
        let store = SeriesStore()
        try await RunningConsole.with(data: store) { console in
            let query = keepsData ? "?keepData=true" : ""
            let answer = try await console.send(.DELETE, "/postern/v1/\(place)\(query)")
            #expect(answer.status == 200)
            #expect(store.releases.map { "\($0.board)" } == (keepsData ? [] : [StubFrontend.iid]))
            #expect(await console.frontend.calls == ["release \(StubFrontend.iid)"])
        }
    }

    @Test("releases nothing if the data cannot be deleted")
    func away() async throws {
        let store = SeriesStore()
        store.setAway(true)
        try await RunningConsole.with(data: store) { console in
            let answer = try await console.send(.DELETE, "/postern/v1/\(place)")
            #expect(answer.status >= 500)
            #expect(await console.frontend.calls.isEmpty)
        }
    }
}
