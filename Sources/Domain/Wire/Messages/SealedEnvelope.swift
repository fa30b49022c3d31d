package import Sessions

/// One HPKE message in the form of an MQTT payload.
///
/// Source: the wire contract, Sealed messages; RFC 9180 §6.1.
package struct SealedEnvelope: Equatable, Sendable {
    package enum Mode: String, Sendable {
        /// A provisioning with a claim secret.
        case psk
        /// All other messages, in both directions.
        case auth
    }

    /// The `info` of every sealed message.
    package static let info = Array("postern/v1 sealed".utf8)
    /// The largest payload, in bytes.
    package static let limit = 128 * 1024
    /// Room for the five members, and for some that a later version may add.
    private static let valueLimit = 64

    package let mode: Mode
    /// The recipient's key.
    package let to: KeyID
    /// The encapsulated key, 32 bytes.
    package let enc: [UInt8]
    /// Ciphertext and tag, at least 16 bytes.
    package let ct: [UInt8]

    package init(mode: Mode, to: KeyID, enc: [UInt8], ct: [UInt8]) {
        self.mode = mode
        self.to = to
        self.enc = enc
        self.ct = ct
    }

    /// Parses a payload. Lengths are checked here, before any cryptography.
    package init(parsing payload: [UInt8]) throws(WireError) {
        try self.init(JSONObject(parsing: payload, limit: Self.limit, values: Self.valueLimit))
    }

    /// An envelope that is a member of another message.
    init(_ json: JSONObject) throws(WireError) {
        guard try json.integer("v") == 1 else { throw .mistyped("v") }
        mode = try json.parsed("mode", Mode.init)
        to = try json.parsed("to", KeyID.init)
        enc = try json.bytes("enc", count: 32)
        ct = try json.parsed("ct") { text in
            Base64URL.decode(text).flatMap { $0.count >= 16 ? $0 : nil }
        }
    }

    package var payload: [UInt8] { json.bytes }

    var json: JSONValue {
        .object([
            "v": .integer(1), "mode": .string(mode.rawValue), "to": .string(to.description),
            "enc": .string(Base64URL.encode(enc)), "ct": .string(Base64URL.encode(ct)),
        ])
    }
}
