import AuthorityCore
import Sessions

extension MemoryTransaction {
    func append(_ entry: TimelineEntry, to board: InstallationID) {
        var entries = tables.timelines[board] ?? []
        if var last = entries.last, last.event == entry.event, last.session == entry.session {
            last.until = max(last.until, entry.until)
            last.count += entry.count
            last.detail = entry.detail
            entries[entries.count - 1] = last
        } else {
            entries.append(entry)
            entries.removeFirst(max(entries.count - TimelineRules.limit, 0))
        }
        tables.timelines[board] = entries
    }

    func forgetTimeline(of board: InstallationID, but session: ObjectID) {
        tables.timelines[board]?.removeAll { $0.session != session }
    }

    func timeline(of board: InstallationID) -> [TimelineEntry] {
        (tables.timelines[board] ?? []).reversed()
    }

    func newest(_ events: Set<TimelineEvent>, on board: InstallationID) -> TimelineEntry? {
        tables.timelines[board]?.last { events.contains($0.event) }
    }

    func touch(_ board: InstallationID) {
        tables.lastTouch += 1
        tables.touches.removeAll { $0.board == board }
        tables.touches.append(TouchedBoard(number: tables.lastTouch, board: board))
    }

    func touched(after number: Int64, limit: Int) -> [TouchedBoard] {
        Array(tables.touches.lazy.filter { $0.number > number }.prefix(limit))
    }

    func newestTouch() -> Int64 { tables.lastTouch }

    func setMayClaim(_ mayClaim: Bool, of user: UserID) {
        tables.users[user]?.mayClaim = mayClaim
    }

    func claim(ofSession session: ObjectID) -> ClaimRecord? {
        tables.claims.values.filter { $0.session == session }
            .max { $0.createdAt < $1.createdAt }
    }
}
