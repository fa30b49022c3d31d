import ArgumentParser

/// `postern-agent policy`: checks and tests the rules of this board.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Check and test what this board's apps may write.",
        discussion: """
            These commands send no message, and only accept-none changes what is in force. \
            --policy uses a draft instead of the policy.toml that is in force; the routes are \
            those of agent.toml.
            """,
        subcommands: [
            PolicyCheckCommand.self, PolicyExplainCommand.self, PolicyTestCommand.self,
            PolicySimulateCommand.self, PolicyAcceptNoneCommand.self,
        ])
}

/// The options that name the rules to use.
struct PolicySource: ParsableArguments {
    @Option(help: ArgumentHelp(
        "Use this policy file, not the one in the folder.", valueName: "file"))
    var policy: String?

    @Option(help: ArgumentHelp("A session's scope as JSON, to apply as well.", valueName: "file"))
    var scope: String?
}
