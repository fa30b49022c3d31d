import CLinux
import Glibc

/// What this process holds of the machine's memory.
package enum ProcessMemory {
    /// Gives back what starting took and running does not need: pages of program text, which are
    /// read again when they are used, and freed memory of the heap.
    ///
    /// Only mappings that are executable, and so were never written, are given back. The
    /// corresponding C functions are `madvise` (`MADV_DONTNEED`) and `malloc_trim`; the form of
    /// the list of mappings is in proc_pid_maps(5).
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

    /// Keeps up to `count` bytes that were freed, in each of the heap's arenas, for what is
    /// allocated next, blocks of that size included. A program whose work comes and goes by the
    /// millisecond gives pages back and takes them again otherwise, and the kernel clears each.
    ///
    /// The corresponding C function is `mallopt` (`M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`).
    package static func keepFreed(_ count: Int32) {
        _ = mallopt(M_TRIM_THRESHOLD, count)
        // It would be raised as blocks are freed, but for the other, which stops that.
        _ = mallopt(M_MMAP_THRESHOLD, count)
    }

    /// The place of a mapping of a program's or library's text; nil for any other line.
    static func text(_ line: String) -> (start: UInt, count: Int)? {
        let fields = line.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count >= 6, fields[1] == "r-xp", fields[5].first == "/" else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1], let count = Int(exactly: ends[1] - ends[0])
        else { return nil }
        return (ends[0], count)
    }
}
