package import Gate
import LinuxIO
package import Sessions

/// Reads every frame of a queue and changes nothing. It may run while an agent writes to the
/// queue.
package struct QueueCheck {
    /// The most findings that are named.
    private static let limit = 100

    private let folder: OutboxFolder
    private let key: SecretBytes
    private let generation: Int64
    /// The number of frames read, and of writes in them.
    package private(set) var frames: Int64 = 0
    package private(set) var writes: Int64 = 0
    /// The names of segments, with the sequence numbers that cannot be read.
    package private(set) var findings: [String] = []
    /// The highest sequence number so far.
    private var last: Int64 = 0
    /// The segment whose end is not proven, and the number up to which nothing is missing there.
    private var openEnd: (id: SegmentID, known: Int64)?

    /// Throws if the vault of this state folder cannot be opened.
    package init(folder: String, keyFile: KeyFile) throws(StoreError) {
        let opened = try VaultCreation(folder: folder, file: VaultFile(in: folder)).look(keyFile)
        self.init(OutboxFolder(in: folder), opened.queue)
    }

    init(_ folder: OutboxFolder, _ control: QueueControl) {
        self.folder = folder
        key = control.key
        generation = control.generation
    }

    /// Checks everything. A segment that is removed meanwhile is no finding.
    package mutating func run(_ progress: (String) -> Void = { _ in }) throws(StoreError) {
        let contents = try folder.contents(of: generation)
        for id in contents.segments {
            progress(id.text)
            let before = findings.count
            do throws(StoreError) {
                try check(id, isLast: id == contents.segments.last)
            } catch .unavailable(.inputOutput(let what)) {
                find("segment \(id.text): \(what)")
            }
            // The file may have been reused for another segment meanwhile.
            if !PrivateFile.isThere(folder.segment(id)) {
                findings.removeLast(findings.count - before)
                openEnd = nil
            }
        }
        try checkLetters()
        for id in contents.damaged { find("segment \(id.text) was set aside") }
    }

    private mutating func checkLetters() throws(StoreError) {
        let path = folder.dead(generation)
        guard PrivateFile.isThere(path) else { return }
        let reader = try SegmentReader(path, DeadLetterFile.id(generation), key)
        var cursor = FrameCursor(reader, .letter, from: 0, to: nil, after: -1, isRising: false)
        while true {
            switch try cursor.next() {
            case .end: return
            case .frame: continue
            case .damage(let place):
                guard try reader.open(.letter, at: place.lowerBound) == nil else { continue }
                // The number in the header is not proven, but no better one exists.
                let header = try reader.header(at: place.lowerBound)
                find(header.map { "dead letter \($0.first)" } ?? "a dead letter")
            }
        }
    }

    private mutating func check(_ id: SegmentID, isLast: Bool) throws(StoreError) {
        let reader = try SegmentReader(folder.segment(id), id, key)
        var opening = try reader.open(.opening, at: 0)
        let summary = isLast ? nil : try reader.summarized()
        var isBegun = opening != nil || summary != nil
        if !isBegun {
            isBegun = try reader.find(.batch, from: 0, to: reader.size, after: last) != nil
        }
        // The agent may have written the first frame since.
        if opening == nil, isBegun { opening = try reader.open(.opening, at: 0) }
        let said = opening.flatMap { SegmentOpening($0.plaintext) }
        checkEnd(before: id, said?.marks.last ?? 0)
        if summary == nil { openEnd = (id, said?.end ?? 0) }
        guard isBegun else { return }
        if opening == nil { find("segment \(id.text): its first frame") }
        var cursor = FrameCursor(
            reader, from: opening?.header.byteCount ?? 0, to: summary?.end)
        while true {
            let before = max(last, cursor.last)
            switch try cursor.next() {
            case .end: return last = max(last, summary?.last ?? 0)
            case .frame(let header, let plaintext, _):
                met(header)
                if var batch = BatchReader(plaintext, header), batch.tail() == nil {
                    find("segment \(id.text): sequences \(header.first) to \(header.last)")
                }
            case .damage(let place):
                guard try reader.open(.batch, at: place.lowerBound) == nil else {
                    // The agent wrote this frame while the next one was searched.
                    cursor = FrameCursor(
                        reader, from: place.lowerBound, to: summary?.end, after: before)
                    continue
                }
                var end = summary?.last ?? before
                if case .frame(let header, _, _) = try cursor.next() {
                    end = header.first - 1
                    met(header)
                }
                find(id, before + 1, end)
            }
        }
    }

    private mutating func met(_ header: FrameHeader) {
        frames += 1
        writes += header.count
        last = max(last, header.last)
    }

    /// Same check as `Queue.noteCutEnd`.
    private mutating func checkEnd(before id: SegmentID, _ given: Int64) {
        guard let end = openEnd.take(), end.id.number + 1 == id.number else { return }
        find(end.id, max(last, end.known) + 1, given)
    }

    private mutating func find(_ id: SegmentID, _ first: Int64, _ last: Int64) {
        if first <= last { find("segment \(id.text): sequences \(first) to \(last)") }
    }

    private mutating func find(_ text: String) {
        if findings.count < Self.limit { findings.append(text) }
    }
}

/// Exports the readable writes of a segment that was set aside.
package struct QueueExport {
    private let folder: OutboxFolder
    private let control: QueueControl
    /// The names of the segments that were set aside.
    package let segments: [String]

    /// Throws if the vault of this state folder cannot be opened.
    package init(folder: String, keyFile: KeyFile) throws(StoreError) {
        control = try VaultCreation(folder: folder, file: VaultFile(in: folder)).look(keyFile).queue
        self.folder = OutboxFolder(in: folder)
        segments = try self.folder.contents(of: control.generation).damaged.map(\.text)
    }

    /// Passes each write of a segment that was set aside to `body`, in order. False if no such
    /// segment exists.
    package func run(_ name: String, _ body: (AcceptedWrite) -> Void) throws(StoreError) -> Bool {
        guard segments.contains(name), let id = SegmentID(name[...]) else { return false }
        let reader = try SegmentReader(folder.damaged(id), id, control.key)
        let begin = try reader.open(.opening, at: 0)?.header.byteCount ?? 0
        var cursor = FrameCursor(reader, from: begin, to: nil)
        while true {
            switch try cursor.next() {
            case .end: return true
            case .damage: continue
            case .frame(let header, let plaintext, _):
                guard var batch = BatchReader(plaintext, header) else { continue }
                while let item = batch.next() { body(batch.write(item)) }
            }
        }
    }
}

extension BoardStore {
    /// Returns the names of the queue's parts that cannot be read. Empty: the queue is undamaged.
    /// Changes nothing.
    package func verify() throws(StoreError) -> [String] {
        var check = QueueCheck(queue.folder, vault.content.queue)
        try check.run()
        return check.findings
    }

    /// The bytes of a record in the vault.
    package func secret(_ record: VaultRecord) -> SecretBytes? { vault.content.records[record] }
}
