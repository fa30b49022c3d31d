import AgentCore
import AgentStore
import Sessions
import Wire

/// Answers about what keeps the storage key. They never contain the key.
struct KeyAnswer {
    private let store: BoardStore

    init(_ store: BoardStore) { self.store = store }

    /// The `key` part of `status`: source, name, and whether a copy of the state folder is useless
    /// on other boards.
    var place: JSONValue {
        guard let place = store.keyFile.place else { return .null }
        return .object(members(of: place))
    }

    /// Adds `key` to the board's status.
    func completed(status: JSONValue) -> JSONValue {
        guard case .object(var members) = status else { return status }
        members["key"] = place
        return .object(members)
    }

    /// `place`, plus what the source protects against and which other sources are available. Asks
    /// each source, which can take seconds.
    var shown: JSONValue {
        guard let place = store.keyFile.place else { return .null }
        let survey = store.keyFile.survey()
        let rank = KeyTier.allCases.firstIndex(of: place.tier) ?? KeyTier.allCases.count
        let better = survey.able.filter { tier in
            KeyTier.allCases.firstIndex(of: tier).map { $0 < rank } ?? false
                || (tier == place.tier && !place.isBound)
        }
        var members = members(of: place)
        members["protects"] = .string(place.isBound ? place.tier.protection : Self.unbound)
        members["better"] = .array(better.map { .string($0.rawValue) })
        members["unavailable"] = .object(Dictionary(
            survey.unable.map { ($0.tier.rawValue, .string($0.reason)) }) { first, _ in first })
        return .object(members)
    }

    private static let unbound =
        "nothing but the file's mode: a copy of the state folder opens everywhere"

    private func members(of place: KeyPlace) -> [String: JSONValue] {
        [
            "source": .string(place.tier.rawValue), "name": .string(place.name),
            "bound": .bool(place.isBound),
        ]
    }

    /// Makes a new key and returns its place. If the source cannot keep it, returns the reason,
    /// and nothing changes.
    ///
    /// Throws errors after which the store cannot go on.
    func rekeyed(to name: String?) throws(StoreError) -> JSONValue {
        var tier: KeyTier?
        if let name, name != "auto" {
            guard let known = KeyTier(rawValue: name) else {
                return Self.failed("there is no key source `\(name.prefix(32))`")
            }
            tier = known
        }
        do throws(StoreError) {
            try store.rekey(to: tier, isBest: name == "auto")
        } catch {
            switch error {
            case .keyUnreachable, .keyRefused: return Self.failed("\(error)")
            default: throw error
            }
        }
        guard case .object(var members) = place else { return Self.failed("it cannot be read") }
        members["result"] = .string("done")
        return .object(members)
    }

    static func failed(_ reason: String) -> JSONValue {
        .object(["result": .string("failed"), "reason": .string(reason)])
    }
}
