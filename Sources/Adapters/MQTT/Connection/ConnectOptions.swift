package import Sessions
package import Wire

/// How the broker's certificate is checked. TLS 1.2 at least. The host name is always checked.
package struct TLSOptions: Sendable {
    /// A PEM file of CAs that may sign the broker's certificate. `nil`: the system's store.
    package var caFile: String?
    /// Our own certificate, PEM, if the broker asks for one. `keyFile` is its key.
    package var certificateFile: String?
    package var keyFile: String?
    /// Whether to accept a certificate that is not valid yet. A clock that lost its time is behind,
    /// never ahead, and would refuse every connection until somebody sets it. An expired
    /// certificate is refused in any case.
    package var isClockSlow = false
    /// The most open mode of a key file: the owner may read and write, the group may read.
    package static let keyMode: UInt32 = 0o640

    package init(caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil) {
        self.caFile = caFile
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// The options of one connection attempt. A new attempt needs a new connection and new options.
/// Nothing is reused by itself, above all no old password.
package struct ConnectOptions: Sendable {
    package var uri: BrokerURI
    /// A numeric address of `uri.host`, looked up before. Without it libmosquitto looks the name up
    /// and blocks meanwhile. TLS checks `uri.host`, not the address.
    package var address: String?
    package var clientID: String
    package var version: ProtocolVersion
    package var cleanStart: Bool
    /// Seconds that the broker keeps the session after the connection ends; 0xFFFFFFFF: for ever.
    /// On 3.1.1 only `cleanStart` decides.
    package var sessionExpiry: UInt32
    /// Seconds, at least 5; 0 sends no pings.
    package var keepAlive: UInt16
    /// How many unacknowledged messages the broker may send. Not 0.
    package var receiveMaximum: UInt16
    /// The longest packet that we accept from the broker, in bytes. CONNECT carries it (MQTT 5
    /// only).
    package var maximumPacketSize: UInt32?
    package var username: String?
    package var password: SecretBytes?
    package var will: OutgoingMessage?
    package var tls: TLSOptions
    /// Whether the process has thousands of connections. Each then has no read-ahead and no socket
    /// pair to wake a thread. It uses one descriptor instead of three and 32 KiB less, but a few
    /// more system calls for each packet.
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

    /// Throws `invalid` for values that libmosquitto would truncate, ignore or change.
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
            throw .invalid("a client certificate needs its key, and a key its certificate")
        }
    }

    static func checkField(_ text: String, _ what: StaticString) throws(MQTTError) {
        let bytes = text.utf8.span
        var isFine = bytes.count <= 65_535
        for index in 0..<bytes.count where bytes[index] == 0 { isFine = false }
        guard isFine else { throw .invalid("\(what) has a NUL or over 65,535 bytes") }
    }
}

/// Checks the topic of a message. Source: MQTT 5 §4.7.
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
