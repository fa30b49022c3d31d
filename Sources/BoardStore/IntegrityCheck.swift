extension BoardDatabase {
    /// Looks at every page and opens every record; names what is wrong, at most 100 things.
    /// Empty means whole. Changes nothing. Takes as long as reading the file does.
    package func integrityCheck() throws(StoreError) -> [String] {
        try snapshot { () throws(StoreError) in
            var found: [String] = []
            do throws(StoreError) {
                let pages = try connection.texts("PRAGMA integrity_check(50)", limit: 50)
                found += pages.filter { $0 != "ok" }.map { "database: \($0)" }
                try checkVault(&found)
                try checkQueue(&found)
            } catch .corrupt(let what) {
                found.append(what)
            }
            return found
        }
    }

    private func checkVault(_ found: inout [String]) throws(StoreError) {
        do throws(StoreError) {
            _ = try KeyTable.load(connection, wrapping)
        } catch .keyWrong {
            found.append("keys")
        } catch .corrupt(let key) {
            found.append(key)
        }
        for name in try connection.texts("SELECT name FROM vault", limit: 50)
        where VaultRecord(rawValue: name) == nil {
            found.append("vault record of no known name")
        }
        for record in VaultRecord.allCases where try !opens(record) {
            found.append("vault record \(record.rawValue)")
        }
    }

    private func checkQueue(_ found: inout [String]) throws(StoreError) {
        let place = Place.queue(generation: keys.queue.generation)
        var (messages, bytes): (Int64, Int64) = (0, 0)
        defer { statements.next.reset() }
        statements.next.bind(1, Int64.min)
        while found.count < 100, try statements.next.step() {
            if try openRow(place) == nil { found.append("queue \(statements.next.int(0))") }
            messages += 1
            bytes += try statements.next.withBlob(4) { (body) throws(StoreError) in
                Int64(body.count) + QueueRow.overhead
            }
        }
        if try loadState() == nil, try connection.number("SELECT count(*) FROM state") > 0 {
            found.append("queue state")
        }
        if messages != state.messages || bytes != state.bytes {
            found.append("queue: \(messages) rows where \(state.messages) should be")
        }
        let before = damaged
        damaged = []
        _ = try readWindow()
        found += damaged.map(\.name)
        damaged = before
    }
}
