/// What anyone may do with the objects of a class by Parse's own routes; whose an object is,
/// is judged besides. The master key passes these.
///
/// As they are made here they are what Parse's documentation advises for `_Session`: `find`
/// and `delete` serve the screen that lists sessions and ends them, `create` serves phones that
/// provision devices, and what nothing needs is off.
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
