import AuthorityCore
import ConfigurationFiles
import Cryptography
import Foundation
import FreePorts
import Logging
import MQTT
import Sessions
import Testing
import Wire

import AuthorityBroker

@Suite("External broker", .serialized)
struct ExternalBrokerTests {
    @Test("is given back what it lost, and loses what no session has")
    func reconciled() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let house = try await RunningHouse(broker: broker)
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let stranger = try BoardDouble()
        let claim = try await house.authority.claim(
            ClaimOrder(url: stranger.url(), duration: nil, scope: nil), by: ada)
        _ = try await house.authority.revoke(claim.session, by: ada)
        let link = try await house.connect(board)
        await broker.stop()
        try await untilTrue { link.hasEnded }

        // It comes back with none of our boards, with one of ours that no session has, with
        // one that has our mark and that our store, an older one, does not know, and with one
        // of another authority.
        let later = try BoardDouble()
        let foreigner = try BoardDouble()
        try await broker.start(accounts: [
            try account(of: stranger, owner: "postern postern/v1"),
            try account(of: later, owner: "postern postern/v1"),
            try account(of: foreigner, owner: "postern another/root"),
        ])
        let again = try await until { try? await house.connect(board) }
        try await again.client.subscribe([Subscription(board.inbox)])
        _ = try await again.wait(for: board.inbox) { try? board.openProvision($0.payload) }
        try await untilTrue { (try? await house.connect(stranger)) == nil }
        _ = try await house.connect(foreigner)
        _ = try await house.connect(later)
        #expect(try await house.authority.aheadBoards().map(\.board) == [later.installation])
        try await house.authority.settleRestored(actor: "test")
        try await untilTrue { (try? await house.connect(later)) == nil }
        await again.client.close()
        await house.stop()
        await broker.stop()
    }
}

extension ExternalBrokerTests {
    private func account(of board: BoardDouble, owner: String) throws -> BrokerAccount {
        BrokerAccount(
            username: board.installation.description, password: try board.brokerPassword,
            clientID: "postern-\(board.installation)",
            role: BrokerRole(
                board: board.installation, root: .standard, data: true, extraTopics: []),
            owner: owner)
    }

    @Test("that confirms nothing is left, and connected to anew")
    func silent() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let link = BrokerLink(
            login: BrokerLink.BrokerLogins(
                uri: try BrokerURI("mqtt://127.0.0.1:\(broker.port)"), clientID: "silent",
                username: EmbeddedBroker.username, password: broker.password, caFile: nil,
                isAlone: false),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            answerLimit: .milliseconds(300))
        let task = Task {
            await link.run(
                subscriptions: [Subscription("postern/v1/+/status")], onUp: {},
                onMessage: { _ in })
        }
        try await untilTrue { await link.isUp }
        let topic = try BoardDouble().inbox
        let pid = try #require(broker.pid)
        kill(pid, SIGSTOP)
        let error = await #expect(throws: AuthorityError.self) {
            try await link.publish(OutgoingMessage(topic: topic, payload: [1]))
        }
        guard case .failed(layer: "MQTT", _) = error else { throw TimedOut() }
        kill(pid, SIGCONT)
        try await untilTrue {
            (try? await link.publish(OutgoingMessage(topic: topic, payload: [1]))) != nil
        }
        task.cancel()
        await task.value
        await broker.stop()
    }

    @Test("is given today's roles, passwords and client ids in place of a backup's")
    func outdated() async throws {
        let broker = try ExternalBroker()
        try await broker.start(accounts: [])
        let house = try await RunningHouse(broker: broker)
        let ada = try await house.login()
        let board = try BoardDouble()
        _ = try await house.authority.claim(
            ClaimOrder(url: board.url(), duration: nil, scope: nil), by: ada)
        let person = try await house.authority.brokerLogin(by: ada)
        await broker.stop()

        let iid = board.installation
        let nothing = BrokerRole(reader: BrokerRole.boardName(iid), filters: [])
        try await broker.start(accounts: [
            BrokerAccount(
                username: iid.description, password: SecretBytes("an old one"),
                clientID: "postern-\(iid)", role: nothing),
            BrokerAccount(
                username: person.username, password: person.password, clientID: nil,
                role: BrokerRole(reader: person.username, filters: [])),
        ])
        let link = try await until { () async throws -> Listener? in
            guard let link = try? await house.connect(board) else { return nil }
            let codes = try? await link.client.subscribe([Subscription(board.inbox)])
            return codes == [1] ? link : nil
        }
        _ = try await link.wait(for: board.inbox) { try? board.openProvision($0.payload) }
        try await untilTrue {
            await (try? house.connect(
                person.username, person.password, clientID: "postern-\(iid)")) == nil
        }
        let reader = try await until {
            try? await house.connect(
                person.username, person.password, clientID: person.clientID)
        }
        let codes = try await reader.client.subscribe(person.filters.map { Subscription($0) })
        #expect(codes.allSatisfy { $0 < 0x80 })
        await house.stop()
        await broker.stop()
    }
}

/// A mosquitto that is not the authority's, but has an account for it.
final class ExternalBroker: @unchecked Sendable {
    let folder: TemporaryFolder
    let port: UInt16
    let password = SecretBytes("the authority's own password")
    // Touched by one test, one call after the other.
    private var task: Task<Void, any Error>?

    init() throws {
        folder = try TemporaryFolder()
        port = try FreePort.next()
        try Data(password.reveal()).write(to: URL(fileURLWithPath: passwordFile))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: passwordFile)
    }

    var passwordFile: String { "\(folder.path)/password" }

    /// Starts it on an empty folder.
    func start(accounts: [BrokerAccount]) async throws {
        let path = "\(folder.path)/broker"
        try? FileManager.default.removeItem(atPath: path)
        var logger = Logger(label: "broker")
        logger.logLevel = .critical
        let broker = EmbeddedBroker(
            folder: path, host: "127.0.0.1", port: port, root: .standard, password: password,
            logger: logger)
        task = Task { try await broker.run(accounts: { accounts }) }
    }

    /// The broker's process, not the shell that stands before it.
    var pid: Int32? {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { Int32($0) }.first { pid in
            let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
            return line.range(of: Data(folder.path.utf8)) != nil
                && line.range(of: Data("postern-broker".utf8)) == nil
        }
    }

    func stop() async {
        task?.cancel()
        _ = try? await task?.value
    }
}
