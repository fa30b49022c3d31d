package import Sessions
package import Wire

/// How the broker's certificate is checked. TLS 1.2 at least; the host name always.
package struct TLSOptions: Sendable {
    /// PEM certificates that may sign the broker's; the system's store when `nil`.
    package var caFile: String?
    /// Our own certificate and its key, PEM, where the broker asks for one.
    package var certificateFile: String?
    package var keyFile: String?
    /// Whether a certificate may begin later than our clock says it is. A clock that lost its
    /// time is behind, never ahead, and would otherwise keep us out until somebody sets it; what
    /// has expired is refused all the same.
    package var isClockSlow = false
    /// The most that may be open of a key: its owner's, and a group's to read.
    package static let keyMode: UInt32 = 0o640

    package init(caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
        self.caFile = caFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// All that one connection attempt needs. A new attempt is a new connection with new options:
/// nothing here is repeated by itself, least of all an old password.
package struct ConnectOptions: Sendable {
    package var uri: BrokerURI
    /// A numeric address for `uri.host`, found beforehand. Without it libmosquitto looks the
    /// name up and blocks meanwhile. TLS checks `uri.host`, not the address.
    package var address: String?
    package var clientID: String
    package var version: ProtocolVersion
    package var cleanStart: Bool
    /// Seconds for which the broker keeps the session after the connection; 0xFFFFFFFF never
    /// ends. On 3.1.1 `cleanStart` alone decides.
    package var sessionExpiry: UInt32
    /// Seconds, at least 5; 0 sends no pings.
    package var keepAlive: UInt16
    /// How many messages the broker may send unacknowledged. Not 0.
    package var receiveMaximum: UInt16
    /// The longest packet that is taken from the broker, in bytes; it is told (MQTT 5 only).
    package var maximumPacketSize: UInt32?
    package var username: String?
    package var password: SecretBytes?
    package var will: OutgoingMessage?
    package var tls: TLSOptions
    /// Whether it is one of thousands in this process: it then has no read-ahead and no pair of
    /// sockets to wake a thread by, and so takes one descriptor instead of three, and 32 KiB
    /// less. Each packet costs a few system calls more.
    package var isOneOfMany = false

    package init(
        uri: BrokerURI, address: String? = nil, clientID: String,
        version: ProtocolVersion = .v5, cleanStart: Bool = true, sessionExpiry: UInt32 = 0,
        keepAlive: UInt16 = 60, receiveMaximum: UInt16 = 1024,
        maximumPacketSize: UInt32? = nil, username: String? = nil,
        password: SecretBytes? = nil, will: OutgoingMessage? = nil,
        tls: TLSOptions = TLSOptions()
    ) {
        self.uri = uri
        self.address = address
        self.clientID = clientID
        self.version = version
        self.cleanStart = cleanStart
        self.sessionExpiry = sessionExpiry
        self.keepAlive = keepAlive
        self.receiveMaximum = receiveMaximum
        self.maximumPacketSize = maximumPacketSize
        self.username = username
        self.password = password
        self.will = will
        self.tls = tls
    }

    /// Throws `invalid` for what libmosquitto would cut off, ignore or send as another thing.
    func check() throws(MQTTError) {
        try Self.checkField(clientID, "the client id")
        guard !clientID.isEmpty else { throw .invalid("the client id is empty") }
        if let username { try Self.checkField(username, "the user name") }
        if let password {
            let isBad = unsafe password.withBytes { unsafe $0.contains(0) || $0.count > 65_535 }
            guard !isBad else { throw .invalid("the password has a NUL or over 65,535 bytes") }
            guard username != nil else { throw .invalid("a password without a user name") }
        }
        guard keepAlive == 0 || keepAlive >= 5 else {
            throw .invalid("a keep-alive is 0 or at least 5 seconds")
        }
        guard receiveMaximum > 0 else { throw .invalid("the receive maximum is 0") }
        if let will {
            try TopicName.check(will.topic)
            guard will.payload.count <= 65_535 else { throw .tooLarge(limit: 65_535) }
        }
        guard (tls.certificateFile == nil) == (tls.keyFile == nil) else {
            throw .invalid("a client certificate and its key come together")
        }
    }

    static func checkField(_ text: String, _ what: StaticString) throws(MQTTError) {
        let bytes = text.utf8.span
        var isFine = bytes.count <= 65_535
        for index in 0..<bytes.count where bytes[index] == 0 { isFine = false }
        guard isFine else { throw .invalid("\(what) has a NUL or over 65,535 bytes") }
    }
}

/// What MQTT allows as the topic of a message. Source: MQTT 5 §4.7.
enum TopicName {
    static func check(_ topic: String) throws(MQTTError) {
        let bytes = topic.utf8.span
        guard (1...65_535).contains(bytes.count) else {
            throw .invalid("a topic has 1 to 65,535 bytes")
        }
        for index in 0..<bytes.count {
            let byte = bytes[index]
            guard byte != 0, byte != 0x2B, byte != 0x23 else {
                throw .invalid("a topic has no NUL, + or #")
            }
        }
    }
}
