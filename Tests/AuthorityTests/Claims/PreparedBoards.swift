import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// What a board does with the file of a prepared claim.
extension PreparedClaimFile {
    /// A join request of a board. `sealer` seals the part that only the device key can seal.
    func joinPayload(
        of board: BoardDouble, at now: Timestamp, under secret: SecretBytes? = nil,
        id: InstallationID? = nil, topic: InstallationID? = nil, sealer: BoardDouble? = nil
    ) throws -> [UInt8] {
        let outbox = ContractTopic.outbox(topic ?? self.id).text(under: .standard)
        let claim = try (sealer ?? board).seal(
            JoinSecret(board.secret).plaintext, to: sealKey, topic: outbox)
        let request = JoinRequest(
            id: try .fresh(), issuedAt: now, clockUnset: false,
            installation: board.installation, deviceKey: board.key.publicKey.rawRepresentation,
            claim: try SealedEnvelope(parsing: claim), name: "raspberrypi")
        return try seal(request.plaintext, under: secret, id: id, topic: topic)
    }

    func seal(
        _ plaintext: [UInt8], under secret: SecretBytes? = nil, id: InstallationID? = nil,
        topic: InstallationID? = nil
    ) throws -> [UInt8] {
        let named = id ?? self.id
        let keys = try SystemCryptography().claimKeys(secret: secret ?? self.secret, board: named)
        let outbox = ContractTopic.outbox(topic ?? self.id).text(under: .standard)
        let recipient = try X25519PublicKey(rawRepresentation: sealKey)
        let sealed = try HPKE.sealPSK(
            plaintext, to: recipient, info: SealedEnvelope.info, aad: Array(outbox.utf8),
            psk: .init(key: keys.psk, id: Array(named.description.utf8)))
        return SealedEnvelope(
            mode: .psk, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct).payload
    }
}

extension House {
    /// One prepared claim, with its file.
    func prepare(
        by caller: Caller, _ order: PreparedClaimOrder = PreparedClaimOrder()
    ) async throws -> PreparedClaimFile {
        try #require(try await authority.prepareClaims(order, by: caller).first).file
    }

    @discardableResult
    func join(_ file: PreparedClaimFile, _ board: BoardDouble) async throws -> BoardAnswer {
        try await authority.handle(
            try file.joinPayload(of: board, at: clock.now), from: file.id)
    }

    /// The prepared claim of a file as an administrator sees it.
    func prepared(_ file: PreparedClaimFile) async throws -> PreparedClaimView {
        let all = try await authority.preparedClaims(by: login())
        return try #require(all.first { $0.id == file.id })
    }

    /// The board takes the provisioning that is retained for it.
    func takeProvision(_ board: BoardDouble) async throws -> LiveBoard {
        let (id, provision) = try board.openProvision(try #require(await retained(board)))
        let live = LiveBoard(board: board, house: self, id: id, provision: provision)
        #expect(try await live.say(.provisionAccepted(re: id, session: live.session)) == .silent)
        return live
    }
}
