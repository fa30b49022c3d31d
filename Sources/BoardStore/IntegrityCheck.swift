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
        var (stored, bytes): (Int64, Int64) = (0, 0)
        let rows = statements.rows
        defer { rows.reset() }
        rows.bind(1, Int64.min)
        while found.count < 100, try rows.step() {
            let head = rows.head
            if try !opensWhole(rows) { found.append(head.name) }
            stored += head.count
            bytes += head.cost
        }
        let states = try connection.number("SELECT count(*) FROM state WHERE id = 1")
        if states > 0, try savedState() == nil {
            found.append("queue state")
        }
        if stored != state.stored || bytes != state.bytes {
            found.append("queue: \(stored) writes where \(state.stored) should be")
        }
        let before = damaged
        damaged = []
        _ = try readWindow()
        found += damaged.map(\.name)
        damaged = before
        try checkDead(&found)
    }

    private func opensWhole(_ rows: Statement) throws(StoreError) -> Bool {
        open = nil
        guard try openRow(rows), var row = open.take() else { return false }
        while row.next() != nil {}
        return row.isAtEnd
    }

    private func checkDead(_ found: inout [String]) throws(StoreError) {
        let select = try Statement(
            connection, "SELECT seq, buried, sid, user, body FROM dead ORDER BY seq")
        var count: Int64 = 0
        while found.count < 100, try select.step() {
            if try openLetter(select) == nil { found.append("dead letter \(select.int(0))") }
            count += 1
        }
        if count != state.dead {
            found.append("\(count) dead letters where \(state.dead) should be")
        }
    }
}
