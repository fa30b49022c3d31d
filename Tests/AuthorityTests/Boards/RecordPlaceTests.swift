import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import Foundation
import Sessions
import Testing
import Wire

@testable import AuthorityCommands
@testable import AuthorityService

@Suite("The place of the records")
struct RecordPlaceTests {
    private let rules = AuthorityRules(
        info: AuthorityInfo(
            name: "Home", applicationID: "postern", publicURL: "https://authority.example",
            topicRoot: .standard, version: "t"),
        lifetimes: .consumer, managesBrokerAccess: true)

    private func founded(_ folder: TemporaryFolder, _ name: String) async throws -> StateFolder {
        let state = StateFolder(path: "\(folder.path)/\(name)")
        try await state.found(
            administrator: "ada", password: SecretBytes("correct horse battery"), rules: rules)
        return state
    }

    @Test("is not opened by another's master key, which is named")
    func other() async throws {
        let folder = try TemporaryFolder()
        let first = try await founded(folder, "a")
        let second = try await founded(folder, "b")
        try await first.open().close()
        let mixed = StateFolder(path: first.path, masterKeyFile: second.masterKey)
        let error = await #expect(throws: StateFolderError.self) { _ = try await mixed.open() }
        #expect(error == .otherKey(second.masterKey, first.path))
        #expect(error.map(Exit.code(for:)) == Exit.configuration)
        let lost = StateFolder(path: first.path, masterKeyFile: "\(folder.path)/nowhere")
        await #expect(throws: (any Error).self) { _ = try await lost.open() }
    }

    @Test("is opened by a master key that stands where the settings say")
    func elsewhere() async throws {
        let folder = try TemporaryFolder()
        let state = try await founded(folder, "a")
        let place = "\(folder.path)/master.key"
        try FileManager.default.moveItem(atPath: state.masterKey, toPath: place)
        try await StateFolder(path: state.path, masterKeyFile: place).open().close()
        await #expect(throws: (any Error).self) { _ = try await state.open() }
    }

    @Test("is not opened outside of the unit that is given the master key, and that is said")
    func credential() async throws {
        let folder = try TemporaryFolder()
        let state = try await founded(folder, "a")
        let given = StateFolder(
            path: state.path, masterKeyFile: "credential:postern.master-key")
        let error = await #expect(throws: StateFolderError.self) { _ = try await given.open() }
        #expect(error == .keyMissing("credential:postern.master-key"))
        #expect(error?.description.contains("LoadCredentialEncrypted=postern.master-key:") == true)
    }

    @Test("is not made where the master key cannot be kept")
    func unkept() async throws {
        let folder = try TemporaryFolder()
        let state = StateFolder(
            path: "\(folder.path)/a", masterKeyFile: "\(folder.path)/nowhere/master.key")
        let error = await #expect(throws: StateFolderError.self) {
            try await state.found(
                administrator: "ada", password: SecretBytes("correct horse battery"), rules: rules)
        }
        guard case .keyUnkept(state.masterKey, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!FileManager.default.fileExists(atPath: state.database))
    }
}
