import Foundation
import LinuxIO
import Testing

@testable import Doctor

@Suite("Disk facts")
struct DiskFactsTests {
    /// A tree as `/proc` and `/sys` have it, for a card's second partition.
    private final class Tree {
        let root = FileManager.default.temporaryDirectory.appending(
            path: "disk-\(UUID().uuidString)")

        init(options: String, files: [String: String]) throws {
            let mount = "29 1 179:2 / / \(options) shared:1 - ext4 /dev/root rw,errors=remount-ro"
            var files = files
            files["proc/self/mountinfo"] = mount + "\n"
            for (path, text) in files {
                let place = root.appending(path: path)
                try FileManager.default.createDirectory(
                    at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: place)
            }
        }

        deinit { try? FileManager.default.removeItem(at: root) }

        var facts: DiskFacts {
            var facts = DiskFacts(folder: "/", available: 1 << 40, wanted: 0)
            facts.read(BlockDevice(major: 179, minor: 2), root: root.path)
            return facts
        }
    }

    private static let block = "sys/dev/block/179:2"
    private static let name = [
        "\(block)/uevent": "MAJOR=179\nDEVNAME=mmcblk0p2\nDEVTYPE=partition\n",
    ]

    @Test("reads what the kernel keeps of a card", arguments: [
        ("rw,noatime", [:], DiskFactsTests.Known()),
        ("ro,noatime", [:], .init(isReadOnly: true)),
        ("rw", ["sys/fs/ext4/mmcblk0p2/errors_count": "7\n"], .init(errors: 7)),
        ("rw", ["\(block)/device/life_time": "0x02 0x0a\n"], .init(life: 10)),
        ("rw", ["\(block)/device/life_time": "0x01 0x01\n",
                "\(block)/device/pre_eol_info": "0x02\n"], .init(life: 1, spare: 2)),
        ("rw", ["\(block)/device/life_time": "nonsense"], .init()),
    ])
    func card(options: String, files: [String: String], known: Known) throws {
        let facts = try Tree(
            options: options, files: files.merging(Self.name, uniquingKeysWith: { $1 })).facts
        #expect(facts.isReadOnly == known.isReadOnly)
        #expect(facts.errors == known.errors)
        #expect(facts.lifeUsed == known.life)
        #expect(facts.spareState == known.spare)
    }

    struct Known: Sendable {
        var isReadOnly = false
        var errors: Int64?
        var life: Int?
        var spare: Int?
    }

    @Test("finds the file system of a folder that is yet to be made")
    func parent() throws {
        let facts = DiskFacts(of: "/tmp/nobody-made/this/yet", wanted: 1)
        #expect(try #require(facts.available) > 0)
        #expect(BlockDevice(holding: "/nobody-made-this") == nil)
    }
}
