import Sessions

/// Parse's numbers for what only its REST API can get wrong; the contract's own are in
/// `ErrorCode`.
///
/// Source: Parse REST guide, Error codes; Parse SDK, `Parse.Error`.
package enum ParseCode: Int, Sendable {
    case invalidQuery = 102
    /// Neither an installation id nor a device's type, where one must be.
    case missingField = 135
    /// A member that is set once.
    case immutableField = 136
    /// A value that must be unique and is not.
    case duplicateValue = 137
    case badRoleName = 139
    case usernameMissing = 200
    case passwordMissing = 201
    case usernameTaken = 202
}

extension AuthorityError {
    package static func refuse(_ code: ParseCode, _ text: String) -> AuthorityError {
        .refused(Refusal(code: code.rawValue, text: text))
    }
}
