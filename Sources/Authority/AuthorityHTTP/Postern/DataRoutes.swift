import AuthorityCore
import Hummingbird
import Sessions

/// The records that boards sent, as a caller who owns them reads them.
struct DataRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?

    var routes: [HTTPRoute] { [] }
}
