extension Check {
    /// Checks free space and health of the disk that holds a program's state.
    package static func disk(
        needs: Set<Facts.Probe>, makeRoom: String,
        _ disk: @escaping @Sendable (Facts) -> DiskFacts?
    ) -> [Check] {
        [
            Check(
                id: "disk-space", group: .storage, about: "the state's disk has free space",
                why: "on a full disk nothing can be stored, so nothing more is accepted",
                needs: needs
            ) { facts in
                guard let disk = disk(facts), let available = disk.available else {
                    return .skipped("the free space is not known")
                }
                let text = available == 0 ? "the disk of \(disk.folder) is full"
                    : "\(DiskSize.text(available)) free on the disk of \(disk.folder)"
                guard available >= DiskSize.least else {
                    return .failed(text, next: makeRoom)
                }
                guard available >= disk.wanted else {
                    return .warning(
                        text + ", \(DiskSize.text(disk.wanted)) may be needed", next: makeRoom)
                }
                return .ok(text)
            },
            Check(
                id: "disk-health", group: .storage, about: "the state's disk shows no fault",
                why: "a failing card can lose the session and queued messages, or become "
                    + "read-only", needs: needs
            ) { facts in
                disk(facts).map(DiskSize.health) ?? .skipped("the disk is not known")
            },
        ]
    }
}

package enum DiskSize {
    /// In less space SQLite's log alone may not fit.
    static let least: Int64 = 16 << 20

    /// A size for people, rounded down.
    package static func text(_ bytes: Int64) -> String {
        switch bytes {
        case ..<10_240: "\(bytes) bytes"
        case ..<(10 << 20): "\(bytes >> 10) KiB"
        case ..<(10 << 30): "\(bytes >> 20) MiB"
        default: "\(bytes >> 30) GiB"
        }
    }

    static func health(_ disk: DiskFacts) -> Finding {
        let copy = "take a copy of the state folder, then replace the card or disk"
        if disk.isReadOnly {
            return .failed(
                "the file system of \(disk.folder) is mounted read-only",
                next: "look at the kernel's log (dmesg); check it with fsck, or replace the disk")
        }
        if let errors = disk.errors, errors > 0 {
            return .failed(
                "ext4 has counted \(errors) errors since the last check of the disk",
                next: "run fsck on it when it is not mounted; \(copy)")
        }
        if let spare = disk.spareState, spare > 1 {
            return .failed("the card reports that its spare blocks are used up", next: copy)
        }
        guard let used = disk.lifeUsed, used > 0 else {
            return .ok(
                disk.errors == nil ? "the disk reports no fault"
                    : "the file system has counted no errors")
        }
        let sentence = used > 10
            ? "the card has outlived its estimated life"
            : "the card has used up to \(used * 10) % of its estimated life"
        return used >= 9 ? .warning(sentence, next: copy) : .ok(sentence)
    }
}
