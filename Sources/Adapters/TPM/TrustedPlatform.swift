package import Sessions

/// A TPM 2.0, used through tpm2-tss. It seals a key so that only this chip can open it again.
///
/// The key is sealed under the storage root key of the owner's hierarchy, whose password must be
/// empty. The key does not depend on the machine's state: a thief of the whole board has the key.
/// It is encrypted on the way to and from the chip, so a listener on that bus learns nothing. Each
/// call opens a new connection to the TPM and leaves nothing in it. A call may block for seconds.
package struct TrustedPlatform: Sendable {
    /// The most bytes that can be sealed. Source: TPM 2.0 Library, Part 2, MAX_SYM_DATA.
    package static let limit = 128

    /// The address of the TPM, such as `device:/dev/tpmrm0`. Source: tctildr(3).
    package let transport: String

    package init(transport: String) { self.transport = transport }

    /// Throws the reason if no key could be sealed now. Does nothing else.
    package func probe() throws(TrustedPlatformError) {
        _ = try Conversation(transport)
    }

    package func seal(_ secret: SecretBytes) throws(TrustedPlatformError) -> SealedKey {
        guard (1...Self.limit).contains(secret.count) else { throw .damaged }
        let conversation = try Conversation(transport)
        try conversation.startSession()
        return try conversation.seal(secret)
    }

    /// Throws `otherChip` for a TPM with another storage root key, before it sends that TPM
    /// anything secret. So an attacker between chip and board with their own root key gets nothing.
    package func unseal(_ key: SealedKey) throws(TrustedPlatformError) -> SecretBytes {
        let conversation = try Conversation(transport)
        guard conversation.parent == key.parent else { throw .otherChip }
        try conversation.startSession()
        return try conversation.unseal(key)
    }
}
