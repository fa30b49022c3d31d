import Sessions
import Wire

/// A prepared claim, as the authority lists it.
struct PreparedClaimRow: Sendable {
    /// The board that came with the claim's file.
    struct Board: Sendable {
        let installation: InstallationID
        let name: String
        let fingerprint: BoardFingerprint
        let askedAt: Timestamp
    }

    let id: InstallationID
    let name: String
    let owner: String
    /// `prepared`, `asking`, `accepted` or `expired`. The authority lists no ended ones.
    let state: String
    let createdAt: Timestamp
    let expiresAt: Timestamp
    let acceptsByItself: Bool
    let labels: [String]
    let board: Board?
    /// When a second board came with the same file.
    let secondAt: Timestamp?

    init(json: JSONObject) throws(WireError) {
        id = try json.parsed("id", InstallationID.init)
        name = try json.string("name")
        owner = try json.string("owner")
        state = try json.string("state")
        createdAt = try json.time("createdAt")
        expiresAt = try json.time("expiresAt")
        acceptsByItself = try json.optional("autoAccept") { $0.asBool } ?? false
        labels = try json.optional("labels") { $0.asArray?.compactMap(\.asString) } ?? []
        board = try json.optional("board") { value throws(WireError) in
            guard let members = value.asObject else { return nil }
            return try Board(json: JSONObject(members))
        }
        secondAt = try json.optional("secondAt") {
            $0.asInteger.flatMap(Timestamp.init(seconds:))
        }
    }

    var json: JSONValue {
        .object([
            "id": .string(id.description), "name": .string(name), "owner": .string(owner),
            "state": .string(state), "createdAt": .time(createdAt), "expiresAt": .time(expiresAt),
            "autoAccept": .bool(acceptsByItself),
            "labels": .array(labels.map(JSONValue.string)), "board": board?.json ?? .null,
            "secondAt": secondAt.map(JSONValue.time) ?? .null,
        ])
    }

    var fingerprintWords: String { board?.fingerprint.description ?? "-" }

    var isAsking: Bool { state == "asking" }

    /// Whether the claim's file still serves.
    var isOpen: Bool { ["prepared", "asking"].contains(state) }

    var stateWords: String {
        let words = isAsking ? "asks to join" : state
        return secondAt == nil ? words : words + "; A SECOND BOARD CAME"
    }
}

extension PreparedClaimRow.Board {
    init(json: JSONObject) throws(WireError) {
        installation = try json.parsed("installationId", InstallationID.init)
        name = try json.string("name")
        fingerprint = try json.parsed("fingerprint") { BoardFingerprint($0) }
        askedAt = try json.time("askedAt")
    }

    var json: JSONValue {
        .object([
            "installationId": .string(installation.description), "name": .string(name),
            "fingerprint": .string(fingerprint.description), "askedAt": .time(askedAt),
        ])
    }
}

extension PreparedClaimRow: GroupMember {
    static let plural = "claims"

    /// The claim and its board in the line of the result.
    var words: String {
        "\(Printable.line(name)) (\(board?.fingerprint.description ?? "no board yet"))"
    }

    var members: [String: JSONValue] {
        [
            "id": .string(id.description), "name": .string(name),
            "fingerprint": board.map { .string($0.fingerprint.description) } ?? .null,
        ]
    }
}

extension [PreparedClaimRow] {
    /// The claims that a person named, each once. Open ones count first, because a name may be used
    /// again. Throws without a result if a name fits none or several.
    func named(_ texts: [String]) throws(CommandFailure) -> [PreparedClaimRow] {
        let (open, all) = (search(\.isOpen), search { _ in true })
        var found: [PreparedClaimRow] = []
        for text in texts.map(Printable.line) {
            var result = open.find(text)
            if case .nothing = result { result = all.find(text) }
            switch result {
            case .found(let row):
                if !found.contains(where: { $0.id == row.id }) { found.append(row) }
            case .several(let words): throw .usage("\(words); give more of the id")
            case .nothing:
                throw .usage("no prepared claim is called \(text), and no id of one begins with "
                    + "it; `postern claims` shows both")
            }
        }
        return found
    }

    private func search(
        _ isWanted: (PreparedClaimRow) -> Bool
    ) -> NameSearch<PreparedClaimRow> {
        NameSearch("prepared claims", filter(isWanted).map { row in
            .init(row, ids: [row.id.description], name: Printable.line(row.name))
        })
    }
}
