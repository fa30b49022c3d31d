import Gate
import Sessions

/// What is known of the queue while the process lives, beside what the file says.
struct QueueMemory: Equatable {
    /// Writes that are still to be delivered.
    var messages: Int64 = 0
    /// Rows some of whose writes have left, by their keys.
    var marks: [Int64: RowMarks] = [:]
    /// For each rank of a makeRoom: up to which key no row has a write of it.
    var cursors: [Int64] = []
    /// The list of classes that the cursors are for.
    var ranking: [ClassName] = []
    /// Rows up to here are too old to have a time that can be believed: they do not expire.
    var exempt: Int64 = 0
    /// When the oldest write was accepted; nil when that is not known.
    var oldest: Timestamp?
}
