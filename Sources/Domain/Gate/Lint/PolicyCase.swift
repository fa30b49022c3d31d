import Sessions

/// One case of a file of test cases: a write, and the decision expected from the gate.
package struct PolicyCase: Equatable, Sendable {
    /// The write. The gate, not this type, refuses names that an app could put in a topic.
    package enum Subject: Equatable, Sendable {
        case write(AppName, Operation, className: String)
        /// A topic of the board's own bus.
        case topic(String)
        /// A person's command. The payload is its content.
        case command(AppName)
    }

    package enum Payload: Equatable, Sendable {
        case text(String)
        /// The path of a file, relative to the file of cases.
        case file(String)
    }

    /// The expected decision. Members that are nil are not compared.
    package struct Expectation: Equatable, Sendable {
        package var allows: Bool
        package var rule: String?
        package var code: Int?
        package var field: String?

        package init(
            allows: Bool, rule: String? = nil, code: Int? = nil, field: String? = nil
        ) {
            self.allows = allows
            self.rule = rule
            self.code = code
            self.field = field
        }
    }

    /// The line of its `[[case]]`.
    package let line: Int
    package let name: String?
    package let subject: Subject
    package let payload: Payload
    package let expected: Expectation

    package init(
        line: Int, name: String?, subject: Subject, payload: Payload, expected: Expectation
    ) {
        self.line = line
        self.name = name
        self.subject = subject
        self.payload = payload
        self.expected = expected
    }
}

extension PolicyCase.Expectation {
    /// Whether `decision` equals the expectation in every given member.
    package func agrees(with decision: Decision) -> Bool {
        switch decision {
        case .allow(let id):
            return allows && rule.map { $0 == id.description } ?? true
        case .deny(let rejection):
            return !allows && rule.map { $0 == rejection.rule.description } ?? true
                && code.map { $0 == rejection.code.rawValue } ?? true
                && field.map { $0 == rejection.field ?? "" } ?? true
        }
    }
}

extension PolicyCase.Expectation: CustomStringConvertible {
    /// `allow policy.toml:8`, `deny 142 policy.toml:8 celsius`.
    package var description: String {
        let parts = [allows ? "allow" : "deny", code.map { "\($0)" }, rule, field]
        return parts.compactMap { $0 }.joined(separator: " ")
    }
}

extension Decision: CustomStringConvertible {
    /// Printed in the same form as an expectation.
    package var description: String {
        switch self {
        case .allow(let rule): "allow \(rule)"
        case .deny(let rejection):
            "deny \(rejection.code.rawValue) \(rejection.rule)"
                + (rejection.field.map { " \($0)" } ?? "")
        }
    }
}
