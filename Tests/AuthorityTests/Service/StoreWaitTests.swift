import AuthorityCore
import AuthorityStore
import Logging
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityBroker
@testable import AuthorityCommands
@testable import AuthorityService

@Suite("The wait for a database")
struct StoreWaitTests {
    @Test("rests longer after each failure, from 1 s to 30 s, and spread", arguments: [
        (1, 1.0, 1_000), (1, 0.0, 500), (2, 1.0, 2_000), (3, 0.5, 3_000), (5, 1.0, 16_000),
        (6, 1.0, 30_000), (6, 0.0, 15_000), (Int.max, 1.0, 30_000), (0, 1.0, 1_000),
        (2, -1.0, 1_000), (2, 9.0, 2_000),
    ])
    func pauses(failures: Int, chance: Double, milliseconds: Int) {
        #expect(StoreWait.pause(after: failures, chance: chance) == .milliseconds(milliseconds))
    }

    private final class Accounts: Sendable {
        let asked = Atomic(0)

        func read() throws -> [BrokerAccount] {
            let count = asked.add(1, ordering: .relaxed).newValue
            throw AuthorityError.failed(layer: count < 3 ? StoreOpening.away : "store", text: "")
        }
    }

    @Test("is one of the embedded broker's start, too", .timeLimit(.minutes(5)))
    func accounts() async throws {
        let folder = try TemporaryFolder()
        let accounts = Accounts()
        let broker = EmbeddedBroker(
            folder: folder.path, host: "127.0.0.1", port: 1, root: .standard,
            password: SecretBytes("none"), logger: Logger(label: "test") { _ in
                SwiftLogNoOpLogHandler()
            })
        await #expect(throws: AuthorityError.failed(layer: "store", text: "")) {
            try await broker.run(accounts: { try accounts.read() })
        }
        #expect(accounts.asked.load(ordering: .relaxed) == 3)
    }

    @Test("ends with a code that says whether somebody has to change something")
    func exits() {
        for (layer, code) in [
            (StoreOpening.settings, Exit.configuration), ("schema", Exit.configuration),
            (StoreOpening.away, Exit.offline), ("store", Exit.failed),
        ] {
            #expect(Exit.code(for: AuthorityError.failed(layer: layer, text: "")) == code)
        }
    }
}

@Suite("Settings that authorities share")
struct SharedSettingTests {
    private let home = SharedSettings(
        topicRoot: "postern/v1", applicationID: "a=b", publicURL: "https://authority.example")

    @Test("are read as they were written, and not where one is missing")
    func lines() {
        #expect(SharedSettings(lines: home.lines) == home)
        #expect(SharedSettings(lines: home.lines + ["later=x", "nonsense"]) == home)
        #expect(SharedSettings(lines: home.lines.dropLast()) == nil)
        #expect(SharedSettings(lines: [String]()) == nil)
    }

    @Test("say in what they differ")
    func differences() {
        let moved = SharedSettings(
            topicRoot: "other", applicationID: "a=b", publicURL: "https://new.example")
        #expect(home.differences(from: home).isEmpty)
        #expect(moved.differences(from: home) == [
            "topic_root is \"other\" here and \"postern/v1\" in the store",
            "http.public_url is \"https://new.example\" here and \"https://authority.example\" "
                + "in the store",
        ])
    }
}

@Suite("The end of an outage")
struct StoreReturnTests {
    @Test("is said once, as soon as nothing was lost between two answers")
    func once() {
        var outage = StoreReturn()
        let asked = [0, 0, 2, 3, 3, 3, 3, 4, 4, 4].map { outage.isOver(losses: $0) }
        #expect(asked == [
            false, false, false, false, true, false, false, false, true, false,
        ])
    }
}
