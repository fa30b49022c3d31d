import AuthorityCore
import Sessions
import Wire

/// An authority's records as a value: a transaction works on a copy and replaces it.
struct Tables: Sendable {
    struct SessionRow: Sendable {
        var record: SessionRecord
        var endedAt: Timestamp?
    }

    struct ReplyKey: Hashable, Sendable {
        let board: InstallationID
        let request: MessageID
    }

    struct SequenceKey: Hashable, Sendable {
        let sealKey: KeyID
        let board: InstallationID
    }

    struct Failure: Sendable {
        let key: String
        let at: Timestamp
    }

    var users: [UserID: UserRecord] = [:]
    var sessions: [ObjectID: SessionRow] = [:]
    var families: [RefreshFamilyID: RefreshFamily] = [:]
    var boards: [InstallationID: BoardRecord] = [:]
    var statuses: [InstallationID: BoardStatus] = [:]
    var reports: [InstallationID: StoredReport] = [:]
    var configurations: [InstallationID: KeptConfiguration] = [:]
    var passwords: [InstallationID: SecretBytes] = [:]
    var sequences: [SequenceKey: Int64] = [:]
    var claims: [MessageID: ClaimRecord] = [:]
    var replies: [ReplyKey: ReplyRecord] = [:]
    var jobs: [NumberedJob] = []
    var lastJob: Int64 = 0
    var personLogins: [ObjectID: PersonLogin] = [:]
    /// The oldest first.
    var audit: [AuditEntry] = []
    var lastEntry: Int64 = 0
    /// The oldest first.
    var timelines: [InstallationID: [TimelineEntry]] = [:]
    var touches: [TouchedBoard] = []
    var lastTouch: Int64 = 0
    var ahead: [InstallationID: AheadBoard] = [:]
    var failures: [Failure] = []
    var keys: [KeyRecord] = []
    /// Of claims that were deleted: a secret never serves twice.
    var spentSecrets: Set<[UInt8]> = []
    var identities: [IdentityRecord] = []
    var spentProofs: [[UInt8]: Timestamp] = [:]
    var passkeys: [PasskeyRecord] = []
    var recoveryCodes: [UserID: RecoveryCodeRecord] = [:]
    var loginRequests: [LoginRequestRecord] = []
    var claimCodes: [ClaimCodeRecord] = []
}

extension Tables {
    func active(on board: InstallationID) -> SessionRecord? {
        sessions.values.first {
            $0.record.state == .active && $0.record.session.installationID == board
        }?.record
    }

    func openClaim(on board: InstallationID) -> ClaimRecord? {
        claims.values.first { $0.state == .sent && $0.installation == board }
    }

    func departing(on board: InstallationID) -> SessionRecord? {
        sessions.values.filter {
            $0.record.session.installationID == board && $0.record.endNotice != nil
        }.max { ($0.endedAt?.milliseconds ?? 0) < ($1.endedAt?.milliseconds ?? 0) }?.record
    }

    func events(_ event: String) -> [AuditEntry] { audit.filter { $0.event == event } }
}
