/// The actions that Parse's own routes allow on the objects of a class. The owner of an object is
/// checked separately. The master key passes these permissions.
///
/// The defaults are the ones that Parse's documentation advises for `_Session`. `find` and `delete`
/// serve the screen that lists and ends sessions. `create` serves phones that provision devices.
/// Every other action is off.
///
/// Source: Parse REST guide, Session Security.
package struct ClassPermissions: Equatable, Sendable {
    package enum Action: String, Sendable, CaseIterable {
        case find, get, create, update, delete, addField
    }

    package private(set) var allowed: Set<Action> = [.find, .create, .delete]

    package init() {}

    package func allows(_ action: Action) -> Bool { allowed.contains(action) }

    package mutating func set(_ action: Action, _ isAllowed: Bool) {
        if isAllowed { allowed.insert(action) } else { allowed.remove(action) }
    }
}
