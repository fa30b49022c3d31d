import AuthorityCore
import Sessions

/// Lives of sessions have no roles, no `_Installation` and no ids of requests: this store keeps
/// none.
extension MemoryTransaction {
    func installation(_ id: ObjectID) -> InstallationRecord? { nil }
    func installation(named installation: InstallationID) -> InstallationRecord? { nil }
    func installations(_ slice: ListSlice) -> [InstallationRecord] { [] }
    func countInstallations(of owner: UserID?) -> Int { 0 }

    func deleteInstallationsOfNobody(savedBefore time: Timestamp, limit: Int) -> Int { 0 }

    func save(_ installation: InstallationRecord) throws(AuthorityError) {
        throw refuse("no installations here")
    }

    func role(_ id: ObjectID) -> RoleRecord? { nil }
    func roles() -> [RoleRecord] { [] }
    func save(_ role: RoleRecord) throws(AuthorityError) -> Bool { throw refuse("no roles here") }
    func deleteRole(_ id: ObjectID) throws(AuthorityError) { throw refuse("no roles here") }

    func isSpent(requestHash: [UInt8], at now: Timestamp) -> Bool { false }

    func spendRequest(
        hash: [UInt8], of holder: String, until end: Timestamp, at now: Timestamp
    ) throws(AuthorityError) -> Bool {
        throw refuse("no ids of requests here")
    }

    func requestEnd(of holder: String, skipping skipped: Int) -> Timestamp? { nil }
    func deleteRequests(endedBefore time: Timestamp, limit: Int) -> Int { 0 }
}
