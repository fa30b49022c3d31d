import AuthorityCore
import Sessions

extension MemoryTransaction {
    func loginRequest(deviceHash: [UInt8]) -> LoginRequestRecord? {
        tables.loginRequests.first { $0.deviceHash == deviceHash }
    }

    func loginRequest(userHash: [UInt8]) -> LoginRequestRecord? {
        tables.loginRequests.first { $0.userHash == userHash }
    }

    func loginRequestEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) -> Timestamp? {
        scope.end(
            of: tables.loginRequests.map { ($0.origin, $0.endsAt) }, skipping: skipped, after: now)
    }

    func insert(_ request: LoginRequestRecord) -> Bool {
        guard loginRequest(deviceHash: request.deviceHash) == nil,
            loginRequest(userHash: request.userHash) == nil
        else { return false }
        tables.loginRequests.append(request)
        return true
    }

    func update(_ request: LoginRequestRecord) {
        guard let place = tables.loginRequests.firstIndex(where: {
            $0.deviceHash == request.deviceHash
        }) else { return }
        tables.loginRequests[place] = request
    }

    func deleteLoginRequest(deviceHash: [UInt8]) -> Bool {
        let count = tables.loginRequests.count
        tables.loginRequests.removeAll { $0.deviceHash == deviceHash }
        return tables.loginRequests.count < count
    }

    func deleteLoginRequests(allowedBy user: UserID) {
        tables.loginRequests.removeAll { $0.user == user && $0.state == .allowed }
    }

    func deleteLoginRequests(endedBefore time: Timestamp, limit: Int) -> Int {
        let count = tables.loginRequests.count
        tables.loginRequests.removeAll { $0.endsAt < time }
        return count - tables.loginRequests.count
    }
}

extension RequestScope {
    /// The end of the newest request but `skipped`. As the store's `requestEnd`.
    func end(
        of requests: [(origin: String, endsAt: Timestamp)], skipping skipped: Int,
        after now: Timestamp
    ) -> Timestamp? {
        let ends = requests.filter { request in
            let origin = CountedOrigin(request.origin)
            guard request.endsAt > now else { return false }
            return switch self {
            case .address(let address): origin.description == address
            case .network(let network): Self.network(of: origin) == network
            case .all: true
            }
        }.map(\.endsAt).sorted(by: >)
        return ends.dropFirst(skipped).first
    }
}
