import AgentCore
import Foundation
import Sessions
import Wire

@testable import AuthorityCore

/// What must hold after each happening, whatever went wrong.
extension World {
    /// Looks at what changed since the last look.
    func watch() {
        let tables = store.tables
        for entry in tables.audit.dropFirst(watched) where !state.expectsTheft {
            if entry.event == "session.reuse" || entry.event.hasPrefix("alarm.") {
                fates.violate("\(entry.event): \(entry.detail)")
            }
        }
        watched = tables.audit.count
        guard !state.expectsTheft else { return }
        for machine in state.boards.indices {
            if let fault = disagreement(of: machine, with: tables) { fates.violate(fault) }
        }
    }

    /// A board that holds neither the current refresh token, nor the one before it together
    /// with the id of the request that spent it, is locked out: its next refresh is theft.
    private func disagreement(of machine: Int, with tables: Tables) -> String? {
        guard let held = state.boards[machine].disk.session, let own = rotation(of: machine),
            let family = tables.families[own.family], !family.invalidated
        else { return nil }
        let pending = held.pendingRefresh
        if own.generation == family.generation {
            guard pending != nil, pending == family.lastRequest else { return nil }
            return "the board would present its new token under the id that bought it"
        }
        if own.generation + 1 == family.generation, pending == family.lastRequest { return nil }
        return "locked out: the board holds token \(own.generation) of \(family.generation), "
            + "its request \(pending.map { "\($0)" } ?? "none"), "
            + "the last was \(family.lastRequest.map { "\($0)" } ?? "none")"
    }

    /// Which refresh token a board's disk holds.
    func rotation(of machine: Int) -> Rotated? {
        guard let token = state.boards[machine].disk.session?.tokens.refresh else { return nil }
        if let known = rotations[machine], known.secret === token.secret { return known }
        let format = RefreshTokenFormat(
            cryptography: SimulatedAuthorityCryptography(sealing), key: refreshKey)
        guard let read = try? format.read(token) else {
            fates.violate("the board holds a refresh token that the authority never made")
            return nil
        }
        let found = Rotated(
            secret: token.secret, family: read.family, generation: read.generation)
        rotations[machine] = found
        return found
    }

    /// Notes every secret that was ever on the board's disk.
    func keepSecrets(of machine: Int) {
        let disk = state.boards[machine].disk
        let held = disk.session?.tokens
        Self.keep([held?.session.secret, held?.access.secret, held?.refresh.secret], in: &tokens)
        Self.keep(
            [disk.claim?.secret, disk.trust?.firstPassword, disk.trust?.broker?.password],
            in: &secrets)
    }

    private static func keep(_ found: [SecretBytes?], in kept: inout [SecretBytes]) {
        for secret in found.compactMap(\.self) where !kept.contains(where: { $0 === secret }) {
            kept.append(secret)
        }
    }

    /// Looks through everything that the broker saw for everything that is secret.
    func searchBroker() {
        var seen = Data()
        for publication in state.broker.seen {
            seen.append(contentsOf: publication.topic.utf8)
            seen.append(contentsOf: publication.payload)
        }
        var sought: [[UInt8]] = [Array("\"r:".utf8), Array("\"rt:".utf8)]
        for secret in secrets + tokens {
            let bytes = secret.reveal()
            let isText = bytes.allSatisfy { (0x21...0x7E).contains($0) }
            sought.append(isText ? bytes : Array(Base64URL.encode(bytes).utf8))
        }
        for board in state.boards {
            let secret = board.disk.identity.deviceSecret.reveal()
            sought.append(Array(Base64URL.encode(secret).utf8))
        }
        for bytes in sought where seen.range(of: Data(bytes)) != nil {
            fates.violate("a secret crossed the broker in the clear")
        }
    }

    /// No more than so many messages in any minute, whatever happens.
    func searchStorms() {
        for board in state.boards {
            var first = 0
            for (last, time) in board.sent.enumerated() {
                while time - board.sent[first] > .seconds(60) { first += 1 }
                busiestMinute = max(busiestMinute, last - first + 1)
            }
        }
        if busiestMinute > Self.mostInMinute {
            fates.violate("\(busiestMinute) messages to the authority in a minute")
        }
    }

    static let mostInMinute = 40
}

/// A refresh token, read.
struct Rotated {
    let secret: SecretBytes
    let family: RefreshFamilyID
    let generation: UInt64
}
