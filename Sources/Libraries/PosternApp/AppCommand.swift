import FoundationEssentials
import Gate
import MQTT
import Sessions
import Wire

/// A command that a person sent to the app.
///
/// Source: the wire contract, A command for an app.
struct AppCommand: Sendable {
    /// The longest answer, in bytes of JSON.
    private static let longestAnswer = 16 * 1024
    private static let longestWait: Duration = .seconds(86_400)

    let id: MessageID
    /// When an answer no longer counts.
    let until: ContinuousClock.Instant
    /// JSON.
    let content: [UInt8]

    /// Nil for a message that is no command.
    init?(_ message: IncomingMessage) {
        do throws(WireError) {
            let body = try JSONObject(parsing: message.payload)
            id = try body.parsed("id", MessageID.init)
            guard let content = body.members["command"] else { return nil }
            self.content = content.bytes
            // What the broker counts needs no clock. Each broker of an app has it.
            let left = message.properties.messageExpiry.map { Duration.seconds(Int64($0)) }
            until = .now + min(left ?? .zero, Self.longestWait)
        } catch {
            return nil
        }
    }

    /// The topic of all commands for an app.
    static func topic(_ app: AppName) -> String { "postern/app/\(app)/command" }

    /// Source: the wire contract, A command for an app.
    static func message(answering id: MessageID, _ answer: [UInt8], of app: AppName)
        -> OutgoingMessage
    {
        OutgoingMessage(topic: "postern/app/\(app)/answer/\(id)", payload: answer)
    }

    /// A handler of JSON from a handler of values. An error becomes `{"error": …}` with the name
    /// of its type: its text may hold what nobody may read upstream.
    static func handler<Content: Decodable & Sendable, Answer: Encodable & Sendable>(
        _ handle: @escaping @Sendable (Content) async throws -> Answer
    ) -> AppCommandHandler.Handler {
        { content in
            do {
                let value = try JSONDecoder().decode(Content.self, from: Data(content))
                let answer = try AppWrite.encode(try await handle(value))
                guard answer.count <= longestAnswer else {
                    throw AppError.invalid("an answer has at most 16 KiB as JSON")
                }
                return answer
            } catch {
                return JSONValue.object(["error": .string("\(type(of: error))")]).bytes
            }
        }
    }
}

/// Gives a handler one command after the other.
struct AppCommandHandler: Sendable {
    typealias Handler = @Sendable ([UInt8]) async -> [UInt8]

    /// The most commands that wait for the handler; more are not taken.
    private static let capacity = 64

    private let commands: AsyncStream<AppCommand>.Continuation
    private let work: Task<Void, Never>

    init(
        _ handle: @escaping Handler,
        answer: @escaping @Sendable (MessageID, [UInt8]) async -> Void
    ) {
        let (stream, commands) = AsyncStream.makeStream(
            of: AppCommand.self, bufferingPolicy: .bufferingOldest(Self.capacity))
        self.commands = commands
        work = Task {
            for await command in stream where ContinuousClock.now < command.until {
                await answer(command.id, await handle(command.content))
            }
        }
    }

    /// Returns false if too many wait.
    func take(_ command: AppCommand) -> Bool {
        if case .enqueued = commands.yield(command) { true } else { false }
    }

    /// Handles no further command.
    func close() {
        commands.finish()
        work.cancel()
    }
}
