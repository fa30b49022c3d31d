import AuthorityCore
import Sessions
import Testing

@Suite("Admission")
struct AdmissionTests {
    /// So many wait, so many are begun and done each second for `span`; then the level.
    private func steady(
        waiting: Int, rate: Int, for span: Duration = .seconds(4)
    ) -> LoadLevel {
        var admission = Admission()
        for _ in 0..<waiting { admission.began(at: .seconds(1)) }
        var now = Duration.seconds(1)
        let end = now + span
        while now < end {
            now += .seconds(1) / rate
            admission.ended(at: now)
            admission.began(at: now)
        }
        return admission.level(at: now)
    }

    @Test("is by how long the next would wait", arguments: [
        (100, 200, .light), (100, 150, .light), (100, 50, .heavy), (100, 20, .severe),
        (100, 10, .drowning), (2000, 1000, .heavy), (20_000, 1000, .drowning),
        (31, 1, .light), (32, 1, .drowning),
    ] as [(Int, Int, LoadLevel)])
    func level(waiting: Int, rate: Int, level: LoadLevel) {
        #expect(steady(waiting: waiting, rate: rate) == level)
    }

    @Test("counts a standstill by how long it lasts", arguments: [
        (900, .light), (1000, .heavy), (3999, .heavy), (4000, .severe), (8000, .drowning),
    ] as [(Int, LoadLevel)])
    func standstill(milliseconds: Int, level: LoadLevel) {
        var admission = Admission()
        for _ in 0..<100 { admission.began(at: .seconds(50)) }
        #expect(admission.level(at: .seconds(50) + .milliseconds(milliseconds)) == level)
    }

    @Test("is light again once what waited is done, and a pause is no standstill")
    func recovers() {
        var admission = Admission()
        for _ in 0..<100 { admission.began(at: .seconds(1)) }
        #expect(admission.level(at: .seconds(10)) == .drowning)
        for _ in 0..<100 { admission.ended(at: .seconds(10)) }
        #expect(admission.waiting == 0)
        for _ in 0..<100 { admission.began(at: .seconds(3600)) }
        #expect(admission.level(at: .seconds(3600)) == .light)
    }

    @Test("counts only what was taken")
    func withdrawn() {
        var admission = Admission()
        for _ in 0..<100 { admission.began(at: .seconds(1)) }
        for _ in 0..<1000 {
            admission.began(at: .seconds(6))
            admission.withdrew()
        }
        #expect(admission.waiting == 100)
        #expect(admission.level(at: .seconds(6)) == .severe)
    }

    @Test("does not mistake commits in groups for a standstill")
    func groups() {
        var admission = Admission()
        for _ in 0..<100 { admission.began(at: .zero) }
        for second in 1...6 {
            let now = Duration.seconds(second)
            for _ in 0..<100 { admission.ended(at: now) }
            for _ in 0..<100 { admission.began(at: now) }
            #expect(admission.level(at: now) <= .heavy)
        }
    }
}
