import HTTPTypes
import Sessions

/// The application and the key of an `Authorization: Basic` header, as in a URL that begins with
/// `https://app:javascript-key=KEY@` or `https://app:MASTERKEY@`.
///
/// Source: Parse REST guide, Authentication; RFC 7617 §2.
struct BasicKeys {
    enum Key {
        case client(SecretBytes)
        case master(SecretBytes)
    }

    let applicationID: String
    /// Nil if the password is empty.
    let key: Key?

    /// The longest header that is decoded, in bytes.
    private static let limit = 1024
    private static let clientPrefix = "javascript-key="

    /// Nil if there is no such header, and for a user name that is not this application's: a proxy
    /// may use the header for users of its own.
    ///
    /// Nil for a request of a web page, too. A browser adds these keys by itself, so the pages of
    /// strangers could use them.
    init?(_ headers: HTTPFields, of applicationID: String) {
        let site = HTTPFieldName.fetchSite.flatMap { headers[$0] } ?? "none"
        guard headers[.origin] == nil, site == "none",
            let text = headers[.authorization].flatMap(Self.decode),
            let colon = text.firstIndex(of: UInt8(ascii: ":")),
            text[..<colon].elementsEqual(applicationID.utf8)
        else { return nil }
        let password = Array(text[(colon + 1)...])
        self.applicationID = applicationID
        key = if password.isEmpty {
            nil
        } else if password.starts(with: Self.clientPrefix.utf8) {
            .client(SecretBytes(Array(password.dropFirst(Self.clientPrefix.utf8.count))))
        } else {
            .master(SecretBytes(password))
        }
    }

    /// The bytes of the credentials. Nil for another scheme, and if they are not base64.
    private static func decode(_ header: String) -> [UInt8]? {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard header.utf8.count <= limit, parts.count == 2, parts[0].lowercased() == "basic" else {
            return nil
        }
        let text = parts[1].utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        return Base64URL.decode(String(decoding: text.map(urlSafe), as: UTF8.self))
    }

    private static func urlSafe(_ character: UInt8) -> UInt8 {
        switch character {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: character
        }
    }
}
