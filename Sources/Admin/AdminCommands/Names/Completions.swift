import ArgumentParser
import Sessions
import Wire

// What a shell offers for the name of a board, a session, a user and the like. The authority is
// asked with the saved login. Without a login, or without an answer in two seconds, nothing is
// offered.

extension CompletionKind {
    static let boards = ofNames("/boards") { (answer) throws(CommandFailure) in
        try results(in: answer, BoardRow.init(json:)).map {
            OfferedName(ids: [$0.installation.description], name: $0.name)
        }
    }

    static let sessions = ofNames("/sessions") { (answer) throws(CommandFailure) in
        try results(in: answer, SessionRow.init(json:)).map { row in
            OfferedName(
                ids: [row.session.objectID.description], name: row.isLiving ? row.boardName : nil)
        }
    }

    static let users = ofNames("/users") { (answer) throws(CommandFailure) in
        try results(in: answer, UserRow.init(json:)).map {
            OfferedName(ids: [$0.objectID.description], name: $0.username)
        }
    }

    static let consumers = ofNames("/consumers") { (answer) throws(CommandFailure) in
        try results(in: answer, ConsumerRow.init(json:)).map {
            OfferedName(ids: [], name: $0.name)
        }
    }

    static let preparedClaims = ofNames("/prepared-claims") { (answer) throws(CommandFailure) in
        try AuthorityClient.preparedClaims(in: answer).map {
            OfferedName(ids: [$0.id.description], name: $0.name)
        }
    }

    private static func ofNames(
        _ path: String,
        _ read: @Sendable @escaping (JSONObject) throws(CommandFailure) -> [OfferedName]
    ) -> CompletionKind {
        .custom { words, _, prefix async in
            guard let place = Place(completing: words) else { return [] }
            do throws(CommandFailure) {
                var client = try place.login(in: .process).client
                client.patience = .seconds(2)
                return OfferedName.words(
                    for: try read(try await client.own(.get, path)), typed: prefix)
            } catch {
                return []
            }
        }
    }
}

/// A thing whose name or id a shell may offer.
struct OfferedName: Sendable {
    let ids: [String]
    let name: String?

    /// Names that no shell has to quote, or ids. If the typed text begins an id, also that id.
    static func words(for things: [OfferedName], typed: String) -> [String] {
        var words: [String] = []
        for thing in things {
            if let name = thing.name, isPlain(name), !words.contains(name) { words.append(name) }
            let begun = thing.ids.filter { !typed.isEmpty && $0.hasPrefix(typed) }
            words += thing.name.map(isPlain) == true ? begun : thing.ids
        }
        return words
    }

    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "@"): true
            default: false
            }
        } && !name.hasPrefix("-")
    }
}

extension Place {
    private static let values = [
        "--authority", "--profile-dir", "--ca-file", "--certificate", "--key",
    ]

    /// The options among the words of a command line that is not complete yet.
    fileprivate init?(completing words: [String]) {
        var own: [String] = []
        for (index, word) in words.enumerated() {
            if Self.values.contains(word), index + 1 < words.count {
                own += [word, words[index + 1]]
            } else if word == "--insecure" || Self.values.contains(where: {
                word.hasPrefix($0 + "=")
            }) {
                own.append(word)
            }
        }
        do {
            self = try Place.parse(own)
        } catch {
            return nil
        }
    }
}
