/// One rule of a policy file or a scope. The first rule that matches decides.
package struct Rule: Equatable, Sendable {
    package let id: RuleID
    /// Nil: any app.
    package let app: AppName?
    /// Nil: any class (`*`).
    package let className: ClassName?
    package let allow: Set<Operation>
    /// Nil: the payload is not checked. Else the payload must be JSON with only these members.
    package let fields: [String: FieldType]?
    /// The units of number fields by path, such as `room.celsius`. Only readers of data use them.
    package let units: [String: FieldUnit]
    package let maxBytes: ByteCount?
    package let rate: Rate?
    let operations: Operations
    let shape: FieldRules?

    package init(
        id: RuleID, app: AppName?, className: ClassName?, allow: Set<Operation>,
        fields: [String: FieldType]?, units: [String: FieldUnit] = [:], maxBytes: ByteCount?,
        rate: Rate?
    ) {
        self.id = id
        self.app = app
        self.className = className
        self.allow = allow
        self.fields = fields
        self.units = units
        self.maxBytes = maxBytes
        self.rate = rate
        operations = allow.reduce(into: []) { $0.insert(Operations($1)) }
        shape = fields.map { FieldRules($0) }
    }

    /// The same rule for a reader that knows no units.
    package var withoutUnits: Rule {
        Rule(
            id: id, app: app, className: className, allow: allow, fields: fields,
            maxBytes: maxBytes, rate: rate)
    }
}

/// The limits of one app, for any class.
package struct AppLimit: Equatable, Sendable {
    package var rate: Rate?
    package var maxBytes: ByteCount?
    /// Nil: the app takes no commands.
    package var commands: CommandRules?

    package init(
        rate: Rate? = nil, maxBytes: ByteCount? = nil, commands: CommandRules? = nil
    ) {
        self.rate = rate
        self.maxBytes = maxBytes
        self.commands = commands
    }
}

/// An ordered list of rules with a default: a board's policy file.
package struct Policy: Equatable, Sendable {
    package let allowsByDefault: Bool
    package let apps: [AppName: AppLimit]
    package let rules: [Rule]

    /// Replaces a policy that is lost.
    package static let refusesAll = Policy(allowsByDefault: false, apps: [:], rules: [])

    package init(allowsByDefault: Bool, apps: [AppName: AppLimit], rules: [Rule]) {
        self.allowsByDefault = allowsByDefault
        self.apps = apps
        self.rules = rules
    }

    /// A short summary for a log.
    package var summary: String {
        "\(rules.count) rules, by default \(allowsByDefault ? "allow" : "deny")"
    }
}

/// The limits that the authority sets for a session on its board.
package struct Scope: Equatable, Sendable {
    package let allowsByDefault: Bool
    package let rules: [Rule]
    /// Topics outside the contract's root that the board may publish to.
    package let topics: [TopicFilter]

    package init(allowsByDefault: Bool, rules: [Rule], topics: [TopicFilter]) {
        self.allowsByDefault = allowsByDefault
        self.rules = rules
        self.topics = topics
    }
}
