package import ArgumentParser
import AuthorityBroker
import AuthorityCore
import AuthorityService
import ConfigurationFiles
import Foundation
import LinuxIO
import Logging
import LogOutput
import MQTT
import Sessions

/// The program `postern-authority`.
package struct AuthorityProgram: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "postern-authority",
        abstract: "Manages users, boards and sessions: MQTT for boards, HTTP for people.",
        version: ServiceSettings.version,
        subcommands: [
            InitCommand.self, ServeCommand.self, UserCommand.self, KeysCommand.self,
            AuthorityDoctorCommand.self,
            TLSCommand.self,
            BackupCommand.self, RestoreCommand.self, MigrateCommand.self,
        ])

    @OptionGroup package var place: PlaceOptions

    package init() {}

    /// Parses the arguments, runs what they ask for and ends the process.
    package static func start() async {
        do {
            var command = try parseAsRoot()
            guard !(command is AuthorityProgram) else {
                say(helpMessage())
                throw Exit.usage
            }
            if var verb = command as? any AsyncParsableCommand {
                try await verb.run()
            } else {
                try command.run()
            }
            // Threads of the store, HTTP and the broker's client do not end by themselves.
            ProcessEnd.leave(0)
        } catch let code as ExitCode {
            // Its message was printed already.
            ProcessEnd.leave(code.rawValue)
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            say(fullMessage(for: error))
            exit(withError: Exit.usage)
        }
    }
}

/// The option for the configuration's folder, before or after the command's name.
package struct PlaceOptions: ParsableArguments {
    @Option(name: .customLong("config-dir"), help: "The folder with authority.toml.")
    package var configDirectory: String?

    package init() {}

    func folder(_ root: PlaceOptions) -> String {
        configDirectory ?? root.configDirectory ?? "/etc/postern"
    }

    /// Reads the configuration. On an error it prints the error on stderr and exits with 78, or
    /// with 77 if the file's owner, kind or permissions are wrong.
    func settings(_ root: PlaceOptions) throws -> ServiceSettings {
        let folder = folder(root)
        do {
            return try ServiceSettings.read(from: folder)
        } catch let error as FileFailure {
            say("\(error)")
            throw Exit.code(for: error) == Exit.permission ? Exit.permission : Exit.configuration
        } catch {
            say("\(error)")
            throw Exit.configuration
        }
    }
}

/// Prints a line for people on stderr.
func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

/// Runs a command's body. Prints an error and throws its exit code.
func run(_ body: () async throws -> Void) async throws {
    do {
        try ProcessHardening.apply()
        try await body()
    } catch {
        if !(error is ExitCode) { say(Exit.words(for: error)) }
        throw Exit.code(for: error)
    }
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Runs the authority until SIGTERM.")

    @ParentCommand var program: AuthorityProgram
    @OptionGroup var place: PlaceOptions
    @Flag(help: "For one start: trust the clock, whatever the latest time on record is.")
    var acceptClock = false
    @Flag(help: "For one start: use this file's settings for all authorities of the store.")
    var acceptSettings = false

    func run() async throws {
        let settings = try place.settings(program.place)
        let journal = LogWriter(
            settings.logFormat == .json ? .json(program: "postern-authority") : .text)
        LoggingSystem.bootstrap { _ in LogWriterHandler(journal) }
        let logger = Self.logger(settings.logLevel)
        try await AuthorityCommands.run {
            // This runs before the final error is printed.
            defer { journal.flush(atEnd: true) }
            // A thousand HTTP connections and the store's connections exceed the usual limit.
            // libdispatch ends a process that has no descriptor left.
            _ = try ProcessLimits.raiseDescriptorLimit()
            ProcessMemory.keepFreed(4 << 20)
            let lock = try StateFolder(settings).lock()
            let notifier = Notifier()
            notifier.pause(.seconds(600))
            let wait = StoreWait(settings: settings, notifier: notifier, logger: logger)
            let started = try await wait.open { [acceptClock, acceptSettings] store in
                try await SettingAgreement.reach(
                    settings.shared, in: store, changing: acceptSettings)
                let server = try await AuthorityServer(
                    settings: settings, acceptsClock: acceptClock, store: store, logger: logger)
                try await server.requireWayIn()
                return server
            }
            guard let started else { return }
            let (server, stop) = (started.server, started.stop ?? StopSignal())
            // The store is open. The rest of the start is short.
            notifier.resume()
            try await serve(server, settings, until: stop, notifier, journal, logger)
            await server.close()
            _ = consume lock
        }
    }

    private func serve(
        _ server: AuthorityServer, _ settings: ServiceSettings, until stop: StopSignal,
        _ notifier: Notifier, _ journal: LogWriter, _ logger: Logger
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.run { port in
                    if settings.logFormat == .json {
                        logger.info("ready")
                    } else {
                        say("ready")
                    }
                    logger.info("HTTP on port \(port)")
                    notifier.ready()
                }
            }
            group.addTask { await server.watch(notifier, journal) }
            group.addTask {
                await stop.wait()
                guard !Task.isCancelled else { return }
                notifier.stopping()
                // A second signal ends the process at once.
                stop.letSecondEnd()
                await server.leave()
                await pause(Self.lastRequests)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// The time limit for open requests after new ones are refused.
    private static let lastRequests = Duration.seconds(5)

    private static func logger(_ level: LogLevel) -> Logger {
        var logger = Logger(label: "postern-authority")
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .info
        return logger
    }
}
