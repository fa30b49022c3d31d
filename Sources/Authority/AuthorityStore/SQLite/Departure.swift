package import AuthorityCore
package import Sessions

/// That a store's records have gone to another store, or are on their way there. It stands in
/// `times`, and the database itself refuses every write to a store that has it.
package struct Departure: Equatable, Sendable {
    /// Where records go.
    package struct Target: Equatable, Sendable {
        /// What tells it from every other store; no spaces.
        package let id: String
        /// What people call it; names no secret.
        package let place: String

        package init(id: String, place: String) {
            self.id = id
            self.place = place
        }

        /// A file that is served from again, once what came from it is given up.
        package static func file(_ path: String) -> Target { Target(id: fileID, place: path) }

        fileprivate static let fileID = "file"
    }

    /// Since when the store takes no write.
    package let at: Timestamp
    package let target: Target?
    /// Whether the records are there. Until then they may stay.
    package let isDone: Bool

    package init(at: Timestamp, target: Target?, isDone: Bool) {
        self.at = at
        self.target = target
        self.isDone = isDone
    }

    /// The layer of what cannot be done because the records are elsewhere.
    package static let layer = "moved store"
    /// What whoever writes to such a store hears, from the database.
    package static let refusal = "the records have moved to another store: start the service anew"

    /// What became of the records, and what to do.
    package var words: String {
        let place = target?.place ?? "another store"
        guard isDone else {
            return """
                the records are on their way to \(place): wait for `postern-authority migrate`, \
                or run it again where it was cut short
                """
        }
        guard target?.id != Target.fileID else {
            return "the records are in \(place) again: take `store` out of authority.toml"
        }
        return """
            the records have moved to \(place): name that as `store` in authority.toml, or take \
            them back: `postern-authority migrate --undo`
            """
    }

    /// Why nobody serves from `store`.
    package func failure(of store: String) -> AuthorityError {
        .failed(layer: Self.layer, text: "\(store): \(words)")
    }
}

/// Its rows in `times`: since when, where to (the name has both of the target), and that the
/// records are there.
extension Departure {
    static let mark = "moved"
    static let arrival = "moved.done"
    private static let direction = "moved.to "

    private var rows: [(name: String, at: Timestamp)] {
        var rows: [(name: String, at: Timestamp)] = [(Self.mark, at)]
        if let target { rows.append(("\(Self.direction)\(target.id) \(target.place)", at)) }
        if isDone { rows.append((Self.arrival, at)) }
        return rows
    }

    /// Nil where the records are here to stay.
    package static func read(_ runner: any SQLRunner) throws(AuthorityError) -> Departure? {
        var at: Timestamp?
        var target: Target?
        var isDone = false
        let found = try runner.rows("SELECT name, at FROM times WHERE name LIKE 'moved%'", [])
        for row in found {
            let name: String = try row.value("name")
            if name == mark { at = try row.time("at") }
            if name == arrival { isDone = true }
            if name.hasPrefix(direction) {
                let parts = name.dropFirst(direction.count).split(separator: " ", maxSplits: 1)
                guard parts.count == 2 else { throw damaged("name") }
                target = Target(id: String(parts[0]), place: String(parts[1]))
            }
        }
        return at.map { Departure(at: $0, target: target, isDone: isDone) }
    }

    /// Takes the marks out of a store that takes writes.
    static func erase(_ runner: any SQLRunner) throws(AuthorityError) {
        try runner.run("DELETE FROM times WHERE name LIKE 'moved%'", [])
    }

    /// Writes it into a store that takes writes still.
    package func write(_ runner: any SQLRunner) throws(AuthorityError) {
        for row in rows {
            try runner.run(
                "INSERT INTO times (name, at) VALUES (?, ?)",
                [.text(row.name), .integer(row.at.milliseconds)])
        }
    }
}

/// How far a store has gone on. Two that are one another's copy are alike until one of them is
/// served from, or a command changes something there.
package struct StoreProgress: Equatable, Sendable {
    /// The latest time that a service has believed.
    package let latest: Timestamp?
    /// The number of the newest audit entry; 0 without any.
    package let newestEntry: Int64

    package static func read(_ runner: any SQLRunner) throws(AuthorityError) -> StoreProgress {
        let latest = try runner.rows("SELECT at FROM times WHERE name = 'latest'", []).first
        let newest = try runner.rows(
            "SELECT coalesce(max(number), 0) AS number FROM audit", []).first
        guard let newest else { throw damaged("number") }
        return StoreProgress(
            latest: try latest.map { row throws(AuthorityError) in try row.time("at") },
            newestEntry: try newest.value("number"))
    }

    /// How many audit entries another store has beyond this.
    package func entriesSince(_ runner: any SQLRunner) throws(AuthorityError) -> Int64 {
        let row = try runner.rows(
            "SELECT count(*) AS n FROM audit WHERE number > ?", [.integer(newestEntry)]).first
        return try row.map { row throws(AuthorityError) in try row.value("n") } ?? 0
    }
}
