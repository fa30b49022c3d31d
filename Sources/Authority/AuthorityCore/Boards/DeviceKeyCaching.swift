package import Sessions

/// The device key that last opened a message of each board, so that most heartbeats need no look
/// at the store before their transaction.
///
/// An entry may be out of date. So it only chooses the key that is tried first, and nothing is
/// answered by it unless the transaction finds that the store still has that key.
package protocol DeviceKeyCaching: Sendable {
    func key(of board: InstallationID) -> [UInt8]?
    func remember(_ key: [UInt8], of board: InstallationID)
    func forget(_ board: InstallationID)
}

/// For an authority that hears no boards.
package struct NoDeviceKeys: DeviceKeyCaching {
    package init() {}
    package func key(of board: InstallationID) -> [UInt8]? { nil }
    package func remember(_ key: [UInt8], of board: InstallationID) {}
    package func forget(_ board: InstallationID) {}
}
