import Gate
import Sessions
import Testing

@testable import AuthorityCore

@Suite("Plan of a board's sensors")
struct SensorPlanTests {
    private static let now = Timestamp(milliseconds: 1_000_000)

    private func value(
        _ field: String, _ value: NewestValue.Value = .number(1)
    ) throws -> NewestValue {
        NewestValue(
            className: try #require(ClassName("Reading")), record: nil, field: field,
            value: value, writtenAt: Self.now, receivedAt: Self.now)
    }

    private func plan(
        _ values: [NewestValue], announced: [String] = [], room: Int = 1000, name: String = "b",
        unit: String? = nil
    ) throws -> SensorPlan {
        let record = BoardRecord(
            installation: BoardSensorTests.board, name: name, deviceKey: [],
            owner: try #require(UserID("bob")), released: false, lastSeen: nil)
        var units: [ClassName: [String: FieldUnit]] = [:]
        if let unit {
            units[try #require(ClassName("Reading"))] = ["a": try #require(FieldUnit(unit))]
        }
        return SensorPlan(
            AnnouncedBoard(
                record: record, units: units,
                announced: try announced.map { try #require(SensorID("Reading-\($0)")) }),
            values, room: room)
    }

    private func fields(_ ids: [SensorID]) -> [String] {
        ids.map { String($0.description.dropFirst("Reading-".count)) }
    }

    @Test("has the fields whose newest value is a number, in order of their ids")
    func numbers() throws {
        let plan = try plan([value("b"), value("a"), value("t", .text("7")), value("x y")])
        #expect(fields(plan.ids) == ["a", "b"])
        #expect(plan.obsolete.isEmpty && plan.added == 2)
    }

    @Test("keeps a sensor through a text, and drops it with its field's last value")
    func kept() throws {
        let plan = try plan(
            [value("b", .text("none")), value("c")], announced: ["a", "b"])
        #expect(fields(plan.ids) == ["b", "c"])
        #expect(fields(plan.obsolete) == ["a"] && plan.added == 1)
    }

    @Test("has a bounded number of sensors, and prefers those that exist")
    func bounded() throws {
        let many = try (100..<300).map { try value("f\($0)") }
        let first = try plan(many)
        #expect(first.sensors.count == BoardSensor.limit && first.added == BoardSensor.limit)
        // The newest fields are other ones now.
        let next = try plan(many.reversed(), announced: fields(first.ids))
        #expect(next.ids == first.ids && next.obsolete.isEmpty && next.added == 0)
        #expect(try plan(many, room: 3).sensors.count == 3)
        #expect(try plan(many, room: -1).sensors.isEmpty)
        let full = try plan(many, announced: ["f299"], room: 0)
        #expect(fields(full.ids) == ["f299"] && full.obsolete.isEmpty)
    }

    @Test("has another digest if a message differs, and only then")
    func digest() throws {
        let values = try [value("a"), value("b")]
        let first = try plan(values).digest
        #expect(try plan(values.reversed()).digest == first)
        #expect(try plan([value("a", .number(2)), value("b")]).digest == first)
        #expect(try plan(values, name: "c").digest != first)
        #expect(try plan(values, unit: "lx").digest != first)
        #expect(try plan([value("a")]).digest != first)
    }
}
