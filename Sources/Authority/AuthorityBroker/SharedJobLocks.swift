import AuthorityCore
package import AuthorityStore

/// Locks a line of jobs, so that only one of several authorities works on it.
package struct SharedJobLocks: Sendable {
    /// Nil: there is no other authority.
    var store: (any ServiceStore)?

    package init(store: (any ServiceStore)? = nil) { self.store = store }

    /// The time that `settle` waits for another authority to release the lock.
    static let patience = Duration.seconds(15)
    /// The same for a woken line, which is tried again within seconds anyway. It covers the moment
    /// between another authority's last read and its release.
    static let wakePatience = Duration.seconds(1)

    func take(_ line: String) async throws(AuthorityError) -> (any StoreHold)? {
        guard let store else { return FreeHold() }
        return try await store.hold("line \(line)")
    }

    static let busy = AuthorityError.failed(layer: "store", text: busyText)
    private static let busyText = "another authority holds the lock for this board or user"
    static func isBusy(_ error: AuthorityError) -> Bool {
        if case .failed(layer: "store", text: busyText) = error { true } else { false }
    }
    static let lost = AuthorityError.failed(
        layer: "store", text: "the lock for this board or user was lost to another authority")

    private struct FreeHold: StoreHold {
        let isHeld = true
        func release() async {}
    }
}
