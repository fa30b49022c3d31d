import CLinux
import Glibc

/// Why the firmware gave no answer, in words.
package struct FirmwareFailure: Error, Equatable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

/// A Raspberry Pi's firmware, reached through `/dev/vcio`.
///
/// The firmware uses the key in the board's one-time-programmable memory without showing it. This
/// type reads the key's state and asks for codes. It cannot write to that memory. Source:
/// github.com/raspberrypi/utils, rpifwcrypto/README.md and rpifwcrypto.c.
package struct VideoCoreMailbox: Sendable {
    /// The device's own key. Source: rpifwcrypto/README.md.
    private static let deviceKey: UInt32 = 1
    /// The bit in a key's state that marks a device key. Source: rpifwcrypto/rpifwcrypto.h.
    private static let isDeviceKey: UInt32 = 1
    /// `_IOWR(100, 0, char *)`. Source: rpifwcrypto.c; ioctl(2).
    private static let property = UInt(3 << 30 | MemoryLayout<UInt>.size << 16 | 100 << 8)

    private let path: String

    package init(_ path: String = "/dev/vcio") { self.path = path }

    package var name: String { "the Raspberry Pi's firmware at \(path)" }

    package func authenticate(_ message: [UInt8]) throws(FirmwareFailure) -> [UInt8] {
        guard let request = PropertyMessage(hmac: message, key: Self.deviceKey) else {
            throw FirmwareFailure("the message is too long")
        }
        let status = try ask(PropertyMessage(keyStatus: Self.deviceKey)).keyStatus
        guard let status else {
            throw FirmwareFailure("the firmware does not know a device key")
        }
        guard status & Self.isDeviceKey != 0 else {
            throw FirmwareFailure("the one-time memory holds no device key")
        }
        guard let code = try ask(request).code else {
            throw FirmwareFailure("the one-time memory holds no device key")
        }
        return code
    }

    /// The corresponding C function is `ioctl`.
    private func ask(_ message: PropertyMessage) throws(FirmwareFailure) -> PropertyMessage {
        let raw = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else {
            throw FirmwareFailure("\(path): \(SystemError.last("open").text)")
        }
        let file = Descriptor(owning: raw)
        var words = message.words
        let result = unsafe words.withUnsafeMutableBytes { buffer in
            unsafe ask_device(file.raw, Self.property, buffer.baseAddress)
        }
        guard result >= 0 else {
            throw FirmwareFailure("\(path): \(SystemError.last("ioctl").text)")
        }
        guard let answer = message.answered(words) else {
            throw FirmwareFailure("\(path): the answer cannot be read")
        }
        return answer
    }
}
