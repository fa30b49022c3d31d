import Sessions
import Wire

/// The fields of an installation, checked. `channels` and `badge` have the types that Parse's
/// schema gives them.
///
/// Source: Parse REST guide, Push notifications: installations (channels); Parse server,
/// `SchemaController.defaultColumns`.
enum InstallationFields {
    /// 119 for a member of Parse that is not kept here, 111 for a wrong type, 112 for a bad channel
    /// name.
    static func apply(
        _ sent: [String: JSONValue], to old: [String: JSONValue] = [:]
    ) throws(AuthorityError) -> [String: JSONValue] {
        for name in ["user", "ACL"] where sent[name] ?? .null != .null {
            throw .refuse(.forbidden, "an installation keeps no \(name) here")
        }
        let fields = try CustomFields(sent, over: old, of: .installation).members
        if let channels = fields["channels"], channels != .null {
            guard let channels = channels.asArray else { throw mismatch("channels", "Array") }
            for channel in channels {
                guard let name = channel.asString else { throw mismatch("channels", "Array") }
                guard isChannel(name) else {
                    throw .refuse(.badChannelName, "Invalid channel name: \(name.prefix(64))")
                }
            }
        }
        if let badge = fields["badge"], badge != .null, badge.asInteger == nil {
            throw mismatch("badge", "Number")
        }
        return fields
    }

    /// A letter, then letters, digits, `_` and `-`. The empty name is the channel of all.
    private static func isChannel(_ name: String) -> Bool {
        guard let first = name.utf8.first else { return true }
        return name.utf8.count <= 128 && isLetter(first) && name.utf8.allSatisfy { byte in
            isLetter(byte) || (0x30...0x39).contains(byte) || byte == 0x5F || byte == 0x2D
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func mismatch(_ name: String, _ type: String) -> AuthorityError {
        .refuse(.wrongType, "schema mismatch for _Installation.\(name); expected \(type)")
    }
}
