import AuthorityCore
import AuthorityStore
import PostgreSQLClient
import Testing

@Suite("Failure of the database")
struct StoreFailureTests {
    @Test("says whether the database is away", arguments: [
        (PostgresError.unreachable(.socket, "refused"), "store away"),
        (.lost("reset", whileCommitting: true), "store away"),
        (.overloaded, "store"), (.misfit("a bool"), "store"),
    ])
    func layer(error: PostgresError, layer: String) {
        #expect(error.authorityError == .failed(layer: layer, text: error.text))
    }
}
