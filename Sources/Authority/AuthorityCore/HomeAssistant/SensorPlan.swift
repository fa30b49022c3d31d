package import Gate
import Sessions
import Wire

/// A board with the sensors that are announced for it.
package struct AnnouncedBoard: Sendable {
    package let record: BoardRecord
    /// What the board's policy file names, by class and path.
    package let units: [ClassName: [String: FieldUnit]]
    /// Sorted. The broker may have discovery messages of these sensors, and of no others.
    package let announced: [SensorID]

    package init(
        record: BoardRecord, units: [ClassName: [String: FieldUnit]], announced: [SensorID]
    ) {
        (self.record, self.units, self.announced) = (record, units, announced)
    }
}

/// The sensors that a board should have.
///
/// A field whose newest value is a number gets a sensor, and keeps it while any value of the field
/// is kept. So neither a text in between nor the order of fields makes a sensor come and go.
package struct SensorPlan: Sendable {
    /// Sorted by id.
    package let sensors: [BoardSensor]
    /// Announced sensors whose field has no values any more.
    package let obsolete: [SensorID]
    /// How many of `sensors` are not announced yet.
    package let added: Int
    private let name: String

    /// `room` is how many sensors may be added.
    package init(_ board: AnnouncedBoard, _ values: [NewestValue], room: Int) {
        let announced = Set(board.announced)
        var known: [BoardSensor] = []
        var new: [BoardSensor] = []
        for value in values {
            guard let sensor = BoardSensor(
                board: board.record.installation, className: value.className,
                record: value.record, field: value.field,
                unit: board.units[value.className]?[value.field])
            else { continue }
            if announced.contains(sensor.id) {
                known.append(sensor)
            } else if case .number = value.value {
                new.append(sensor)
            }
        }
        known = Array(known.prefix(BoardSensor.limit))
        new = Array(new.prefix(max(0, min(room, BoardSensor.limit - known.count))))
        added = new.count
        sensors = (known + new).sorted { $0.id.description < $1.id.description }
        let wanted = Set(sensors.map(\.id))
        obsolete = board.announced.filter { !wanted.contains($0) }
        name = board.record.name
    }

    package var ids: [SensorID] { sensors.map(\.id) }

    /// The discovery messages by id.
    package func messages(by authority: AuthorityInfo) -> [(id: SensorID, payload: [UInt8])] {
        sensors.map { ($0.id, $0.configuration(named: name, by: authority).bytes) }
    }

    /// The same for equal messages, within one process.
    package var digest: Int {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(sensors)
        return hasher.finalize()
    }
}
