import LinuxIO
import Sessions
import Wire

/// The name of the file of a prepared claim: the name of the board, and `.claim`.
struct ClaimFileName: CustomStringConvertible {
    /// Longer names do not fit a file system.
    private static let limit = 200
    let description: String

    /// Nil for a name that leads out of the folder, is hidden in it, or moves a terminal's cursor.
    init?(_ name: String) {
        guard (1...Self.limit).contains(name.utf8.count), !name.contains("/"),
            !name.hasPrefix("."), Printable.line(name) == name
        else { return nil }
        description = name + ".claim"
    }
}

/// A prepared claim as the authority makes it: with its file, which is shown only then.
struct MadeClaim {
    let row: PreparedClaimRow
    let fileName: ClaimFileName
    let file: PreparedClaimFile

    init(json: JSONObject) throws(WireError) {
        row = try PreparedClaimRow(json: json)
        guard let fileName = ClaimFileName(row.name) else { throw .mistyped("name") }
        self.fileName = fileName
        file = try PreparedClaimFile(
            parsing: JSONValue.object(try json.object("file").members).bytes)
        guard file.id == row.id else { throw .mistyped("file") }
    }

    /// The claim without its secret, and the path of its file.
    func json(path: String) -> JSONValue {
        .object((row.json.asObject ?? [:]).merging(["file": .string(path)]) { $1 })
    }
}

/// The folder that gets the files of prepared claims. Only this user may enter it.
struct ClaimFolder {
    private let path: String

    /// Makes the folder if it is missing.
    init(_ path: String) throws(CommandFailure) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        do throws(FileFailure) {
            try PrivateFolder.prepare(path)
        } catch {
            throw .configuration(error.description)
        }
        self.path = path
    }

    /// Throws if one of the files exists, before any claim is made.
    func check(_ names: [String]) throws(CommandFailure) {
        for file in names.compactMap(ClaimFileName.init).map(place)
        where PrivateFile.isThere(file) {
            throw .usage("\(file) exists; give another --out or --name")
        }
    }

    /// Writes the file of a claim, durably and with mode 0600. It replaces no file.
    func write(_ claim: MadeClaim) throws(CommandFailure) -> String {
        let file = place(claim.fileName)
        do throws(FileFailure) {
            try NewPrivateFile(file).write(claim.file.reveal())
            try PrivateFolder.syncNames(in: path)
        } catch {
            throw .failed(layer: "file", text: error.description)
        }
        return file
    }

    private func place(_ name: ClaimFileName) -> String { "\(path)/\(name)" }
}
