import HTTPClient
import Sessions
import Wire

/// Reads the pages of a long answer. A failure that may pass costs a wait, and not the pages that
/// came before it.
///
/// Such failures are an answer of 429 or 503, and a lost connection once a page has come.
struct PageReading {
    let client: AuthorityClient
    let surroundings: CommandEnvironment
    private var hasRead = false

    /// The waits before each new try of one page, where the answer names none.
    private static let waits = [1, 2, 4, 8, 16].map { Duration.seconds($0) }
    /// An answer that asks for more is a failure.
    private static let longestWait = Duration.seconds(60)

    init(_ client: AuthorityClient, _ surroundings: CommandEnvironment) {
        (self.client, self.surroundings) = (client, surroundings)
    }

    mutating func page(_ path: String) async throws(CommandFailure) -> JSONObject {
        var waits = Self.waits[...]
        while true {
            var answer: HTTPAnswer?
            do throws(CommandFailure) {
                let found = try await client.answer(.get, path)
                answer = found
                let page = try AuthorityClient.read(found)
                hasRead = true
                return page
            } catch {
                guard let usual = waits.popFirst(),
                    let wait = wait(after: error, answer, usual: usual)
                else { throw error }
                surroundings.draw?(CommandEnvironment.blankLine)
                surroundings.note(
                    "waiting \(wait.components.seconds) s, then reading on: \(error.sentence)")
                await surroundings.pause(wait)
            }
        }
    }

    /// Nil if another try is of no use.
    private func wait(
        after failure: CommandFailure, _ answer: HTTPAnswer?, usual: Duration
    ) -> Duration? {
        guard let answer else {
            if case .offline = failure, hasRead { return usual }
            return nil
        }
        guard [429, 503].contains(answer.status) else { return nil }
        guard let text = answer.header("Retry-After"), let seconds = UInt32(text) else {
            return usual
        }
        let wait = Duration.seconds(Int64(seconds))
        return wait <= Self.longestWait ? wait : nil
    }
}
