import Testing

@testable import LinuxIO

@Suite("Process memory")
struct ProcessMemoryTests {
    @Test("gives back program text alone, and no line of another form", arguments: [
        ("55d0c000-55d0f000 r-xp 00001000 08:01 42    /usr/bin/postern-agent", 0x55D0_C000, 0x3000),
        ("55d0c000-55d0f000 r--p 00001000 08:01 42    /usr/bin/postern-agent", nil, nil),
        ("55d0c000-55d0f000 rw-p 00001000 08:01 42    /usr/bin/postern-agent", nil, nil),
        ("55d0c000-55d0f000 rwxp 00001000 08:01 42    /usr/bin/postern-agent", nil, nil),
        ("7ffd1000-7ffd3000 r-xp 00000000 00:00 0     [vdso]", nil, nil),
        ("7ffd1000-7ffd3000 r-xp 00000000 00:00 0", nil, nil),
        ("7ffd3000-7ffd1000 r-xp 00000000 08:01 42    /lib/x.so", nil, nil),
        ("zz-7ffd1000 r-xp 00000000 08:01 42          /lib/x.so", nil, nil),
        ("", nil, nil),
    ] as [(String, UInt?, Int?)])
    func lines(line: String, start: UInt?, count: Int?) {
        let text = ProcessMemory.text(line)
        #expect(text?.start == start)
        #expect(text?.count == count)
    }

    @Test("is trimmed while the program runs on")
    func trimmed() {
        ProcessMemory.trim()
        #expect((0..<100).reduce(0, +) == 4950)
    }
}
