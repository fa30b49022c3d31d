import AgentCore
import AgentStore
import ConfigurationFiles
import Cryptography
import LinuxIO
import Logging
import Sessions
import Wire

/// Takes the file of a prepared claim into the vault, before the agent starts.
///
/// The vault is written first, and then the file is erased. After a power cut in between, the next
/// start knows the file by its id and only erases it.
struct ClaimTaking {
    let files: BoardFiles
    let log: Logger

    /// What to do with a file that can be read.
    enum Decision: Equatable { case take, alreadyTaken, hasSession, expired }

    /// Only the authority's last time judges the claim's end. The board's clock may be ahead, and
    /// the broker lets nobody in after the end.
    static func decision(
        on claim: PreparedClaimFile, _ records: BoardRecords
    ) -> Decision {
        if records.memory.takenClaims.contains(claim.id) { return .alreadyTaken }
        if records.session != nil { return .hasSession }
        return claim.expiresAt <= records.memory.floor ? .expired : .take
    }

    /// Takes the first file that can be taken. A file that cannot be is logged, and stays.
    func perform(_ records: inout BoardRecords, _ store: BoardStore) {
        for file in files.claimFiles where file.isThere {
            if take(file, &records, store) { return }
        }
    }

    private func take(
        _ file: ClaimFile, _ records: inout BoardRecords, _ store: BoardStore
    ) -> Bool {
        let read: PreparedClaimFile?
        do throws(AgentFailure) {
            read = try file.read()
        } catch {
            let help = error.status == .notPermitted ? ": run `sudo postern-agent join`" : ""
            log.error("a prepared claim was not taken: \(error.sentence)\(help)")
            return false
        }
        guard let claim = read else {
            erase(file)
            return false
        }
        switch Self.decision(on: claim, records) {
        case .alreadyTaken:
            erase(file)
            return false
        case .hasSession where file.isAgents:
            // Else the board would take it after its session, perhaps months later.
            log.warning("\(file.path) was erased and not taken: this board has a session")
            erase(file)
            return false
        case .hasSession:
            log.warning("\(file.path) was not taken, because this board has a session: remove it")
            return false
        case .expired:
            log.error("\(file.path) has expired and was not taken: prepare another claim")
            return false
        case .take: break
        }
        do throws(StoreError) {
            try keep(claim, &records, store)
        } catch {
            log.error("\(file.path) was not taken, and is left for the next start: \(error)")
            return false
        }
        log.info("took the prepared claim of \(claim.authority) from \(file.path)")
        compare(claim)
        erase(file)
        return true
    }

    private func keep(
        _ claim: PreparedClaimFile, _ records: inout BoardRecords, _ store: BoardStore
    ) throws(StoreError) {
        let join = PendingJoin(claim)
        var memory = records.memory
        memory.took(claim.id)
        try store.commit([.join(join), .memory(memory)])
        records.join = join
        records.memory = memory
    }

    /// Warns if `agent.toml` does not agree with the claim. It is used as it is.
    private func compare(_ claim: PreparedClaimFile) {
        let uplink = files.settings.uplink
        if claim.broker != uplink.uri {
            log.warning("the claim names the broker \(claim.broker), but agent.toml another")
        }
        guard let ca = claim.ca else { return }
        let bytes = uplink.caFile.flatMap { try? PrivateFile.read(
            $0, limit: 1 << 20, strictestMode: 0o755, followsLinks: true) }
        let known = bytes.flatMap { try? Certificate.chain(pem: $0) } ?? []
        if !known.contains(where: { $0.sha256 == ca.fingerprint.bytes }) {
            log.warning("the CA of the claim's broker is not in uplink.ca_file of agent.toml")
        }
    }

    private func erase(_ file: ClaimFile) {
        do throws(FileFailure) {
            try file.erase()
        } catch {
            log.error("""
                a used claim could not be erased (\(error)): remove \(file.path), because a copy \
                of it may bring another board in place of this one
                """)
        }
    }
}
