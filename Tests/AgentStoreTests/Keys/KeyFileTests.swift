import Foundation
import LinuxIO
import Sessions
import Testing
@testable import AgentStore

/// A key from a fixed secret and a salt; absent where a test wants it so.
final class StandInFirmware: FirmwareHMAC {
    let name = "a stand-in"
    var secret: UInt8? = 1

    func authenticate(_ message: [UInt8]) throws(FirmwareFailure) -> [UInt8] {
        guard let secret else { throw FirmwareFailure("no key") }
        var code = [UInt8](repeating: secret, count: 32)
        for (index, byte) in message.enumerated() {
            code[index % 32] = code[index % 32] &* 31 ^ byte
        }
        return code
    }
}

@Suite("Key file")
struct KeyFileTests {
    private let folder: StateFolder
    private let machine: String

    init() throws {
        folder = try StateFolder()
        machine = folder.path + "/machine-id"
        try write("000102030405060708090a0b0c0d0e0f\n", to: machine)
    }

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func file(
        _ keepers: [any KeyKeeper] = [], choice: KeyTier? = nil,
        report: @escaping (String) -> Void = { _ in }
    ) -> KeyFile {
        KeyFile(
            folder: folder.path, keepers: keepers + [MachineKey(machineID: machine)],
            choice: choice, report: report)
    }

    @Test("gives the key that it made, and tells what keeps it")
    func inverse() throws {
        let key = try file().create()
        let again = try #require(try file().load())
        #expect(key.count == 32 && again.matches(key))
        let path = folder.path + "/storage.key"
        #expect(file().place == KeyPlace(tier: .file, name: path, isBound: true))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(!text.contains(Base64URL.encode(key.reveal())))
    }

    @Test("is refused on a machine with another id, and not reached on one without")
    func otherMachine() throws {
        _ = try file().create()
        try write("ffffffffffffffffffffffffffffffff\n", to: machine)
        expectRefusal("bound to another machine's id")
        for text in ["", "uninitialized\n"] {
            try write(text, to: machine)
            let error = #expect(throws: StoreError.self) { try file().load() }
            guard case .keyUnreachable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    private func expectRefusal(_ words: String, _ keepers: [any KeyKeeper] = []) {
        let error = #expect(throws: StoreError.self) { try file(keepers).load() }
        guard case .keyRefused(_, let reason) = error, reason.contains(words) else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("is bound to nothing where the machine has no id, and says so", arguments: [
        "", "uninitialized\n", "00000000000000000000000000000000\n", "0123\n",
        "000102030405060708090A0B0C0D0E0F\n", "000102030405060708090a0b0c0d0e0f0\n",
    ])
    func unbound(text: String) throws {
        try write(text, to: machine)
        var said: [String] = []
        let key = try file { said.append($0) }.create()
        #expect(said.count == 1)
        #expect(file().place?.isBound == false)
        try write("000102030405060708090a0b0c0d0e0f\n", to: machine)
        #expect(try file().load()?.matches(key) == true)
    }

    /// Source: `systemd-id128 machine-id --app-specific` gives the same for the same two ids,
    /// and HMAC-SHA256 of Python's `hmac` for these before the marks of a UUID.
    @Test("binds to an id that the machine has for this program alone")
    func machineID() throws {
        let known = try MachineID("3d1219c7c4c5404aaa1f6d2a48adfda4")?.own()
        #expect(known.map(hex) == "8298dbe62b854e81a30604241fa94241")
        let other = try MachineID("000102030405060708090a0b0c0d0e0f")?.own()
        #expect(other.map(hex) == "75676672e92846b1aa6410531306967a")
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test("takes the best that is there, and says what it passed over")
    func best() throws {
        let firmware = StandInFirmware()
        let keepers: [any KeyKeeper] = [FirmwareKey(firmware), CredentialKey(folder: nil)]
        let key = try file(keepers).create()
        #expect(file(keepers).place?.tier == .raspberryPi)
        #expect(try file(keepers).load()?.matches(key) == true)
        try PrivateFile.remove(folder.path + "/storage.key")
        firmware.secret = nil
        var said: [String] = []
        _ = try file(keepers) { said.append($0) }.create()
        #expect(file(keepers).place?.tier == .file)
        #expect(said.count == 2)
        #expect(said.first?.contains("raspberry-pi") == true)
        #expect(said.last?.contains("credential") == true)
        let survey = file(keepers).survey()
        #expect(survey.able == [.file] && survey.unable.map(\.tier) == [.raspberryPi, .credential])
    }

    @Test("fails where the source that was asked for is not there")
    func explicit() throws {
        let firmware = StandInFirmware()
        firmware.secret = nil
        for (keepers, tier) in [
            ([FirmwareKey(firmware)], KeyTier.raspberryPi), ([], .tpm2),
        ] as [([any KeyKeeper], KeyTier)] {
            let error = #expect(throws: StoreError.self) {
                try file(keepers, choice: tier).create()
            }
            guard case .keyRefused = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(!file().isThere)
    }

    @Test("keeps its source whatever would be chosen now")
    func standing() throws {
        let key = try file().create()
        let keepers: [any KeyKeeper] = [FirmwareKey(StandInFirmware())]
        #expect(try file(keepers, choice: .raspberryPi).load()?.matches(key) == true)
    }

    @Test("of another board's firmware is refused, for the key is another one")
    func otherFirmware() throws {
        let firmware = StandInFirmware()
        _ = try file([FirmwareKey(firmware)]).create()
        firmware.secret = 2
        expectRefusal("another key", [FirmwareKey(firmware)])
        firmware.secret = nil
        let error = #expect(throws: StoreError.self) { try file([FirmwareKey(firmware)]).load() }
        guard case .keyUnreachable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("says what is wrong with it, and never counts as a first boot", arguments: [
        ("postern storage key 2\nsource = tpm2\n", "format 2"),
        ("postern storage key 1\nsource = moon\n", "`moon`"),
        ("postern storage key 1\nsource = tpm2\n", "tpm2"),
        ("postern storage key 1\nsource = file\n", "`key`"),
        ("postern storage key 1\nsource = file\nkey = AAAA\n", "`key`"),
        ("-----\n", "damaged"),
    ])
    func damaged(text: String, words: String) throws {
        _ = try folder.open()
        try PrivateFile.write(folder.key, Array(text.utf8))
        expectRefusal(words)
        for name in ["", "vault", "vault.copy"] {
            if name != "" { try PrivateFile.remove(folder.path + "/" + name) }
            let error = #expect(throws: StoreError.self) { try folder.open() }
            guard case .keyRefused = error else {
                Issue.record("\(name): \(String(describing: error))")
                return
            }
        }
    }

    @Test("is refused after any bit of it was flipped")
    func flips() throws {
        let firmware = FirmwareKey(StandInFirmware())
        let key = try file([firmware]).create()
        let path = folder.path + "/storage.key"
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= 1 << UInt8(index % 8)
            try PrivateFile.write(path, bytes)
            #expect(throws: StoreError.self, "\(index)") { try file([firmware]).load() }
        }
        try PrivateFile.write(path, whole)
        #expect(try file([firmware]).load()?.matches(key) == true)
    }
}
