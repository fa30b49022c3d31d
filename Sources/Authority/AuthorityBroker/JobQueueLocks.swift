/// A lock for each line. Callers get it in the order in which they asked.
actor JobQueueLocks {
    private var lines: [String: [CheckedContinuation<Void, Never>]] = [:]

    var isEmpty: Bool { lines.isEmpty }

    func enter(_ line: String) async {
        guard lines[line] != nil else {
            lines[line] = []
            return
        }
        await withCheckedContinuation { lines[line]?.append($0) }
    }

    func leave(_ line: String) {
        guard var queue = lines[line], !queue.isEmpty else {
            lines[line] = nil
            return
        }
        let next = queue.removeFirst()
        lines[line] = queue
        next.resume()
    }
}
