import AuthorityCore
import AuthorityStore
import PostgreSQLClient
import Testing

@Suite("Failure of the database")
struct StoreFailureTests {
    @Test("says whether the database's disk is full", arguments: [
        ("53100", true), ("53200", false), ("53300", false), ("58030", false),
    ])
    func diskFull(code: String, isFull: Bool) throws {
        let error = PostgresError.server(try #require(SQLState(code)), "no room")
        #expect(error.authorityError.isDiskFull == isFull)
    }

    @Test("says whether the database is away", arguments: [
        (PostgresError.unreachable(.socket, "refused"), "store away"),
        (.lost("reset", whileCommitting: true), "store away"),
        (.overloaded, "store"), (.misfit("a bool"), "store"),
    ])
    func layer(error: PostgresError, layer: String) {
        #expect(error.authorityError == .failed(layer: layer, text: error.text))
    }
}
