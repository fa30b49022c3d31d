import Foundation
import FreePorts
import Glibc
import LinuxIO
import Testing
import Wire

/// A mosquitto of its own, on a free port and a Unix socket, stopped with its owner.
///
/// Its configuration, its socket and whatever it keeps lie in one temporary folder.
final class TestBroker {
    let folder: String
    let port: UInt16
    private let process = Process()

    /// Starts it and waits until it listens.
    ///
    /// - Parameter lines: configuration beside the listeners; `listenerLines` stand under the
    ///   TCP listener, `FOLDER` in both is replaced by the folder.
    init(_ lines: [String] = [], listenerLines: [String] = ["allow_anonymous true"],
         prepare: (String) throws -> Void = { _ in }) throws {
        folder = FileManager.default.temporaryDirectory.path + "/broker-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        port = try FreePort.next()
        try prepare(folder)
        let user = geteuid() == 0 ? ["user root"] : []
        let config = user + [
            "per_listener_settings true", "max_inflight_messages 0",
            "max_queued_messages 0", "persistence_location FOLDER/",
        ] + lines + ["listener \(port) 127.0.0.1"] + listenerLines
            + ["listener 0 FOLDER/broker.sock", "allow_anonymous true"]
        let text = config.joined(separator: "\n").replacing("FOLDER", with: folder) + "\n"
        try text.write(toFile: folder + "/broker.conf", atomically: true, encoding: .utf8)
        let log = folder + "/broker.log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let output = FileHandle(forWritingAtPath: log)
        process.standardOutput = output
        process.standardError = output
        try process.runBound("/usr/sbin/mosquitto", ["-c", folder + "/broker.conf"])
        try waitUntilListening()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ends it for certain. Again does nothing.
    func stop() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var uri: BrokerURI { get throws { try BrokerURI("mqtt://127.0.0.1:\(port)") } }
    var socketURI: BrokerURI { get throws { try BrokerURI("unix:\(folder)/broker.sock") } }

    /// Between bind and listen a socket is there and refuses.
    private var isOnSocket: Bool {
        do throws(ControlClient.Failure) {
            _ = try ControlClient.request(
                folder + "/broker.sock", [], timeout: .milliseconds(1))
            return true
        } catch {
            if case .notRunning = error { return false }
            return true
        }
    }

    private func waitUntilListening() throws {
        let deadline = SystemClock.monotonic + .seconds(20)
        while SystemClock.monotonic < deadline {
            if isOnSocket && Loopback.answers(port) { return }
            guard process.isRunning else { break }
            usleep(2000)
        }
        let log = try? String(contentsOfFile: folder + "/broker.log", encoding: .utf8)
        stop()
        throw TestFailure("mosquitto does not listen: \(log ?? "")")
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// TCP sockets on loopback.
enum Loopback {
    /// A socket that listens on a port of its own and accepts nobody.
    static func listener() throws -> (descriptor: Int32, port: UInt16) {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe bind(raw, rebound, size) == 0 && listen(raw, 16) == 0
                    && getsockname(raw, rebound, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("no port is free") }
        return (raw, UInt16(bigEndian: address.sin_port))
    }

    static func answers(_ port: UInt16) -> Bool {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(raw) }
        var address = Self.address(port)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
                unsafe connect(raw, rebound, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
