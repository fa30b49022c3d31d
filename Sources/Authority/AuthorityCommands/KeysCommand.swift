import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import Cryptography
import Sessions
import Wire

/// Shows and rotates the keys that sign access tokens. It runs on the authority's machine, beside
/// `serve`, which uses a new key within a second.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Lists and rotates the keys that sign access tokens.",
        subcommands: [List.self, Rotate.self])

    @ParentCommand var program: AuthorityProgram

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the key that signs and the earlier ones.")

        @ParentCommand var keys: KeysCommand
        @OptionGroup var place: PlaceOptions
        @Flag(help: "As JSON.") var json = false

        func run() async throws {
            let settings = try place.settings(keys.program.place)
            try await AuthorityCommands.run {
                let records = try await LocalAuthority(settings).authority.signingKeyRecords()
                show(records, at: systemClock(), json: json)
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a new key, which signs from now on.",
            discussion: """
                The old key signs no more, and its private half is destroyed. Boards accept the \
                tokens that it signed until they expire.
                """)

        @ParentCommand var keys: KeysCommand
        @OptionGroup var place: PlaceOptions
        @Flag(help: "As JSON: the list after the change.") var json = false

        func run() async throws {
            let settings = try place.settings(keys.program.place)
            try await AuthorityCommands.run {
                let local = try await LocalAuthority(settings)
                try await local.requireCredibleClock()
                let authority = local.authority
                let key = try KeyRing.signingKey()
                try await authority.rotate(to: key, actor: "console")
                say("✓ \(key.publicKey.kid) signs access tokens from now on")
                let records = try await authority.signingKeyRecords()
                if json { show(records, at: systemClock(), json: true) }
            }
        }
    }
}

private func show(_ records: [KeyRecord], at now: Timestamp, json: Bool) {
    if json {
        let results = records.map { $0.listed(at: now) }
        print(JSONValue.object(["results": .array(results)]).text)
    } else {
        for record in records { print(record.line(at: now)) }
    }
}

extension KeyRecord {
    /// `signing`; then `published` until the last token that it signed has expired; then `retired`.
    fileprivate func state(at now: Timestamp) -> String {
        guard let publishedUntil else { return "signing" }
        return publishedUntil > now ? "published" : "retired"
    }

    fileprivate func listed(at now: Timestamp) -> JSONValue {
        var members: [String: JSONValue] = [
            "kid": .string(name), "x": .string(Base64URL.encode(publicKey)),
            "state": .string(state(at: now)), "createdAt": .time(createdAt),
        ]
        members["retiredAt"] = retiredAt.map(JSONValue.time)
        members["publishedUntil"] = publishedUntil.map(JSONValue.time)
        return .object(members)
    }

    fileprivate func line(at now: Timestamp) -> String {
        let left = publishedUntil.map { ($0 - now).components.seconds } ?? 0
        let rest = left > 0 ? " for \((left + 59) / 60) minutes more" : ""
        return "\(name)  \(state(at: now))\(rest)"
    }
}
