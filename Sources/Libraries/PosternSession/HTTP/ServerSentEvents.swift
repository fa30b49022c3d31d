import Foundation

/// One event of a stream.
struct ServerSentEvent: Equatable, Sendable {
    let name: String
    let data: Data
}

/// Reads server-sent events from bytes as they arrive. Ids and retry times count for nothing here.
///
/// Source: WHATWG HTML Living Standard §9.2.6.
struct ServerSentEvents {
    /// The most bytes of one event.
    static let limit = 1 << 20

    private var line = Data()
    private var name = ""
    private var data = Data()
    private var hasData = false
    private var endedWithReturn = false

    /// The events that end within these bytes. Throws if one is larger than the limit.
    mutating func take(_ bytes: Data) throws(SessionError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            // A line ends with LF, CR, or CR and LF.
            let isSecondHalf = byte == 0x0a && endedWithReturn
            endedWithReturn = byte == 0x0d
            if isSecondHalf { continue }
            guard byte == 0x0a || byte == 0x0d else {
                line.append(byte)
                guard line.count + data.count <= Self.limit else {
                    throw .malformedAnswer("an event has more than \(Self.limit) bytes")
                }
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line = Data() }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: 0x3a) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == 0x20 { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(0x0a) }
            data.append(contentsOf: value)
            hasData = true
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> ServerSentEvent? {
        defer {
            name = ""
            data = Data()
            hasData = false
        }
        return hasData ? ServerSentEvent(name: name.isEmpty ? "message" : name, data: data) : nil
    }
}
