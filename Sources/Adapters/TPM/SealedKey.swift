/// A key that only one TPM can open again. Nothing in it is secret.
package struct SealedKey: Equatable, Sendable {
    /// The public part of the storage root key that sealed it, as the TPM marshals it.
    package let parent: [UInt8]
    package let publicPart: [UInt8]
    /// Encrypted by the TPM.
    package let privatePart: [UInt8]

    package init(parent: [UInt8], publicPart: [UInt8], privatePart: [UInt8]) {
        self.parent = parent
        self.publicPart = publicPart
        self.privatePart = privatePart
    }
}

/// Why a TPM operation failed, sorted by the remedy.
package enum TrustedPlatformError: Error, Equatable, Sendable {
    /// The libraries of tpm2-tss are not installed.
    case noLibrary
    /// No TPM answers at this transport, or this user may not open it.
    case unreachable(transport: String)
    /// This TPM is not the one that sealed the key.
    case otherChip
    /// No TPM made this sealed key, or it was changed later.
    case damaged
    /// The TPM, or the transport to it, refused this function; `code` is a TSS2_RC.
    case refused(function: String, code: UInt32)
}

extension TrustedPlatformError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noLibrary: "the libraries of tpm2-tss are not installed"
        case .unreachable(let transport):
            "no TPM answers at \(transport), or this user may not open it"
        case .otherChip: "it was sealed by another TPM"
        case .damaged: "the data that the TPM sealed was changed"
        case .refused(let function, let code):
            "the TPM refused \(function): 0x\(String(code, radix: 16))"
        }
    }
}
