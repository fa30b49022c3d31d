import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import Logging

/// Ends a service whose records have gone to another store: what it would answer, it could not
/// keep. While they are on their way it stays, since they may not come there.
struct DepartureWatch: Sendable {
    let store: any ServiceStore
    /// What to call the store.
    let place: String
    let readiness: Readiness
    let logger: Logger

    private static let round = Duration.seconds(1)

    /// Works until its task is cancelled; throws `failed(layer: Departure.layer)` when the
    /// records are elsewhere, once load balancers had the time to see.
    func run() async throws(AuthorityError) {
        var isTold = false
        while !Task.isCancelled {
            do throws(AuthorityError) {
                let departure = try await store.departure()
                readiness.note(isMoved: departure != nil)
                if let departure, departure.isDone {
                    logger.error("\(place): \(departure.words)")
                    await pause(Farewell.notice)
                    throw departure.failure(of: place)
                }
                if departure != nil, !isTold {
                    logger.warning("the records are being moved; nothing is written here")
                } else if departure == nil, isTold {
                    logger.notice("the records were not moved; this service goes on")
                }
                isTold = departure != nil
            } catch {
                // Where the store cannot be asked, others complain of it.
                if case .failed(layer: Departure.layer, _) = error { throw error }
            }
            await pause(Self.round)
        }
    }
}
