import Sessions

/// The commands that a policy file lets people send to one app: `[app.NAME] commands = true`.
package struct CommandRules: Equatable, Sendable {
    /// The rate if the file gives none.
    package static let usualRate = Rate(1, per: .second)

    /// Nil: a command may be any JSON value. Else it is an object with only these members.
    package let fields: [String: FieldType]?
    package let rate: Rate
    let shape: FieldRules?

    package init(fields: [String: FieldType]? = nil, rate: Rate = usualRate) {
        self.fields = fields
        self.rate = rate
        shape = fields.map { FieldRules($0) }
    }
}

extension Gate {
    /// Decides about a command for an app, from its arguments alone. `content` is its JSON text.
    ///
    /// Commands are off unless the policy file allows them. A scope does not speak of them. The
    /// rate is checked after this.
    package func decide(command content: [UInt8], to app: AppName) -> Decision {
        guard let limit = apps[app] else { return .deny(Self.noCommands(.builtin(.command), app)) }
        guard let commands = limit.commands else {
            return .deny(Self.noCommands(.policyApp(app), app))
        }
        if let fault = commands.shape?.fault(in: content, of: .create) {
            return .deny(Rejection(fault, .policyApp(app)))
        }
        return .allow(.policyApp(app))
    }

    /// The rate that an allowed command to this app counts against.
    package func rates(ofCommandsTo app: AppName) -> AppliedRates {
        AppliedRates(
            app: apps[app]?.commands.map { .init(rule: .policyApp(app), rate: $0.rate) })
    }

    private static func noCommands(_ rule: RuleID, _ app: AppName) -> Rejection {
        Rejection(
            code: .forbidden, rule: rule, reason: "this board takes no commands for \(app); its "
                + "owner can allow them in policy.toml: commands = true under [app.\(app)]")
    }
}

extension AppLimit {
    /// The rate of its commands. Nil: it takes none.
    package var commandRate: Rate? { commands?.rate }
}
