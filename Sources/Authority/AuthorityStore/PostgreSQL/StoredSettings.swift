package import AuthorityCore
import PostgreSQLClient

extension PostgreSQLAuthorityStore {
    package func keep(
        _ own: SharedSettings, replacing: Bool
    ) async throws(AuthorityError) -> SharedSettings {
        do throws(PostgresError) {
            return try await pool.run { connection throws(PostgresError) in
                try StoredSettings(connection: connection).keep(own, replacing: replacing)
            }.get()
        } catch {
            throw noted(error.authorityError)
        }
    }
}

/// The settings that the authorities on one database share. They are rows of `times`. The time of a
/// row says when the setting was saved.
struct StoredSettings {
    let connection: PostgresConnection

    private static let mark = "setting "
    private static let lock: Int64 = 0x706F_7374_6572_6E03

    /// Nil if none are saved.
    func read() throws(PostgresError) -> SharedSettings? {
        let rows = try connection.query(
            "SELECT name FROM times WHERE name LIKE $1", [.text(Self.mark + "%")])
        return SharedSettings(lines: rows.compactMap { row in
            guard case .text(let name)? = row["name"] else { return nil }
            return String(name.dropFirst(Self.mark.count))
        })
    }

    /// Saves `own` if none are saved yet, or if `replacing` is true. Returns the saved settings.
    func keep(_ own: SharedSettings, replacing: Bool) throws(PostgresError) -> SharedSettings {
        do throws(PostgresError) {
            try connection.begin()
            // If two authorities start at once, they do this one after the other.
            _ = try connection.query("SELECT pg_advisory_xact_lock($1)", [.integer(Self.lock)])
            if let kept = try read(), kept == own || !replacing {
                connection.rollback()
                return kept
            }
            try connection.send(
                "DELETE FROM times WHERE name LIKE $1", [.text(Self.mark + "%")])
            for line in own.lines {
                try connection.send(
                    """
                    INSERT INTO times (name, at)
                    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
                    """, [.text(Self.mark + line)])
            }
            try connection.commit()
            return own
        } catch {
            connection.rollback()
            throw error
        }
    }
}
