import AuthorityCore
import Sessions

extension MemoryTransaction {
    func claimCode(deviceHash: [UInt8]) -> ClaimCodeRecord? {
        tables.claimCodes.first { $0.deviceHash == deviceHash }
    }

    func claimCode(userHash: [UInt8]) -> ClaimCodeRecord? {
        tables.claimCodes.first { $0.userHash == userHash }
    }

    func claimCodeEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) -> Timestamp? {
        scope.end(
            of: tables.claimCodes.filter { $0.state != .claimed }.map { ($0.origin, $0.endsAt) },
            skipping: skipped, after: now)
    }

    func insert(_ code: ClaimCodeRecord) -> Bool {
        guard claimCode(deviceHash: code.deviceHash) == nil,
            claimCode(userHash: code.userHash) == nil
        else { return false }
        tables.claimCodes.append(code)
        return true
    }

    func update(_ code: ClaimCodeRecord) {
        guard let place = tables.claimCodes.firstIndex(where: {
            $0.deviceHash == code.deviceHash
        }) else { return }
        tables.claimCodes[place] = code
    }

    func deleteClaimCodes(endedBefore time: Timestamp, limit: Int) -> Int {
        let count = tables.claimCodes.count
        tables.claimCodes.removeAll { $0.endsAt < time }
        return count - tables.claimCodes.count
    }
}
