import AgentCore

// The keys of writes. A key is in the frame of its write, and in the first frame of each later
// segment. So it remains when its write has left and the write's segment is removed.
extension Queue {
    /// Keeps the keys of writes that were never on disk. The next frame contains them.
    func keep(_ keys: [KeptKey]) {
        unsavedKeys.append(contentsOf: keys)
        unsavedKeys.keepNewest()
    }

    /// Makes all kept keys durable, in the first frame of a new segment.
    func saveKeys() throws(StoreError) {
        guard !unsavedKeys.isEmpty else { return }
        try begin()
        keys.append(contentsOf: unsavedKeys)
        keys.keepNewest()
        unsavedKeys.removeAll()
        try rotate(for: 0)
    }
}

extension [KeptKey] {
    /// Removes the ones beyond the limit, many at a time.
    mutating func keepNewest() { trimKeys(slack: KeptKey.slack) { $0 } }

    /// Without the ones beyond the limit.
    var newest: [KeptKey] {
        var keys = self
        keys.trimKeys(slack: 0) { $0 }
        return keys
    }
}
