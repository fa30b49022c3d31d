import Cryptography
import LinuxIO
package import Sessions

/// The file `storage.key` in the state folder, mode 0600. It names the source of the storage key.
/// The key is never in the vault.
package struct KeyFile {
    static let keyCount = 32
    private static let check = "check"

    package let name: String
    /// The possible key sources, best first.
    let keepers: [any KeyKeeper]
    /// The source for a new key. Nil: the best available one.
    let choice: KeyTier?
    /// Receives one sentence for each skipped source, and one if a new key is bound to nothing.
    private let report: (String) -> Void

    package init(
        folder: String, keepers: [any KeyKeeper] = [MachineKey()], choice: KeyTier? = nil,
        report: @escaping (String) -> Void = { _ in }
    ) {
        name = folder + "/storage.key"
        self.keepers = keepers
        self.choice = choice
        self.report = report
    }

    /// The path of the key that will replace this one.
    var next: String { name + ".next" }

    var isThere: Bool { PrivateFile.isThere(name) }

    /// Loads the key. Nil if none was ever made.
    ///
    /// Throws `unsafePermissions` if others may read the file. Throws `keyRefused` if it is no
    /// storage key, or belongs to a newer program or another machine. Throws `keyUnreachable` if
    /// the key source is not available now.
    package func load() throws(StoreError) -> SecretBytes? {
        guard let slot = try read(name) else { return nil }
        return try open(slot, in: name)
    }

    func loadNext() throws(StoreError) -> SecretBytes? {
        guard let slot = try read(next) else { return nil }
        return try open(slot, in: next)
    }

    /// Makes a key. It is durable when this returns.
    package func create() throws(StoreError) -> SecretBytes {
        try make(choice, at: name)
    }

    /// Makes a key beside this one, from `tier`, or from the best source if `isBest`, or as
    /// `create` would.
    func createNext(_ tier: KeyTier?, isBest: Bool) throws(StoreError) -> SecretBytes {
        try make(tier ?? (isBest ? nil : choice), at: next)
    }

    /// The source of the key. Nil if there is no key or its source is unknown.
    package var place: KeyPlace? {
        guard let slot = try? read(name),
            let keeper = keepers.first(where: { $0.tier == slot.tier })
        else { return nil }
        let place = slot.tier == .file ? name : keeper.name
        return KeyPlace(tier: slot.tier, name: place, isBound: keeper.isBound(slot.fields))
    }

    /// The sources that could keep a key on this board now, best first, and why the others
    /// cannot.
    package func survey() -> (able: [KeyTier], unable: [(tier: KeyTier, reason: String)]) {
        var able: [KeyTier] = []
        var unable: [(tier: KeyTier, reason: String)] = []
        for keeper in keepers {
            do throws(StoreError) {
                try keeper.probe()
                able.append(keeper.tier)
            } catch {
                unable.append((keeper.tier, error.reason))
            }
        }
        return (able, unable)
    }
}

extension KeyFile {
    private func read(_ path: String) throws(StoreError) -> KeySlot? {
        var bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(path, limit: KeySlot.limit)
        } catch {
            switch error {
            case .missing: return nil
            case .tooLarge: throw .keyRefused(source: path, reason: "it is too large for a key")
            default: throw StoreError(error)
            }
        }
        defer { bytes.wipe() }
        do throws(KeySlot.Fault) {
            return try KeySlot(parsing: bytes)
        } catch {
            throw .keyRefused(source: path, reason: "\(error)")
        }
    }

    private func open(_ slot: KeySlot, in path: String) throws(StoreError) -> SecretBytes {
        guard let keeper = keepers.first(where: { $0.tier == slot.tier }) else {
            throw .keyRefused(
                source: path, reason: "this board has no key source \(slot.tier.rawValue)")
        }
        let key = try keeper.open(slot.fields)
        guard let known = slot.fields[Self.check],
            constantTimeEquals(known, try Self.mark(of: key))
        else { throw .keyRefused(source: path, reason: keeper.strangerReason) }
        return key
    }

    /// A value that identifies a key without revealing it.
    private static func mark(of key: SecretBytes) throws(StoreError) -> [UInt8] {
        do throws(CryptographyError) {
            return try HKDFSHA256.derive(
                from: key, salt: [], info: Array("postern/storage-key/1 check".utf8), count: 16
            ).reveal()
        } catch {
            throw StoreError(error)
        }
    }

    private func make(_ tier: KeyTier?, at path: String) throws(StoreError) -> SecretBytes {
        guard let tier else { return try makeBest(at: path) }
        guard let keeper = keepers.first(where: { $0.tier == tier }) else {
            throw .keyRefused(source: tier.rawValue, reason: "this board has no such key source")
        }
        do throws(StoreError) {
            return try make(keeper, at: path)
        } catch .keyUnreachable(let source, let reason) {
            // The source was requested by name.
            throw .keyRefused(source: source, reason: reason)
        }
    }

    private func makeBest(at path: String) throws(StoreError) -> SecretBytes {
        for keeper in keepers {
            do throws(StoreError) {
                return try make(keeper, at: path)
            } catch .keyUnreachable(_, let reason) {
                report("the storage key is not kept in \(keeper.tier.rawValue): \(reason)")
            }
        }
        throw .keyRefused(source: path, reason: "no key source on this board can keep a key")
    }

    private func make(_ keeper: some KeyKeeper, at path: String) throws(StoreError) -> SecretBytes {
        var (fields, key) = try keeper.make()
        fields[Self.check] = try Self.mark(of: key)
        if !keeper.isBound(fields) {
            report("the storage key is not bound to this board: \(keeper.name) has no machine id")
        }
        var bytes = KeySlot(keeper.tier, fields).bytes
        defer { bytes.wipe() }
        do throws(FileFailure) {
            try PrivateFile.write(path, bytes)
        } catch {
            throw StoreError(error)
        }
        return key
    }
}

extension KeyKeeper {
    /// Why the source returns another key than the original one.
    fileprivate var strangerReason: String {
        "\(name) gives another key: the file was changed, or made on another machine"
    }
}

extension KeySlot.Fault: CustomStringConvertible {
    var description: String {
        switch self {
        case .malformed: "it is damaged, or not a storage key of this program"
        case .newer(let version):
            "it has format \(version), this program knows \(KeySlot.version)"
        case .unknownSource(let name): "it names the source `\(name)`, unknown to this program"
        }
    }
}
