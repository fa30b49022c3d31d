import Testing

@testable import LinuxIO

@Suite("Service pulse")
struct ServicePulseTests {
    @Test("asks for no wake-up where nobody listens")
    func unheard() {
        var pulse = ServicePulse(isHeard: false, watchdog: .seconds(30))
        #expect(pulse.beat(at: .zero) { "up" } == [])
        #expect(pulse.nextDeadline == nil)
    }

    @Test("asks for none without a watchdog, once its status is told")
    func noWatchdog() {
        var pulse = ServicePulse(isHeard: true, watchdog: nil)
        #expect(pulse.beat(at: .zero) { "up" } == [.status("up")])
        #expect(pulse.nextDeadline == nil)
    }

    @Test("wakes an idle loop twice in each interval of the watchdog")
    func idle() {
        var pulse = ServicePulse(isHeard: true, watchdog: .seconds(30))
        #expect(pulse.beat(at: .zero) { "up" } == [.watchdog, .status("up")])
        var now = Duration.zero
        for _ in 1...10 {
            let next = pulse.nextDeadline
            #expect(next == now + .seconds(15))
            now = next ?? now
            #expect(pulse.beat(at: now) { "up" } == [.watchdog])
        }
    }

    @Test("says no more of its life in a busy loop than in an idle one")
    func busy() {
        var pulse = ServicePulse(isHeard: true, watchdog: .seconds(30))
        var words: [Notifier.Word] = []
        for index in 0..<60_000 {
            words += pulse.beat(at: .milliseconds(index)) { "up" }
        }
        #expect(words.count { $0 == .watchdog } == 4)
    }

    @Test("tells the status when it has changed, at most once a second")
    func status() {
        var pulse = ServicePulse(isHeard: true, watchdog: nil)
        var text = "1 waiting"
        _ = pulse.beat(at: .zero) { text }
        text = "2 waiting"
        #expect(pulse.beat(at: .milliseconds(400)) { text } == [])
        #expect(pulse.nextDeadline == .seconds(1))
        #expect(pulse.beat(at: .seconds(1)) { text } == [.status("2 waiting")])
        // The turn that its own deadline made asks for no further one.
        #expect(pulse.nextDeadline == nil)
        #expect(pulse.beat(at: .seconds(3)) { text } == [])
    }

    @Test("keeps a status to one line")
    func line() {
        #expect(Notifier.Word.status("a\nREADY=1\r\nb").line == "STATUS=a READY=1 b")
    }
}
