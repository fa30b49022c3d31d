import AuthorityCore
import AuthorityStore
import ConfigurationFiles
import Foundation
import LinuxIO
import Sessions
import Wire

/// The steps of a move into a database, and back. Each can be cut short: run again, it goes on
/// where it was. One process at a time is at it.
///
/// Never do two stores take writes. The file is frozen before the database has anything, and is
/// thawed only when the database has nothing, or is closed.
struct Move {
    private let settings: ServiceSettings
    private let folder: StateFolder
    private let file: StoreFile

    init(_ settings: ServiceSettings) throws {
        self.settings = settings
        folder = StateFolder(settings)
        try folder.enter()
        guard PrivateFile.isThere(folder.database) else {
            throw StateFolderError.notInitialised(folder.path)
        }
        file = StoreFile(path: folder.database)
    }

    /// What is in the database after it.
    private struct Arrival {
        let rows: [String: Int]
        /// When it was moved, where that is not now.
        var earlier: Timestamp?
    }

    func run(json: Bool) async throws {
        guard settings.store != .file else {
            let earlier = try file.departure().map { "\(Self.words(of: $0, file)). " } ?? ""
            throw BackupError.usage("""
                \(earlier)Name the database first: store = "postgres://…" in authority.toml
                """)
        }
        let turn = try FolderTurn(at: folder.path)
        let key = try MasterKey(at: folder.masterKey)
        let found = try StoreExamination(path: folder.database, wrapping: key)
        if let fault = found.keyFault { throw BackupError.otherKey(fault) }
        let content = try file.verify()
        say("✓ \(folder.database): \(content.words)")
        let target = try await self.target(wrapping: key)
        // An earlier version of this program may have been the last to serve from it.
        if try file.departure() == nil { try file.modernise(wrapping: key) }
        let arrival = try await carry(into: target)
        try target.close()
        _ = consume turn
        tell(arrival, json: json)
    }

    private func tell(_ arrival: Arrival, json: Bool) {
        let place = folder.recordPlace
        if let earlier = arrival.earlier {
            let counts = ["users", "boards", "sessions"].map { table in
                "\(arrival.rows[table] ?? 0) \(table)"
            }
            say("✓ already moved on \(Self.day(earlier)): \(place) has "
                + counts.joined(separator: ", "))
        } else {
            say("✓ \(place) has them; \(folder.database) takes no write any more")
        }
        say("Next: start the service anew, and keep the file until you trust what you see.")
        guard json else { return }
        let rows = arrival.rows.mapValues { JSONValue.integer(Int64($0)) }
        print(JSONValue.object([
            "to": .string(place), "rows": .object(rows),
            "movedAt": arrival.earlier.map(JSONValue.time) ?? .null,
        ]).text)
    }

