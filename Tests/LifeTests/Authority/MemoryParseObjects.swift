import AuthorityCore
import Sessions

/// Lives of sessions have no roles and no `_Installation`: this store keeps none.
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
}
