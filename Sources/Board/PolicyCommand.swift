import ArgumentParser

/// `postern-agent policy`: the rules of this board, looked at and tried out.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "What this board's programs may write.",
        discussion: """
            Nothing here changes a rule or sends a message. --policy judges a draft in place of \
            the policy.toml that is in force; the routes are those of agent.toml.
            """,
        subcommands: [
            PolicyCheckCommand.self, PolicyExplainCommand.self, PolicyTestCommand.self,
            PolicySimulateCommand.self,
        ])
}

/// Which rules are judged.
struct PolicySource: ParsableArguments {
    @Option(help: ArgumentHelp(
        "Judge this policy file, not the one in the folder.", valueName: "file"))
    var policy: String?

    @Option(help: ArgumentHelp("A session's scope as JSON, judged as well.", valueName: "file"))
    var scope: String?
}
