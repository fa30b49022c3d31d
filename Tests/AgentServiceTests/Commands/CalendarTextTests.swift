import Sessions
import Testing

@testable import AgentCommands
@testable import AgentService

@Suite("Calendar text")
struct CalendarTextTests {
    @Test("is the date and minute in UTC", arguments: [
        (0, "1970-01-01 00:00"), (59, "1970-01-01 00:00"), (60, "1970-01-01 00:01"),
        (86_399, "1970-01-01 23:59"), (951_782_400, "2000-02-29 00:00"),
        (951_868_799, "2000-02-29 23:59"), (951_868_800, "2000-03-01 00:00"),
        (1_709_164_800, "2024-02-29 00:00"), (1_735_689_599, "2024-12-31 23:59"),
        (1_735_689_600, "2025-01-01 00:00"), (1_763_696_400, "2025-11-21 03:40"),
        (4_107_542_400, "2100-03-01 00:00"), (253_402_300_799, "9999-12-31 23:59"),
    ] as [(Int64, String)])
    func dates(seconds: Int64, text: String) throws {
        #expect(CalendarText.utc(try #require(Timestamp(seconds: seconds))) == text)
    }
}
