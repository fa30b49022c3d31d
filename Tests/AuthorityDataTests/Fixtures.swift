import AuthorityCore
import AuthorityData
import Gate
import Sessions
import Wire

enum Given {
    static let ann = UserID("ann")!
    static let bob = UserID("bob")!
    static let board = board(1)
    static let reading = ClassName("Reading")!
    static let ownedSince = Timestamp(milliseconds: 1_700_000_000_000)
    static let start = Timestamp(milliseconds: 1_800_000_000_000)

    static func board(_ number: UInt8) -> InstallationID {
        InstallationID(random: Array(repeating: number, count: 16))
    }

    /// A record that came a tenth of a second after it was written, unless `wait` says otherwise.
    static func record(
        _ sequence: Int64, _ payload: String = #"{"celsius":21.5}"#,
        at span: Duration = .zero, board: InstallationID = board, class name: String = "Reading",
        wait: Duration = .milliseconds(100), owner: UserID = ann
    ) -> OwnedRecord {
        write(.create, nil, sequence, payload, at: span, board: board, class: name, wait: wait,
              owner: owner)
    }

    static func write(
        _ operation: Operation, _ id: String?, _ sequence: Int64, _ payload: String = "{}",
        at span: Duration = .zero, board: InstallationID = board, class name: String = "Reading",
        wait: Duration = .milliseconds(100), owner: UserID = ann
    ) -> OwnedRecord {
        let path = RecordPath(
            className: ClassName(name)!, operation: operation, record: id.flatMap { RecordID($0) })!
        return OwnedRecord(owner: owner, record: DataRecord(
            board: board, sequence: sequence, path: path, app: AppName("thermo")!,
            writtenAt: start + span, receivedAt: start + span + wait,
            payload: Array(payload.utf8)), since: ownedSince)
    }

    static func id(_ sequence: Int64, _ board: InstallationID = board) -> RecordID {
        RecordID(created: board, sequence: sequence)!
    }
}
