package import Sessions

/// One way of keeping a storage key.
///
/// What it must be told again to give the key, it has written into `storage.key`; it never
/// writes anything itself. Every call may block for seconds.
package protocol KeyKeeper {
    var tier: KeyTier { get }
    /// For people, such as "the TPM at device:/dev/tpmrm0".
    var name: String { get }
    /// Throws `keyUnreachable` where it could keep no key on this board now.
    func probe() throws(StoreError)
    /// A new key of 32 bytes, never the same, and what `open` needs of it.
    ///
    /// Throws `keyUnreachable` where it can keep none on this board now.
    func make() throws(StoreError) -> (fields: [String: [UInt8]], key: SecretBytes)
    /// The key that was made with these fields; where another comes out, `storage.key` tells.
    ///
    /// Throws `keyUnreachable` where a later try may succeed, `keyRefused` where none will.
    func open(_ fields: [String: [UInt8]]) throws(StoreError) -> SecretBytes
    /// Whether what was made with these fields opens only on this machine, or with what only
    /// this machine is handed.
    func isBound(_ fields: [String: [UInt8]]) -> Bool
}

extension KeyKeeper {
    package func isBound(_ fields: [String: [UInt8]]) -> Bool { true }

    /// A field of the right length, or any where none is given.
    func field(
        _ name: String, in fields: [String: [UInt8]], count: Int? = nil
    ) throws(StoreError) -> [UInt8] {
        guard let bytes = fields[name], count == nil || bytes.count == count else {
            throw .keyRefused(source: self.name, reason: "the field `\(name)` is not as it must be")
        }
        return bytes
    }
}
