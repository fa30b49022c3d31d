import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

/// The rules that boards have sent. They are encrypted: `content` is a JSON object of both texts.
extension StoreTransaction {
    func configuration(
        of board: InstallationID
    ) throws(AuthorityError) -> KeptConfiguration? {
        guard let row = try row(
            "SELECT * FROM configurations WHERE installation_id = ?", [board.description])
        else { return nil }
        let content = try wrapping.unwrap(try row.bytes("content"), place: place(board))
        let savedAt = try row.time("saved_at")
        do throws(WireError) {
            let json = try JSONObject(parsing: content.reveal())
            return KeptConfiguration(
                configuration: try BoardConfiguration(json: json), savedAt: savedAt)
        } catch {
            throw damaged("content")
        }
    }

    func keep(
        _ kept: KeptConfiguration?, of board: InstallationID
    ) throws(AuthorityError) {
        guard let kept else {
            try run(
                "DELETE FROM configurations WHERE installation_id = ?", [board.description])
            return
        }
        let content = SecretBytes(JSONValue.object(kept.configuration.members).bytes)
        try run(
            """
            INSERT INTO configurations (installation_id, content, saved_at) VALUES (?, ?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET
                content = excluded.content, saved_at = excluded.saved_at
            """,
            [board.description, try wrapping.wrap(content, place: place(board)),
             kept.savedAt.milliseconds])
    }

    private func place(_ board: InstallationID) -> String { "configurations.content \(board)" }
}
