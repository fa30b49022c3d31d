/// A right that an administrator gives to a user or takes away.
package enum UserRight: String, CaseIterable, Sendable {
    case claim

    /// The member of the user's JSON form.
    package var member: String {
        switch self {
        case .claim: "mayClaim"
        }
    }

    package var words: String {
        switch self {
        case .claim: "claim boards"
        }
    }
}
