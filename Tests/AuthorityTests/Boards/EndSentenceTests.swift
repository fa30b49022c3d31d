import Sessions
import Testing

@testable import AuthorityCommands

@Suite("What init says of a session's end")
struct EndSentenceTests {
    @Test("names each limit of the preset", arguments: [
        (LifetimePolicy.device, "a board's session ends 1 year after the board was last heard; "),
        (.consumer, "ends 30 days after it was made, or 5 days after the board was last heard; "),
        (.longLived, "ends 180 days after it was made; "),
        (LifetimePolicy(access: .seconds(60), absolute: nil, idle: nil),
            "a board's session ends only when somebody ends it"),
    ])
    func sentence(lifetimes: LifetimePolicy, words: String) {
        let said = InitCommand.whenSessionsEnd(lifetimes)
        #expect(said.contains(words), "\(said)")
    }
}
