import AuthorityCore
import AuthorityStore
import Foundation
import Sessions
import Testing

/// What other processes do to the store of one that serves.
@Suite("Authority's neighbours", .serialized)
struct NeighbourTests {
    @Test("are noticed by what they commit, once, and our own commits are not theirs",
          .everyStore)
    func noticed() async throws {
        let house = try await House()
        let neighbour = try await Neighbour(of: house)
        var ours = try await house.store.foreignVersion()
        let theirs = try await neighbour.store.foreignVersion()
        _ = try await house.addUser("bob")
        #expect(try await house.store.foreignVersion() == ours)
        #expect(try await neighbour.store.foreignVersion() != theirs)
        try await neighbour.authority.alarm("test", "")
        // Also where the connection has seen it already, in a transaction of its own.
        _ = try await house.addUser("eve")
        let after = try await house.store.foreignVersion()
        #expect(after != ours)
        ours = after
        _ = try await neighbour.authority.everyUser()
        #expect(try await house.store.foreignVersion() == ours)
    }

    @Test("that undo what they began have changed nothing", .everyStore)
    func undone() async throws {
        let house = try await House()
        let neighbour = try await Neighbour(of: house)
        let version = try await house.store.foreignVersion()
        await #expect(throws: AuthorityError.self) {
            try await neighbour.store.transact { transaction throws(AuthorityError) in
                try transaction.countFailure("k", at: Timestamp(milliseconds: 1))
                throw .failed(layer: "x", text: "y")
            }
        }
        #expect(try await house.store.foreignVersion() == version)
    }

    @Test("that change a password cut that person's programs off within two seconds",
          .timeLimit(.minutes(5)))
    func password() async throws {
        let house = try await RunningHouse()
        let ada = try await house.login()
        let login = try await house.authority.brokerLogin(by: ada)
        let link = try await house.connect(
            login.username, login.password, clientID: login.clientID)
        let folder = house.folder.path
        try Data("state_dir = \"\(folder)/state\"\n".utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/authority.toml"))
        try Data("another horse battery\n".utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/password"))
        let command = try BuiltProgram.start(
            ["--config-dir", folder, "user", "password", "ada", "--password-file",
             "\(folder)/password"], log: "\(folder)/log")
        try await untilTrue { !command.isRunning }
        #expect(command.terminationStatus == 0)
        let changed = ContinuousClock.now
        try await untilTrue { link.hasEnded }
        report("a password set beside the service cuts a program off", since: changed)
        await house.stop()
    }

    @Test("that rotate the signing key have a running service sign with it within two seconds",
          .timeLimit(.minutes(5)))
    func rotation() async throws {
        let place = try Place()
        #expect(try await place.initialise() == 0)
        let (service, log) = try place.start("serve")
        try await untilTrue { try place.text(log).contains("ready\n") }
        for count in 1...3 {
            #expect(try await place.run("keys", "rotate") == 0)
            let rotated = ContinuousClock.now
            try await untilTrue {
                try place.text(log).components(separatedBy: "a new key").count == count + 1
            }
            report("a key rotated beside the service signs", since: rotated)
        }
        #expect(try await place.run("keys", "list", "--json") == 0)
        #expect(service.isRunning)
        kill(service.processIdentifier, SIGTERM)
        try await untilTrue { try !service.isRunning && place.brokers().isEmpty }
    }

    private func report(_ what: String, since start: ContinuousClock.Instant) {
        print("measured: \(what) after \(ContinuousClock.now - start)")
    }
}
