import AuthorityCore
import Sessions
import Wire

/// The named texts of a broker's question: from a form, a JSON object or a GET's query.
struct BrokerQuestion: Sendable {
    private let fields: [String: String]

    /// The maximum number of fields; RabbitMQ sends ten.
    private static let limit = 32
    /// The longest name or password, in bytes. Only the body limit applies to a topic.
    private static let longest = 512
    /// The largest question, in bytes. A client with a longer topic is refused.
    static let body = 8 * 1024

    /// Nil if the bytes are neither a form nor a JSON object, if there are too many fields, or if a
    /// form repeats a name. If JSON repeats a name, the last member counts, because only the broker
    /// writes the JSON.
    init?(_ bytes: [UInt8]) {
        if bytes.first == UInt8(ascii: "{") {
            guard let json = try? JSONObject(parsing: bytes, limit: Self.body),
                json.members.count <= Self.limit
            else { return nil }
            fields = json.members.compactMapValues { value in
                value.asString ?? value.asInteger.map { "\($0)" }
            }
        } else {
            guard let fields = Self.form(bytes) else { return nil }
            self.fields = fields
        }
    }

    /// Source: WHATWG URL §5.1.
    private static func form(_ bytes: [UInt8]) -> [String: String]? {
        var fields: [String: String] = [:]
        let pairs = bytes.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= limit else { return nil }
        for pair in pairs {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.flatMap(decoded),
                let value = parts.count > 1 ? decoded(parts[1]) : "",
                fields.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        return fields
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return String(validating: spaced, as: UTF8.self).flatMap(PercentEncoding.decode)
    }

    /// A topic, a name or one of the broker's own words; nil if it is absent.
    func text(_ name: String) -> String? { fields[name] }

    /// A name that a client gave; nil if it is absent, empty or longer than `longest`.
    func name(_ name: String) -> String? {
        fields[name].flatMap { $0.isEmpty || $0.utf8.count > Self.longest ? nil : $0 }
    }

    var username: String? { name("username") }

    var password: SecretBytes? { name("password").map { SecretBytes(Array($0.utf8)) } }
}

extension Call {
    /// The question of a broker, from the body or from a GET's query.
    var brokerQuestion: BrokerQuestion? {
        body.isEmpty ? BrokerQuestion(queryBytes) : BrokerQuestion(body)
    }
}
