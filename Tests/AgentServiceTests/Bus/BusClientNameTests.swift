import AgentCore
import Sessions
import Testing

@testable import AgentService

@Suite("Bus client name")
struct BusClientNameTests {
    private func board(_ secret: UInt8, _ installation: UInt8) throws -> BoardIdentity {
        BoardIdentity(
            installation: InstallationID(random: [UInt8](repeating: installation, count: 16)),
            deviceSecret: SecretBytes([UInt8](repeating: secret, count: 32)), deviceKey: [])
    }

    @Test("is the same after a restart, and another for another key or board")
    func derived() throws {
        let name = try BusClientName(of: board(1, 1)).reveal("requests")
        #expect(try BusClientName(of: board(1, 1)).reveal("requests") == name)
        #expect(try BusClientName(of: board(2, 1)).reveal("requests") != name)
        #expect(try BusClientName(of: board(1, 2)).reveal("requests") != name)
        #expect(try BusClientName(of: board(1, 1)).reveal("answers") != name)
    }

    @Test("tells nothing that programs on the board know")
    func secret() throws {
        let board = try board(1, 1)
        let name = try BusClientName(of: board)
        #expect(!name.reveal("requests").contains("\(board.installation)"))
        // 16 bytes that only the holder of the device key can make.
        #expect(name.reveal("requests").utf8.count == "postern-requests-".utf8.count + 22)
        #expect(!"\(name)".contains(name.reveal("x").dropFirst("postern-x-".count)))
    }
}
