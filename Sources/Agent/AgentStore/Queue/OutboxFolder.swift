import LinuxIO

/// The folder `outbox` in the state folder, and its file names.
///
/// `GENERATION-NUMBER.log` is a segment. `NAME.new` is a file that is being written. `spare` is
/// an old segment file for reuse. `dead-GENERATION.log` contains the dead letters. `head` records
/// which writes have left. `damaged-GENERATION-NUMBER.log` is a segment that was set aside.
struct OutboxFolder {
    let path: String
    private static let suffix = ".log"
    private static let damaged = "damaged-"

    init(in stateFolder: String) { path = stateFolder + "/outbox" }

    func segment(_ id: SegmentID) -> String { "\(path)/\(id.text)\(Self.suffix)" }
    func damaged(_ id: SegmentID) -> String { "\(path)/\(Self.damaged)\(id.text)\(Self.suffix)" }
    func dead(_ generation: Int64) -> String { "\(path)/dead-\(generation)\(Self.suffix)" }
    var spare: String { path + "/spare" }
    var head: String { path + "/head" }
    var isThere: Bool { PrivateFile.isThere(path) }

    /// The files in the folder.
    struct Contents {
        var segments: [SegmentID] = []
        var damaged: [SegmentID] = []
        /// Names of files from another generation or from an unfinished change.
        var leftovers: [String] = []
    }

    /// The files of this generation. Empty if there is no folder.
    func contents(of generation: Int64) throws(StoreError) -> Contents {
        var found = Contents()
        let names: [String]
        do throws(FileFailure) {
            try PrivateFolder.check(path)
            names = try PrivateFolder.names(in: path)
        } catch .missing {
            return found
        } catch {
            throw StoreError(error)
        }
        for name in names where name != "head" && name != "spare" {
            let bare = name.hasSuffix(Self.suffix) ? name.dropLast(Self.suffix.count) : ""
            if let id = SegmentID(bare), id.generation == generation {
                found.segments.append(id)
            } else if bare.hasPrefix(Self.damaged),
                let id = SegmentID(bare.dropFirst(Self.damaged.count)),
                id.generation == generation
            {
                found.damaged.append(id)
            } else if name != "dead-\(generation)\(Self.suffix)" {
                found.leftovers.append(name)
            }
        }
        found.segments.sort()
        found.damaged.sort()
        return found
    }

    func prepare() throws(StoreError) {
        try onFile { () throws(FileFailure) in try PrivateFolder.prepare(path) }
    }

    /// Syncs the folder, so that its file names survive a power cut.
    func sync() throws(StoreError) {
        try onFile { () throws(FileFailure) in try PrivateFolder.syncNames(in: path) }
    }

    func onFile<T: ~Copyable>(
        _ body: () throws(FileFailure) -> T
    ) throws(StoreError) -> T {
        do throws(FileFailure) {
            return try body()
        } catch {
            throw StoreError(error)
        }
    }
}
