import Glibc
import Synchronization

/// Looks up a host name's addresses without blocking the loop.
///
/// The resolver runs on its own thread, because `getaddrinfo` may block for long if a name server
/// is dead. Freeing the lookup does not wait: the thread ends by itself.
package final class HostLookup: Sendable {
    package enum Outcome: Equatable, Sendable {
        case pending
        /// Numeric addresses, in the order to try them; never empty.
        case found([String])
        /// The resolver's error text.
        case failed(String)
    }

    private final class Shared: Sendable {
        let outcome = Mutex(Outcome.pending)
        let event: EventDescriptor

        init() throws(SystemError) { event = try EventDescriptor() }
    }

    private let shared: Shared

    /// Starts to look up `host`. A numeric address resolves to itself.
    package init(_ host: String) throws(SystemError) {
        let shared = try Shared()
        let thread = try WorkerThread(name: "host lookup") {
            let outcome = Resolver.resolve(host)
            shared.outcome.withLock { $0 = outcome }
            shared.event.raise()
        }
        thread.detach()
        self.shared = shared
    }

    /// Poll it for reading. It becomes readable, and stays so, once there is an outcome.
    package var descriptor: Int32 { shared.event.descriptor }

    package var outcome: Outcome { shared.outcome.withLock { $0 } }
}

/// The blocking lookup.
private enum Resolver {
    static func resolve(_ host: String) -> HostLookup.Outcome {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, nil, &hints, &list)
        guard result == 0 else { return .failed(text(result)) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe numeric(entry.pointee), !addresses.contains(address) {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failed("no address") : .found(addresses)
    }

    private static func numeric(_ entry: addrinfo) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(NI_MAXHOST))
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe getnameinfo(entry.ai_addr, entry.ai_addrlen,
                               bytes.bindMemory(to: CChar.self).baseAddress,
                               socklen_t(bytes.count), nil, 0, NI_NUMERICHOST)
        }
        return result == 0 ? String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) : nil
    }

    private static func text(_ code: Int32) -> String {
        guard code != EAI_SYSTEM else { return SystemError.last("getaddrinfo").text }
        guard let text = unsafe gai_strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
