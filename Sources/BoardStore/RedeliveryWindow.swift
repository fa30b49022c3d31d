extension BoardDatabase {
    /// The newest entries, in order of sequence, at most `WindowEntry.kept`.
    ///
    /// A part of the window that does not open is named in `takeDamaged` and left out.
    package func redeliveryWindow() throws(StoreError) -> [WindowEntry] {
        try snapshot { () throws(StoreError) in try readWindow() }
    }

    /// Each batch of entries is one row, under the highest sequence in it.
    func addToWindow(_ entries: [WindowEntry]) throws(StoreError) {
        guard let last = entries.map(\.sequence).max() else { return }
        var rows = entries.suffix(WindowEntry.kept)
        let end = try endOfWindow()
        // Two batches may end with the same write, delivered twice.
        if last <= end {
            rows.insert(contentsOf: try readWindow(row: last) ?? [], at: rows.startIndex)
        }
        rowBuffer.removeAll(keepingCapacity: true)
        for entry in rows {
            rowBuffer.append(half: entry.packetID)
            rowBuffer.append(number: entry.sequence)
            rowBuffer.append(digest: entry.digest)
        }
        sealedBuffer.removeAll(keepingCapacity: true)
        let place = Place.window(last: last, generation: keys.queue.generation)
        try writer.seal(rowBuffer, key: keys.queue, for: last, at: place, into: &sealedBuffer)
        statements.addWindow.bind(1, last)
        try statements.addWindow.run(2, blob: sealedBuffer)
        // Rows of old entries go many at a time: reading leaves them out.
        windowEnd = max(last, end)
        guard last >> 8 != end >> 8 else { return }
        statements.trimWindow.bind(1, max(last, Int64(WindowEntry.kept)) - Int64(WindowEntry.kept))
        try statements.trimWindow.run()
    }

    private func endOfWindow() throws(StoreError) -> Int64 {
        if let windowEnd { return windowEnd }
        return try connection.number("SELECT coalesce(max(last), 0) FROM window")
    }

    func readWindow() throws(StoreError) -> [WindowEntry] {
        let select = try Statement(connection, "SELECT last, sealed FROM window ORDER BY last")
        var entries: [WindowEntry] = []
        while try select.step() {
            let last = select.int(0)
            if let part = try openWindow(select, last) {
                entries += part
            } else {
                note(DamagedRecord(name: "window \(last)", sequence: nil))
            }
        }
        return entries.sorted { $0.sequence < $1.sequence }.suffix(WindowEntry.kept)
    }

    private func readWindow(row last: Int64) throws(StoreError) -> [WindowEntry]? {
        let select = statements.windowRow
        defer { select.reset() }
        select.bind(1, last)
        return try select.step() ? try openWindow(select, last) : nil
    }

    private func openWindow(
        _ select: Statement, _ last: Int64
    ) throws(StoreError) -> [WindowEntry]? {
        let place = Place.window(last: last, generation: keys.queue.generation)
        var plaintext: [UInt8] = []
        let isWhole = try select.withBlob(1) { (sealed) throws(StoreError) in
            try reader.open(sealed, key: keys.queue, for: last, at: place, into: &plaintext)
        }
        return isWhole ? [WindowEntry](plaintext) : nil
    }
}

extension [WindowEntry] {
    /// Takes apart what `addToWindow` sealed; nil for other bytes.
    init?(_ plaintext: [UInt8]) {
        var bytes = ByteReader(plaintext)
        self = []
        while !bytes.isAtEnd {
            guard let packetID = bytes.half(), let sequence = bytes.number(),
                let digest = bytes.digest()
            else { return nil }
            append(WindowEntry(packetID: packetID, digest: digest, sequence: sequence))
        }
    }
}
