import Sessions

/// Parse's error codes that only its REST API needs. The contract's own codes are in `ErrorCode`.
///
/// Source: Parse REST guide, Error codes; Parse SDK, `Parse.Error`.
package enum ParseCode: Int, Sendable {
    case invalidQuery = 102
    case badChannelName = 112
    case badEmail = 125
    /// A required installation id or device type is missing.
    case missingField = 135
    /// A member that can be set only once.
    case immutableField = 136
    /// A value that must be unique but is not.
    case duplicateValue = 137
    case badRoleName = 139
    case duplicateRequest = 159
    case usernameMissing = 200
    case passwordMissing = 201
    case usernameTaken = 202
    case emailTaken = 203
    case emailMissing = 204
}

extension AuthorityError {
    package static func refuse(_ code: ParseCode, _ text: String) -> AuthorityError {
        .refused(Refusal(code: code.rawValue, text: text))
    }
}
