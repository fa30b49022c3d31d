import AuthorityCore
import Sessions

/// Nobody watches for alerts here.
extension MemoryTransaction {
    func watchedBoards(after last: InstallationID?, limit: Int) -> [WatchedRecords] { [] }
    func openAlerts(limit: Int) -> [Alert] { [] }
    func alerts(
        of owner: UserID?, on board: InstallationID?, resolvedAfter resolved: Timestamp?, limit: Int
    ) -> [Alert] { [] }
    func save(_ alert: Alert) {}
    func deleteAlerts(resolvedBefore time: Timestamp, limit: Int) -> Int { 0 }
    func save(_ message: AlertMessage) {}
    func remove(_ message: AlertMessage) {}
    func deleteMessages(endedBefore now: Timestamp) {}
    func dueMessages(on channel: AlertChannel, at now: Timestamp, limit: Int) -> [AlertMessage] {
        []
    }
    func note(_ delivery: AlertDelivery) {}
    func alertDeliveries() -> [AlertDelivery] { [] }
    func pushSubscription(of session: ObjectID) -> PushSubscription? { nil }
    func pushSubscriptions(of user: UserID) -> [PushSubscription] { [] }
    func save(_ subscription: PushSubscription) {}
    func deletePushSubscription(of session: ObjectID) {}
}
