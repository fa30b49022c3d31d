import AgentCore
import Gate
import Sessions
import Testing
import Wire

@testable import AgentCommands
@testable import AgentService

@Suite("Queue in words")
struct QueueTextTests {
    private func answer(_ text: String) throws -> JSONObject {
        try JSONObject(parsing: Array(text.utf8))
    }

    @Test("says the size alone of a queue that nothing is to be said of")
    func empty() throws {
        let answer = try answer("""
            {"queue":{"messages":0,"bytes":0,"limit":268435456,"oldest":null,"hoursLeft":null},
             "dead":0,"losses":{"total":0,"causes":{},"classes":{},"ranges":[]},"hold":null}
            """)
        #expect(QueueText.lines(answer) == ["queue      0 messages, 0 bytes of 256.0 MiB (0 %)"])
        #expect(!QueueText.isDegraded(answer))
    }

    @Test("says how long it lasts, what is held and what was lost")
    func full() throws {
        let answer = try answer("""
            {"queue":{"messages":12,"bytes":134217728,"limit":268435456,"fileBytes":140000000,
             "writtenToday":20480000,"writtenPerDay":81920000,"writtenYesterday":4096,
             "oldest":1800000000,"oldestAge":7500,"hoursLeft":26.5,"bytesPerSecondIn":1500.4,
             "bytesPerSecondOut":0},"dead":3,
             "losses":{"total":12,"causes":{"full":9,"dead":3},"classes":{"Reading":9},
             "ranges":[[17,25],[30,30]]},"hold":"the broker does not let this board publish",
             "retryIn":75,"wear":30}
            """)
        #expect(QueueText.lines(answer) == [
            "queue      12 messages, 128.0 MiB of 256.0 MiB (50 %)",
            "file       133.5 MiB",
            "written    19.5 MiB today (UTC), at a rate of 78.1 MiB a day, 4096 bytes yesterday",
            "card       at most 30 % of its life used, as it reports",
            "oldest     2027-01-15 08:00 UTC, 2 h 5 min ago",
            "rate       1500 bytes a second in, 0 bytes a second out",
            "lasts      1 d 2 h at the present rate",
            "held       the broker does not let this board publish, next try in 1 min 15 s",
            "lost       12 accepted messages in total: 9 full, 3 dead; dropped by class: "
                + "9 Reading",
            "gaps       17-25, 30",
            "dead       3 messages that no broker accepts: see --dead",
        ])
        #expect(QueueText.isDegraded(answer))
    }

    @Test("shows dead letters as a table, and no control character of a topic")
    func deadLetters() throws {
        let answer = try answer("""
            {"deadLetters":[{"seq":42,"time":1800000000,"app":"thermo","class":"Reading",
             "topic":"a/\\u001b[2J","bytes":30000,"reason":"larger than the 20000 bytes"}]}
            """)
        #expect(DeadLetterTable.lines(answer) == [
            "SEQ  ACCEPTED (UTC)    APP     CLASS    BYTES  REASON                       TOPIC",
            "42   2027-01-15 08:00  thermo  Reading  30000  larger than the 20000 bytes  "
                + "a/\u{FFFD}[2J",
        ])
        #expect(try DeadLetterTable.lines(self.answer("{\"deadLetters\":[]}"))
            == ["no dead letters"])
        #expect(try DeadLetterTable.lines(self.answer("{\"deadLetters\":null}"))
            == ["the dead letters cannot be read"])
    }

    @Test("withstands what is no answer of an agent's", arguments: [
        "{}", "{\"queue\":7,\"losses\":[],\"dead\":\"x\"}",
        "{\"queue\":{\"bytes\":9223372036854775807,\"limit\":0,\"hoursLeft\":1e300}}",
        "{\"losses\":{\"ranges\":[[1],7,[1,2,3]],\"total\":-4}}", "{\"deadLetters\":[7,{}]}",
    ])
    func hostile(text: String) throws {
        let answer = try answer(text)
        _ = QueueText.lines(answer)
        _ = DeadLetterTable.lines(answer)
        _ = QueueText.isDegraded(answer)
    }

    @Test("is asked for over the control socket with a number of dead letters", arguments: [0, 20])
    func request(dead: Int64) throws {
        guard case .object(let members) = ControlRequest.queue(dead: dead).json else { return }
        #expect(try ControlRequest(json: JSONObject(members)) == .queue(dead: dead))
    }
}
