package import Sessions

/// A key source: one way to keep a storage key.
///
/// It returns the fields that it needs to open the key again, and `KeyFile` stores them in
/// `storage.key`. It writes no file itself. Every call may block for seconds.
package protocol KeyKeeper {
    var tier: KeyTier { get }
    /// The name for people, such as "the TPM at device:/dev/tpmrm0".
    var name: String { get }
    /// Throws `keyUnreachable` if it cannot keep a key on this board now.
    func probe() throws(StoreError)
    /// Makes a new random key of 32 bytes, and the fields that `open` needs.
    ///
    /// Throws `keyUnreachable` if it cannot keep a key on this board now.
    func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes)
    /// Opens the key that was made with these fields. `KeyFile` detects a wrong key.
    ///
    /// Throws `keyUnreachable` if a later try may succeed, `keyRefused` if none will.
    func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes
    /// Whether a key with these fields opens only on this machine, or only with a secret that
    /// only this machine receives.
    func isBound(_ fields: [String: [UInt8]]) -> Bool
}

extension KeyKeeper {
    package func isBound(_ fields: [String: [UInt8]]) -> Bool { true }

    /// A field of `count` bytes. Nil: any length.
    func field(
        _ name: String, in fields: [String: [UInt8]], count: Int? = nil
    ) throws(StoreError) -> [UInt8] {
        guard let bytes = fields[name], count == nil || bytes.count == count else {
            throw .keyRefused(source: self.name, reason: "the field `\(name)` is malformed")
        }
        return bytes
    }
}
