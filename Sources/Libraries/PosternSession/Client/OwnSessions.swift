import Foundation

private struct ExtensionForm: Encodable {
    let durationSeconds: Int64
    let shorten: Bool
}

extension SessionClient {
    /// Sets the end of this session to a time from now: 5 minutes to 1 year, and not after its
    /// `latestEnd`. An earlier end than the present one needs `shorten`.
    @discardableResult
    public func extend(
        by duration: Duration, shorten: Bool = false
    ) async throws(SessionError) -> SessionDetails {
        guard let session = held else { throw .loggedOut }
        let began = generation
        let details = try await ask(
            .send("POST", "/postern/v1/sessions/\(session.details.id)/extend", ExtensionForm(
                durationSeconds: duration.components.seconds, shorten: shorten)),
            as: SessionDetails.self)
        guard generation == began else { throw .cancelled }
        try await keep(details)
        return details
    }

    /// The person's sessions, those of their boards and other devices included.
    public func sessions() async throws(SessionError) -> [SessionDetails] {
        try await ask(.get("/postern/v1/sessions"), as: Results<SessionDetails>.self).results
    }

    /// Ends one of the person's sessions. With this session's id it is a logout.
    public func revoke(_ id: SessionDetails.ID) async throws(SessionError) {
        guard let session = held else { throw .loggedOut }
        if id == session.details.id { return try await logOut() }
        _ = try await ask(.delete("/postern/v1/sessions/\(try id.pathPart)"))
    }
}

extension String {
    /// For ids in paths: letters, digits and hyphens.
    var pathPart: String {
        get throws(SessionError) {
            let isPlain = !isEmpty && utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
                    || (0x61...0x7a).contains(byte) || byte == 0x2d
            }
            guard isPlain, utf8.count <= 64 else { throw .invalid("this is not an id") }
            return self
        }
    }
}
