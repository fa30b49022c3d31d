import CLinux
import Glibc

/// Controls how much memory this process keeps.
package enum ProcessMemory {
    /// Gives memory back to the kernel after the start: freed heap memory and pages of program
    /// text. The kernel reads those pages again when they are used.
    ///
    /// Only executable mappings are given back, because they were never written. The corresponding
    /// C functions are `madvise` (`MADV_DONTNEED`) and `malloc_trim`. proc_pid_maps(5) describes
    /// the list of mappings.
    package static func trim() {
        _ = malloc_trim(0)
        guard var maps = try? InputFile("/proc/self/maps") else { return }
        var texts: [(start: UInt, count: Int)] = []
        while let line = try? maps.nextLine(limit: 4096) {
            if let text = text(String(decoding: line.bytes, as: UTF8.self)) { texts.append(text) }
        }
        for text in texts {
            _ = unsafe madvise(
                UnsafeMutableRawPointer(bitPattern: text.start), text.count, MADV_DONTNEED)
        }
    }

    /// Keeps up to `count` freed bytes in each heap arena for the next allocations, including
    /// blocks of that size. Otherwise a program whose work comes in short bursts returns pages and
    /// takes them again, and the kernel clears each of them.
    ///
    /// The corresponding C function is `mallopt` (`M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`).
    package static func keepFreed(_ count: Int32) {
        _ = mallopt(M_TRIM_THRESHOLD, count)
        // Setting the first threshold stops glibc from raising this one by itself.
        _ = mallopt(M_MMAP_THRESHOLD, count)
    }

    /// The address and size of a mapping of program or library text. Nil for any other line.
    static func text(_ line: String) -> (start: UInt, count: Int)? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count >= 6, fields[1] == "r-xp", fields[5].first == "/" else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1], let count = Int(exactly: ends[1] - ends[0])
        else { return nil }
        return (ends[0], count)
    }
}
