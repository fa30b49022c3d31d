import Glibc
import LinuxIO
import MQTT
import Testing
import Wire

@Suite("A write that meets the end")
struct WriteEndTests {
    @Test("is told of without a poll, which sees no socket any more")
    func told() throws {
        let (listener, port) = try Loopback.listener()
        defer { close(listener) }
        var options = ConnectOptions(
            uri: try BrokerURI("mqtt://127.0.0.1:\(port)"), clientID: "test")
        options.keepAlive = 0
        var connection = try Connection(options)
        try connection.connect()
        let peer = accept(listener, nil, nil)
        // A close with nothing to wait for sends RST.
        var option = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<linger>.size)
        unsafe setsockopt(peer, SOL_SOCKET, SO_LINGER, &option, size)
        close(peer)
        try connection.write()
        let (descriptor, isWaiting) = (connection.descriptor, connection.hasBufferedInput)
        #expect(descriptor == nil && isWaiting)
        try connection.read(atMost: 1)
        let events = connection.takeEvents()
        #expect(events.count == 1 && events.first?.failure != nil)
        let isStillWaiting = connection.hasBufferedInput
        #expect(!isStillWaiting)
    }
}
