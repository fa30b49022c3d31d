package import Sessions

/// A TPM 2.0, by way of tpm2-tss: it seals a key so that this chip alone opens it again.
///
/// The key lies under the storage root key of the owner's hierarchy, whose password must be
/// empty, and is bound to no state of the machine: who has the whole board has the key. On the
/// way to and from the chip it is encrypted, so a listener on the bus learns nothing.
/// Each call speaks with the TPM anew and leaves nothing in it. It blocks for up to seconds.
package struct TrustedPlatform: Sendable {
    /// The most bytes that can be sealed. Source: TPM 2.0 Library, Part 2, MAX_SYM_DATA.
    package static let limit = 128

    /// How the TPM is reached, such as `device:/dev/tpmrm0`. Source: tctildr(3).
    package let transport: String

    package init(transport: String) { self.transport = transport }

    /// Throws why no key could be sealed now; does nothing else.
    package func probe() throws(TrustedPlatformError) {
        _ = try Conversation(transport)
    }

    package func seal(_ secret: SecretBytes) throws(TrustedPlatformError) -> SealedKey {
        guard (1...Self.limit).contains(secret.count) else { throw .damaged }
        let conversation = try Conversation(transport)
        try conversation.startSession()
        return try conversation.seal(secret)
    }

    /// Throws `otherChip` before anything is asked of a TPM with another storage root key: so
    /// who stands between chip and board and shows a root of his own gets nothing either.
    package func unseal(_ key: SealedKey) throws(TrustedPlatformError) -> SecretBytes {
        let conversation = try Conversation(transport)
        guard conversation.parent == key.parent else { throw .otherChip }
        try conversation.startSession()
        return try conversation.unseal(key)
    }
}
