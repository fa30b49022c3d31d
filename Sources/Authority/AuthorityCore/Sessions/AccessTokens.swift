import Sessions
import Wire

extension Authority {
    /// Signs an access token for a board's session. The token never lasts longer than the session.
    func accessToken(
        for record: SessionRecord, at now: Timestamp
    ) throws(AuthorityError) -> AccessToken {
        guard let board = record.session.installationID, let key = record.deviceKey else {
            throw .failed(layer: "store", text: "a board's session has no board or no key")
        }
        let longest = now + min(rules.lifetimes.access, .seconds(3600))
        let end = min(longest, record.certainEnd(under: rules.lifetimes) ?? longest)
        let claims = AccessTokenClaims(
            issuer: info.publicURL, subject: record.session.user, issuedAt: now, expiresAt: end,
            tokenID: "\(try newMessageID())", session: record.id, installation: board,
            scope: try record.scope?.document(), deviceKey: try keyID(of: key))
        return try cryptography.sign(claims, with: keys.signing)
    }
}
