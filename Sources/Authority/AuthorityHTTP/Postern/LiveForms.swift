import AuthorityCore
import Gate
import Sessions
import Wire

// Live data and the timeline as JSON. A member whose name ends in `Ms` is in milliseconds since the
// epoch.

extension JSONValue {
    static func milliseconds(_ time: Timestamp) -> JSONValue { .integer(time.milliseconds) }

    static func optionalMilliseconds(_ time: Timestamp?) -> JSONValue {
        time.map(JSONValue.milliseconds) ?? .null
    }

    static func optionalCount(_ count: Int?) -> JSONValue {
        count.map { .integer(Int64($0)) } ?? .null
    }
}

extension TimelineEntry {
    var form: [String: JSONValue] {
        [
            "at": .time(at), "until": .time(until), "event": .string(event.rawValue),
            "count": .integer(count), "sessionId": .optional(session),
            "detail": .string(detail),
        ]
    }
}

extension MinuteCounts {
    var form: JSONValue {
        .object([
            "startMs": .milliseconds(start),
            "messages": .array(messages.map { .integer(Int64($0)) }),
            "refused": .array(refused.map(JSONValue.optionalCount)),
            "queue": .array(queue.map(JSONValue.optionalCount)),
        ])
    }
}

extension BoardLive {
    func form(of board: InstallationID) -> [String: JSONValue] {
        [
            "installationId": .string(board.description),
            "lastDataMs": .optionalMilliseconds(lastData), "minutes": minutes?.form ?? .null,
            "arrival": arrival?.form ?? .null,
        ]
    }
}

extension RunningMinute {
    var form: [String: JSONValue] {
        [
            "installationId": .string(board.description), "startMs": .milliseconds(start),
            "messages": .integer(Int64(messages)), "refused": .optionalCount(refused),
            "queue": .optionalCount(queue), "arrival": arrival?.form ?? .null,
        ]
    }
}

extension Arrival {
    /// `missing` counts the newest sequence numbers that the broker has and that did not arrive
    /// here.
    var form: JSONValue {
        .object([
            "sent": .integer(sent), "arrived": arrived.map(JSONValue.integer) ?? .null,
            "missing": .integer(missing), "toldMs": .milliseconds(toldAt),
        ])
    }
}

extension Reading {
    var form: [String: JSONValue] {
        [
            "installationId": .string(board.description),
            "class": .string(className.description), "op": .string(operation.rawValue),
            "objectId": .optional(record), "atMs": .milliseconds(at),
            "writtenMs": .milliseconds(writtenAt),
            "seq": sequence.map(JSONValue.integer) ?? .null,
            "values": .object(values.mapValues(JSONValue.number)),
            "texts": .object(texts.mapValues(JSONValue.string)),
            "text": text.map(JSONValue.string) ?? .null,
        ]
    }
}

extension NewestValue {
    /// The value is `number` or `text`. `late`: it waited on the board. `objectId` separates the
    /// updates of different objects.
    var form: [String: JSONValue] {
        let (name, value): (String, JSONValue) = switch value {
        case .number(let number): ("number", .number(number))
        case .text(let text): ("text", .string(text))
        }
        return [
            "class": .string(className.description), "objectId": .optional(record),
            "field": .string(field), name: value, "writtenMs": .milliseconds(writtenAt),
            "receivedMs": .milliseconds(receivedAt),
            "late": .bool(receivedAt - writtenAt > DataRecord.lateAfter),
        ]
    }
}
