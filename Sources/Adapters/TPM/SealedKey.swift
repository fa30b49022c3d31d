/// A key that one TPM alone can open again. Nothing in it is secret.
package struct SealedKey: Equatable, Sendable {
    /// The public part of the storage root key it was sealed under, as the TPM marshals it.
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

/// Why a TPM did not do as asked, sorted by what helps.
package enum TrustedPlatformError: Error, Equatable, Sendable {
    /// The libraries of tpm2-tss are not installed.
    case noLibrary
    /// No TPM answers there, or this user may not speak with it.
    case unreachable(transport: String)
    /// Another TPM than the one it was sealed by.
    case otherChip
    /// What is to be opened was never made by a TPM, or was changed since.
    case damaged
    /// The TPM, or the way to it, said no in this function; `code` is a TSS2_RC.
    case refused(function: String, code: UInt32)
}

extension TrustedPlatformError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noLibrary: "the libraries of tpm2-tss are not installed"
        case .unreachable(let transport):
            "no TPM answers at \(transport), or this user may not open it"
        case .otherChip: "it was sealed by another TPM than this one"
        case .damaged: "what the TPM sealed was changed since"
        case .refused(let function, let code):
            "the TPM refused \(function): 0x\(String(code, radix: 16))"
        }
    }
}
