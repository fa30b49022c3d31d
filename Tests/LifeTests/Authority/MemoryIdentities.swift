import AuthorityCore
import Sessions

extension MemoryTransaction {
    func identity(
        _ provider: LoginProvider, issuer: String, subject: String
    ) -> IdentityRecord? {
        tables.identities.first {
            $0.provider == provider && $0.issuer == issuer && $0.subject == subject
        }
    }

    func identities(of user: UserID) -> [IdentityRecord] {
        tables.identities.filter { $0.user == user }
            .sorted { $0.provider.description < $1.provider.description }
    }

    func insert(_ identity: IdentityRecord) -> Bool {
        let isTaken = tables.identities.contains {
            $0.provider == identity.provider
                && ($0.user == identity.user
                    || ($0.issuer == identity.issuer && $0.subject == identity.subject))
        }
        if !isTaken { tables.identities.append(identity) }
        return !isTaken
    }

    func deleteIdentity(_ provider: LoginProvider, of user: UserID) -> Bool {
        let before = tables.identities.count
        tables.identities.removeAll { $0.provider == provider && $0.user == user }
        return tables.identities.count < before
    }

    func spend(hash: [UInt8], until end: Timestamp) -> Bool {
        guard tables.spentProofs[hash] == nil else { return false }
        tables.spentProofs[hash] = end
        return true
    }

    func deleteSpentProofs(endedBefore time: Timestamp, limit: Int) -> Int {
        let gone = tables.spentProofs.filter { $0.value < time }.prefix(limit)
        for proof in gone { tables.spentProofs[proof.key] = nil }
        return gone.count
    }
}
