import Cryptography
package import LinuxIO
package import Sessions

/// A board firmware that computes with a key which it never reveals.
package protocol FirmwareHMAC {
    /// The name for people.
    var name: String { get }
    /// HMAC-SHA256 of a message under the board's own key: 32 bytes, always the same.
    ///
    /// Throws if the board has no such firmware, or the firmware has no key.
    func authenticate(_ message: [UInt8]) throws(FirmwareFailure) -> [UInt8]
}

extension VideoCoreMailbox: FirmwareHMAC {}

/// A key that a Raspberry Pi's firmware derives from the key in its one-time-programmable memory.
///
/// Only the firmware reads that memory. Users of this tier write a key into it themselves, once
/// and permanently (see `Devices/KEYS.md`).
package struct FirmwareKey: KeyKeeper {
    private static let label = Array("postern/storage-key/1 raspberry-pi".utf8) + [0]
    private static let saltCount = 16
    package let tier = KeyTier.raspberryPi
    private let firmware: any FirmwareHMAC

    package init(_ firmware: any FirmwareHMAC) { self.firmware = firmware }

    package var name: String { firmware.name }

    package func probe() throws(StoreError) { _ = try key([UInt8](repeating: 0, count: 16)) }

    package func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes) {
        let salt: [UInt8]
        do throws(CryptographyError) {
            salt = try RandomBytes.make(Self.saltCount)
        } catch {
            throw StoreError(error)
        }
        return (["salt": salt], try key(salt))
    }

    package func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes {
        try key(try field("salt", in: fields, count: Self.saltCount))
    }

    private func key(_ salt: [UInt8]) throws(StoreError) -> SecretBytes {
        do throws(FirmwareFailure) {
            var code = try firmware.authenticate(Self.label + salt)
            defer { code.wipe() }
            guard code.count == KeyFile.keyCount else {
                throw FirmwareFailure("its answer has \(code.count) bytes")
            }
            return SecretBytes(code)
        } catch {
            throw .keyUnreachable(source: name, reason: error.text)
        }
    }
}
