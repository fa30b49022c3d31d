import Foundation
import LinuxIO
import Sessions
import Testing
@testable import AgentStore

@Suite("Credential key")
struct CredentialKeyTests {
    private func file(_ folder: StateFolder, _ credentials: String?) -> KeyFile {
        KeyFile(folder: folder.path, keepers: [CredentialKey(folder: credentials)])
    }

    @Test("is made of the credential's 32 bytes, another each time, and is never written")
    func made() throws {
        let (folder, credentials) = (try StateFolder(), try StateFolder())
        let path = credentials.path + "/postern.storage-key"
        let secret = (0..<32).map { UInt8($0) }
        try PrivateFile.write(path, secret, mode: 0o440)
        let key = try file(folder, credentials.path).create()
        #expect(try file(folder, credentials.path).load()?.matches(key) == true)
        let next = try file(folder, credentials.path).createNext(nil, isBest: true)
        #expect(!next.matches(key))
        let slot = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/storage.key")))
        #expect(!String(decoding: slot, as: UTF8.self).contains(Base64URL.encode(secret)))
        try PrivateFile.write(path, secret.reversed())
        #expect(throws: StoreError.self) { try file(folder, credentials.path).load() }
        #expect(try credentials.names() == ["postern.storage-key"])
    }

    @Test("is refused where it has another length or others may read it, absent where it is not",
        arguments: [(31, 0o600), (33, 0o600), (32, 0o604)])
    func refused(count: Int, mode: UInt32) throws {
        let (folder, credentials) = (try StateFolder(), try StateFolder())
        let bytes = [UInt8](repeating: 7, count: count)
        try PrivateFile.write(credentials.path + "/postern.storage-key", bytes, mode: mode)
        #expect(throws: StoreError.self) { try file(folder, credentials.path).create() }
        for place in [nil, "", folder.path, "relative"] {
            let error = #expect(throws: StoreError.self) {
                try CredentialKey(folder: place).probe()
            }
            guard case .keyUnreachable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}
