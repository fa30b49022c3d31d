import Cryptography
import LinuxIO
package import Sessions

/// A key from `storage.key` itself, mixed with this machine's id. A copy of the state folder
/// opens nothing elsewhere, but a copy of the whole disk does.
///
/// If the machine has no id, as in an image before its first start, the key is bound to nothing.
package struct MachineKey: KeyKeeper {
    private static let info = Array("postern/storage-key/1 file".utf8)
    package let tier = KeyTier.file
    package let name: String
    private let path: String

    package init(machineID path: String = "/etc/machine-id") {
        self.path = path
        name = "the key file with \(path)"
    }

    package func probe() {}

    package func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes) {
        do throws(CryptographyError) {
            let secret = try RandomBytes.secret(KeyFile.keyCount)
            let machine = try MachineID(at: path)?.own()
            var fields = ["key": secret.reveal()]
            if let machine { fields["machine"] = try Self.mark(of: machine) }
            return (fields, try Self.derive(secret, machine))
        } catch {
            throw StoreError(error)
        }
    }

    package func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes {
        let secret = SecretBytes(try field("key", in: fields, count: KeyFile.keyCount))
        let machine: (id: [UInt8], mark: [UInt8])?
        let key: SecretBytes
        do throws(CryptographyError) {
            let id = fields["machine"] == nil ? nil : try MachineID(at: path)?.own()
            machine = try id.map { id throws(CryptographyError) in (id, try Self.mark(of: id)) }
            key = try Self.derive(secret, id)
        } catch {
            throw StoreError(error)
        }
        guard let mark = fields["machine"] else { return key }
        guard let machine else {
            throw .keyUnreachable(
                source: name, reason: "it is bound to this machine's id, and \(path) has none")
        }
        guard machine.mark == mark else {
            throw .keyRefused(
                source: name, reason: "it is bound to another machine's id than \(path) has")
        }
        return key
    }

    package func isBound(_ fields: [String: [UInt8]]) -> Bool { fields["machine"] != nil }

    private static func derive(
        _ secret: SecretBytes, _ machine: [UInt8]?
    ) throws(CryptographyError) -> SecretBytes {
        try HKDFSHA256.derive(
            from: secret, salt: machine ?? [], info: info, count: KeyFile.keyCount)
    }

    /// Identifies a machine, so that the error for another machine can name the reason.
    private static func mark(of machine: [UInt8]) throws(CryptographyError) -> [UInt8] {
        Array(try SHA256.digest(machine).prefix(8))
    }
}

/// This machine's id. Source: machine-id(5).
struct MachineID: Equatable {
    private let bytes: [UInt8]

    /// This program's application id. It hides the machine's id from readers of values made from
    /// it.
    private static let application: [UInt8] = [
        0x6B, 0x0E, 0xA9, 0x61, 0x3D, 0x4C, 0x4F, 0x57,
        0x9E, 0x12, 0xC4, 0x70, 0x5A, 0xD8, 0x27, 0xB3,
    ]

    /// Nil if the file does not exist or contains no id yet.
    init?(at path: String) {
        guard var file = try? InputFile(path), let line = try? file.nextLine(limit: 64),
            !line.isCut
        else { return nil }
        self.init(String(decoding: line.bytes, as: UTF8.self))
    }

    /// Parses 32 lower-case hexadecimal digits, not all of them zero.
    init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: 32, by: 2) {
            guard let high = Self.value(digits[place]), let low = Self.value(digits[place + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        guard bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// A 16-byte id of this machine for this program only.
    ///
    /// Source: sd_id128_get_machine_app_specific(3): HMAC-SHA256 of the program's id, keyed by
    /// the machine's, cut to 16 bytes and marked as a UUID of version 4.
    func own(application: [UInt8] = Self.application) throws(CryptographyError) -> [UInt8] {
        let code = try HMACSHA256.authenticate(application, key: SecretBytes(bytes))
        var id = Array(code.prefix(16))
        id[6] = id[6] & 0x0F | 0x40
        id[8] = id[8] & 0x3F | 0x80
        return id
    }
}