    private static func day(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.seconds)).formatted(.iso8601)
    }

    private static func words(of departure: Departure, _ file: StoreFile) -> String {
        "\(file.path) has moved to \(departure.target?.place ?? "another store") on "
            + "\(day(departure.at)), or begun to"
    }

    /// The database to move into; one that was closed says so, and takes nothing ever again.
    private func target(wrapping key: MasterKey) async throws -> any TransferableStore {
        do {
            return try await folder.openedDatabase(wrapping: key)
        } catch AuthorityError.failed(layer: Departure.layer, let text) {
            throw AuthorityError.failed(
                layer: Departure.layer,
                text: "\(text); to move there again, name an empty database")
        }
    }

    private func carry(into target: any TransferableStore) async throws -> Arrival {
        let place = Departure.Target(
            id: try await target.identity(), place: folder.recordPlace)
        if let earlier = try file.departure() {
            if try await target.takenAt() == earlier.at {
                try file.noteArrival()
                return Arrival(rows: try await target.counts(), earlier: earlier.at)
            }
            guard !earlier.isDone, earlier.target.map({ $0.id == place.id }) ?? true else {
                throw BackupError.usage("""
                    \(Self.words(of: earlier, file)): a file moves into one database alone. \
                    Name that one as `store`, or take the move back first: \
                    `postern-authority migrate --undo`
                    """)
            }
        } else {
            try file.freeze(at: systemClock(), for: place)
        }
        do {
            let rows = try await target.take(file)
            try file.noteArrival()
            return Arrival(rows: rows)
        } catch AuthorityError.failed(layer: StoreFile.unknownOutcome, let text) {
            say("✗ \(folder.database) takes no write until this is known: run migrate again")
            throw AuthorityError.failed(layer: StoreFile.unknownOutcome, text: text)
        } catch {
            return try await afterFailure(error, target)
        }
    }

    /// Whether its commit stands may be unknown: two that serve would be worse than none.
    private func afterFailure(
        _ error: any Error, _ target: any TransferableStore
    ) async throws -> Arrival {
        guard let departure = try file.departure() else { throw error }
        if try await target.takenAt() == departure.at {
            try file.noteArrival()
            return Arrival(rows: try await target.counts())
        }
        try thaw(isBehind: false)
        say("✗ nothing was moved; \(folder.database) is the store as before")
        guard (error as? AuthorityError) != StoreCopy.occupied else {
            throw BackupError.usage("""
                \(folder.recordPlace) has records already, and a move takes an empty database: \
                make a new one, and name that as `store` (BACKUP.md, Moving to PostgreSQL)
                """)
        }
        throw error
    }

    /// Closes the database, and goes back to the file as it was at the move.
    func takeBack(losing mayLose: Bool) async throws {
        let lock = try folder.lockForRestoring()
        let turn = try FolderTurn(at: folder.path)
        let departure = try departureToUndo()
        guard settings.store != .file else {
            throw BackupError.usage("""
                leave `store` in authority.toml until this is done: \
                \(departure.target?.place ?? "the database") is to take no write any more. \
                --without-database where it is gone for good
                """)
        }
        let hasGoneOn = try await closeDatabase(departure, mayLose)
        try thaw(isBehind: hasGoneOn)
        _ = consume turn
        _ = consume lock
        say("✓ \(folder.database) is a store again: take `store` out of authority.toml")
        if hasGoneOn { Restoration.sayNext() }
    }

    /// The same where nobody can be asked what was done in the database since.
    func takeBackAlone() async throws {
        let lock = try folder.lockForRestoring()
        let turn = try FolderTurn(at: folder.path)
        let departure = try departureToUndo()
        try thaw(isBehind: true)
        _ = consume turn
        _ = consume lock
        say("! \(departure.target?.place ?? "the database") was not closed: nothing may serve "
            + "from it, or from a copy of it")
        say("✓ \(folder.database) is a store again: take `store` out of authority.toml")
        Restoration.sayNext()
    }

    private func departureToUndo() throws -> Departure {
        guard let departure = try file.departure() else {
            throw BackupError.usage("\(folder.database) was not moved")
        }
        return departure
    }

    /// Whether something was done in the database since the move; that is lost now.
    private func closeDatabase(_ departure: Departure, _ mayLose: Bool) async throws -> Bool {
        let place = folder.recordPlace
        let target = try await folder.openedDatabase(
            wrapping: try MasterKey(at: folder.masterKey), evenMoved: true)
        let outcome = try await target.giveBack(GiveBack(
            departure: departure, progress: try file.progress(), file: .file(file.path),
            now: systemClock(), mayLose: mayLose))
        let id = try await target.identity()
        try target.close()
        switch outcome {
        case .closed(let hasGoneOn):
            say("✓ \(place) takes no write any more")
            return hasGoneOn
        case .absent:
            guard !departure.isDone, departure.target.map({ $0.id == id }) ?? false else {
                throw BackupError.usage("""
                    \(file.path) moved to \(departure.target?.place ?? "another store"), and \
                    \(place) has none of it: name that one as `store`. --without-database where \
                    it is gone for good
                    """)
            }
            say("✓ \(place) has nothing of \(file.path)")
            return false
        case .wouldLose(let entries):
            throw BackupError.usage("""
                \(place) was served from or changed since the move (\(entries) new audit \
                entries), and --undo goes back to before: nothing was done. To keep that, take a \
                `backup` of it first, and restore that after --undo --discard
                """)
        }
    }

    /// Makes the file a store again. What was done in the other one since is ahead of it; that it
    /// was is noted with the same commit, for nobody would ask again.
    private func thaw(isBehind: Bool) throws {
        let now = systemClock()
        try file.thaw(wrapping: try MasterKey(at: folder.masterKey)) {
            transaction throws(AuthorityError) in
            guard isBehind else { return }
            try settings.rules.noteRestored(actor: "console", transaction, at: now)
            try transaction.resetLatestTime(to: now)
        }
    }
}
