import AuthorityCore
import AuthorityStore

/// Which of several authorities is at a line of chores.
struct LineHolds: Sendable {
    /// Nil: nobody else is there.
    var store: (any ServiceStore)?

    /// How long whoever waits for a line's end waits for another authority to do it.
    static let patience = Duration.seconds(15)
    /// A line that nobody waits for is looked at again within seconds anyway; this covers the
    /// moment between another's last look and its leave.
    static let nudgePatience = Duration.seconds(1)

    func take(_ line: String) async throws(AuthorityError) -> (any StoreHold)? {
        guard let store else { return FreeHold() }
        return try await store.hold("line \(line)")
    }

    static let busy = AuthorityError.failed(layer: "store", text: busyText)
    private static let busyText = "another authority is at this line"
    static func isBusy(_ error: AuthorityError) -> Bool {
        if case .failed(layer: "store", text: busyText) = error { true } else { false }
    }
    static let lost = AuthorityError.failed(
        layer: "store", text: "the hold on this line is lost; it is another's now")

    private struct FreeHold: StoreHold {
        let isHeld = true
        func release() async {}
    }
}
