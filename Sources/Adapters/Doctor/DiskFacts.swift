import LinuxIO

/// Facts about the disk that holds a folder.
package struct DiskFacts: Equatable, Sendable {
    package var folder: String
    /// Free bytes; nil if the file system does not report them.
    package var available: Int64?
    /// Bytes that the program may need. Less free space is a warning.
    package var wanted: Int64
    package var isReadOnly = false
    /// The ext4 errors since the last file system check; nil for other file systems.
    package var errors: Int64?
    /// The used part of its life that a card or eMMC reports, in tenths: 1 to 11.
    package var lifeUsed: Int?
    /// The state of spare blocks that an eMMC reports: 1 normal, 2 warning, 3 urgent.
    package var spareState: Int?

    package init(folder: String, available: Int64?, wanted: Int64) {
        self.folder = folder
        self.available = available
        self.wanted = wanted
    }

    /// Reads the facts of the file system that holds `folder`, or its nearest existing parent.
    /// Changes nothing. `root` is the folder that contains `/proc` and `/sys`.
    package init(of folder: String, wanted: Int64, root: String = "") {
        let place = Self.nextParent(folder)
        self.init(
            folder: folder, available: FileSystemSpace(at: place)?.available, wanted: wanted)
        guard let device = BlockDevice(holding: place) else { return }
        read(device, root: root)
    }

    /// Source: proc_pid_mountinfo(5); the kernel's Documentation/ABI/testing/sysfs-fs-ext4 and
    /// Documentation/driver-api/mmc/mmc-dev-attrs.rst.
    mutating func read(_ device: BlockDevice, root: String) {
        let mounts = Self.text("\(root)/proc/self/mountinfo", limit: 1 << 20) ?? ""
        let number = "\(device.major):\(device.minor)"
        let mount = mounts.split(separator: "\n").map { $0.split(separator: " ") }
            .first { $0.count > 5 && $0[2] == number }
        if let mount {
            // The mount's own options are before the dash, the file system's after it.
            let system = mount.last ?? ""
            isReadOnly = [mount[5], system].contains { $0.split(separator: ",").first == "ro" }
        }
        guard device.major > 0 else { return }
        let block = "\(root)/sys/dev/block/\(number)"
        if let name = Self.text("\(block)/uevent")?.split(separator: "\n")
            .first(where: { $0.hasPrefix("DEVNAME=") })?.dropFirst(8)
        {
            errors = Self.text("\(root)/sys/fs/ext4/\(name)/errors_count").flatMap(Self.number)
        }
        // A partition's disk is one folder up.
        for disk in [block, "\(block)/.."] where lifeUsed == nil {
            let ages = (Self.text("\(disk)/device/life_time") ?? "").split { $0 == " " }
            lifeUsed = ages.compactMap(Self.hexadecimal).max()
            spareState = Self.text("\(disk)/device/pre_eol_info").flatMap { Self.hexadecimal($0) }
        }
    }

    private static func nextParent(_ folder: String) -> String {
        var path = folder
        while path.count > 1, !PrivateFile.isThere(path) {
            guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
            path = String(path[..<slash])
        }
        return path
    }

    /// Reads a kernel file without its line end. Nil if it cannot be read.
    private static func text(_ path: String, limit: Int = 4096) -> String? {
        guard PrivateFile.isThere(path), var file = try? InputFile(path),
            let bytes = try? file.read(first: limit)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.last == "\n" ? String(text.dropLast()) : text
    }

    private static func number(_ text: String) -> Int64? { Int64(text) }

    private static func hexadecimal(_ text: some StringProtocol) -> Int? {
        text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : nil
    }
}
