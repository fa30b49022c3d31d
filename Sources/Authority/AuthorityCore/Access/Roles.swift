package import Sessions

/// Parse's `_Role`: a name for a set of users, and for the users of other roles. The authority
/// gives no rights to a role. Apps ask who is in it, and the ACLs of roles name roles.
package struct RoleRecord: Equatable, Sendable {
    package let objectID: ObjectID
    package let name: RoleName
    package var acl: AccessList
    package var users: Set<UserID>
    /// Other roles whose users are also in this role.
    package var roles: Set<ObjectID>
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        objectID: ObjectID, name: RoleName, acl: AccessList, users: Set<UserID>,
        roles: Set<ObjectID>, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.objectID = objectID
        self.name = name
        self.acl = acl
        self.users = users
        self.roles = roles
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// A role as one caller sees it.
package struct RoleView: Equatable, Sendable {
    package let role: RoleRecord
    /// Only the caller, if in the role. All users for administrators and the master key.
    package let users: Set<UserID>

    package init(role: RoleRecord, users: Set<UserID>) {
        self.role = role
        self.users = users
    }
}

/// The fields that a client sends for a role. Nil: not sent.
package struct RoleDraft: Sendable {
    package let name: String?
    package let acl: AccessList?
    package let users: RelationChange<UserID>
    package let roles: RelationChange<ObjectID>

    package init(
        name: String?, acl: AccessList?, users: RelationChange<UserID>,
        roles: RelationChange<ObjectID>
    ) {
        self.name = name
        self.acl = acl
        self.users = users
        self.roles = roles
    }
}

/// Parse's `AddRelation` and `RemoveRelation`.
package struct RelationChange<ID: Hashable & Sendable>: Equatable, Sendable {
    package var added: Set<ID> = []
    package var removed: Set<ID> = []

    package init() {}

    func applied(to ids: Set<ID>) -> Set<ID> { ids.union(added).subtracting(removed) }
}

package protocol RoleTable {
    func role(_ id: ObjectID) throws(AuthorityError) -> RoleRecord?
    /// All roles, sorted by name.
    func roles() throws(AuthorityError) -> [RoleRecord]
    /// Inserts or replaces; false if another role has the name.
    func save(_ role: RoleRecord) throws(AuthorityError) -> Bool
    func deleteRole(_ id: ObjectID) throws(AuthorityError)
}

/// Access rules: administrators and the master key make roles, because apps trust their names. A
/// role's ACL says which callers may read it, with or without a session. It also says which
/// unrestricted sessions may change or delete it. Administrators and the master key may always do
/// so. A restricted session only reads.
extension Authority {
    private static let limit = 1000
    private static let userLimit = 1000
    private static let childLimit = 100

    package func roles(by caller: Caller?) async throws(AuthorityError) -> [RoleView] {
        try await lookAsAnyone(.readRoles, by: caller) {
            act, transaction throws(AuthorityError) in
            let all = try transaction.roles()
            let own = all.names(of: act?.user.objectID)
            return all.filter { $0.lets(.read, act, in: own) }.map { $0.view(for: act) }
        }
    }

    package func role(
        _ id: ObjectID, by caller: Caller?
    ) async throws(AuthorityError) -> RoleView {
        try await lookAsAnyone(.readRoles, by: caller) {
            act, transaction throws(AuthorityError) in
            try found(id, act, transaction).view(for: act)
        }
    }

    package func makeRole(
        _ draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView {
        let id = try newObjectID()
        return try await act(.makeRole, by: caller) { act throws(AuthorityError) in
            guard let text = draft.name else { throw .refuse(.wrongType, "name is required.") }
            guard let name = RoleName(text) else {
                throw .refuse(
                    .badRoleName, "a role's name has 1 to 64 letters, digits, spaces, - and _")
            }
            guard let acl = draft.acl else { throw .refuse(.wrongType, "ACL is required.") }
            guard try act.transaction.roles().count < Self.limit else {
                throw .refuse(.quota, "this authority has \(Self.limit) roles already, the most")
            }
            let role = RoleRecord(
                objectID: id, name: name, acl: acl, users: [], roles: [], createdAt: act.now,
                updatedAt: act.now)
            let saved = try save(role, with: draft, act)
            try act.audit("role.made", name.description)
            return saved.view(for: act)
        }
    }

    package func updateRole(
        _ id: ObjectID, with draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView {
        try await act(.writeRole, by: caller) { act throws(AuthorityError) in
            var role = try writable(id, act)
            guard draft.name ?? role.name.description == role.name.description else {
                throw .refuse(.immutableField, "the name of a role cannot be changed")
            }
            role.acl = draft.acl ?? role.acl
            role.updatedAt = act.now
            let saved = try save(role, with: draft, act)
            try act.audit("role.changed", role.name.description)
            return saved.view(for: act)
        }
    }

    package func deleteRole(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) {
        try await act(.writeRole, by: caller) { act throws(AuthorityError) in
            let role = try writable(id, act)
            for var parent in try act.transaction.roles() where parent.roles.contains(id) {
                parent.roles.remove(id)
                _ = try act.transaction.save(parent)
            }
            try act.transaction.deleteRole(id)
            try act.audit("role.deleted", role.name.description)
        }
    }

    private func save(
        _ role: RoleRecord, with draft: RoleDraft, _ act: Act
    ) throws(AuthorityError) -> RoleRecord {
        for user in draft.users.added where try act.transaction.user(user) == nil {
            throw .refuse(.notFound, "no such user: \(user)")
        }
        for child in draft.roles.added where try act.transaction.role(child) == nil {
            throw .refuse(.notFound, "no such role: \(child)")
        }
        var role = role
        role.users = draft.users.applied(to: role.users)
        role.roles = draft.roles.applied(to: role.roles)
        guard role.users.count <= Self.userLimit, role.roles.count <= Self.childLimit else {
            throw .refuse(
                .quota, "a role has at most \(Self.userLimit) users and \(Self.childLimit) roles")
        }
        guard try act.transaction.save(role) else {
            throw .refuse(.duplicateValue, "a role with this name exists already")
        }
        return role
    }

    private func found(
        _ id: ObjectID, _ act: Act?, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> RoleRecord {
        guard let role = try transaction.role(id),
            role.lets(.read, act, in: try transaction.roles().names(of: act?.user.objectID))
        else { throw .refuse(.notFound, "Object not found.") }
        return role
    }

    /// A role that the caller may write. Otherwise 101, as if it did not exist, like Parse.
    private func writable(_ id: ObjectID, _ act: Act) throws(AuthorityError) -> RoleRecord {
        guard let role = try act.transaction.role(id),
            role.lets(.write, act, in: try act.transaction.roles().names(of: act.user.objectID))
        else { throw .refuse(.notFound, "Object not found.") }
        return role
    }
}

extension RoleRecord {
    fileprivate func lets(_ right: AccessList.Right, _ act: Act?, in own: Set<RoleName>) -> Bool {
        act?.isAboveACLs == true || acl.gives(right, to: act?.user.objectID, in: own)
    }

    fileprivate func view(for act: Act?) -> RoleView {
        guard let act else { return RoleView(role: self, users: []) }
        return RoleView(
            role: self, users: act.isAboveACLs ? users : users.intersection([act.user.objectID]))
    }
}

extension [RoleRecord] {
    /// The roles that a user is in, directly or through another role. Loops among roles are
    /// allowed.
    fileprivate func names(of user: UserID?) -> Set<RoleName> {
        guard let user else { return [] }
        var ids = Set(filter { $0.users.contains(user) }.map(\.objectID))
        while true {
            let more = filter { !ids.contains($0.objectID) && !ids.isDisjoint(with: $0.roles) }
            if more.isEmpty { break }
            ids.formUnion(more.map(\.objectID))
        }
        return Set(filter { ids.contains($0.objectID) }.map(\.name))
    }
}
