/// The ways of keeping the storage key, best first.
package enum KeyTier: String, Sendable, CaseIterable {
    /// Sealed to a TPM 2.0 chip.
    case tpm2
    /// Derived by a Raspberry Pi's firmware from the key in its one-time-programmable memory.
    case raspberryPi = "raspberry-pi"
    /// A credential that systemd hands to the service.
    case credential
    /// A file beside the vault.
    case file
}

/// What keeps the key of an open vault.
package struct KeyPlace: Equatable, Sendable {
    package let tier: KeyTier
    /// For people, such as "the TPM at device:/dev/tpmrm0".
    package let name: String
    /// Whether a copy of the state folder alone opens on no other machine.
    package let isBound: Bool
}
