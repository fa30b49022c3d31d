/// The ways to keep the storage key, best first.
package enum KeyTier: String, Sendable, CaseIterable {
    /// Sealed to a TPM 2.0 chip.
    case tpm2
    /// Derived by a Raspberry Pi's firmware from the key in its one-time-programmable memory.
    case raspberryPi = "raspberry-pi"
    /// A credential that systemd passes to the service.
    case credential
    /// A file beside the vault.
    case file
}

/// The source of an open vault's key.
package struct KeyPlace: Equatable, Sendable {
    package let tier: KeyTier
    /// The name for people, such as "the TPM at device:/dev/tpmrm0".
    package let name: String
    /// Whether a copy of the state folder alone cannot be opened on another machine.
    package let isBound: Bool
}
