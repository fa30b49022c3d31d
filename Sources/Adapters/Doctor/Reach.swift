import LinuxIO
package import MQTT
package import Wire

/// The network path to another machine: name lookup, TCP, TLS. Each step needs the one before it.
/// Nothing but a TLS handshake is sent.
package struct Reach: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case done(String)
        case failed(String)
        /// The step was not tried, for this reason.
        case skipped(String)

        package var isFailed: Bool { if case .failed = self { true } else { false } }
    }

    package var lookup: Step
    package var tcp: Step
    package var tls: Step
    /// How long the peer's certificate is still valid.
    package var certificateLeft: Duration?
    /// Whether the connection to another machine is in clear.
    package var isInClear = false
    /// The first address that answered.
    package var address: String?

    package init(lookup: Step, tcp: Step, tls: Step) {
        self.lookup = lookup
        self.tcp = tcp
        self.tls = tls
    }

    /// The id of the first check that fails on this path.
    package var broken: String? {
        if lookup.isFailed { return "name-lookup" }
        if tcp.isFailed { return "tcp" }
        return tls.isFailed ? "tls" : nil
    }
}

extension Reach {
    /// The time limit for all addresses of a name together.
    private static let patience = Duration.seconds(5)

    /// Tries the path to a broker, for about 10 seconds at most.
    package init(to uri: BrokerURI, _ options: TLSOptions) {
        guard uri.scheme != .unix else {
            self.init(
                lookup: .skipped("a Unix socket has no name"),
                tcp: .skipped("\(uri) is a Unix socket"),
                tls: .skipped("a Unix socket stays on this machine"))
            return
        }
        self.init(
            host: uri.host, port: uri.port, isLoopback: uri.isLoopback,
            tls: uri.scheme == .mqtts ? options : nil)
    }

    /// Tries the path to any service. Without `tls` the connection is in clear.
    package init(host: String, port: UInt16, isLoopback: Bool, tls: TLSOptions?) {
        self.init(
            lookup: .skipped("it was not tried"), tcp: .skipped("see name-lookup"),
            tls: .skipped("see tcp"))
        isInClear = tls == nil && !isLoopback
        switch Self.look(up: host) {
        case .pending: lookup = .failed("\(host): no answer within 5 s")
        case .failed(let text): lookup = .failed("\(host): \(text)")
        case .found(let addresses):
            let list = addresses.joined(separator: ", ")
            lookup = .done(addresses == [host]
                ? "\(host) is an address, and no name" : "\(host) is \(list)")
            dial(addresses, host, port, tls)
        }
    }

    private static func look(up host: String) -> HostLookup.Outcome {
        guard let lookup = try? HostLookup(host) else { return .failed("no thread was started") }
        var poller = Poller()
        poller.add(lookup.descriptor, read: true, write: false)
        _ = try? poller.wait(patience)
        return lookup.outcome
    }

    private mutating func dial(
        _ addresses: [String], _ host: String, _ port: UInt16, _ options: TLSOptions?
    ) {
        let end = SystemClock.monotonic + Self.patience
        for address in addresses {
            do throws(SystemError) {
                let left = max(end - SystemClock.monotonic, .milliseconds(200))
                let socket = try DialedSocket(
                    address: address, port: port,
                    patience: min(left, Self.patience / max(1, addresses.count)))
                self.address = address
                tcp = .done("\(address) port \(port) answers")
                shake(socket, host, options)
                return
            } catch {
                tcp = .failed("\(address) port \(port): \(error.text)")
            }
        }
    }

    private mutating func shake(
        _ socket: borrowing DialedSocket, _ host: String, _ options: TLSOptions?
    ) {
        guard let options else {
            tls = .skipped("no TLS: this connection does not leave the machine")
            return
        }
        do throws(MQTTError) {
            let trial = try TLSTrial(
                over: socket, host: host, options: options, patience: Self.patience)
            certificateLeft = trial.timeLeft
            tls = .done("\(trial.version), a certificate for \(host)")
        } catch {
            tls = .failed("\(host): \(error)")
        }
    }
}
