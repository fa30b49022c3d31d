import AgentCore
import AgentStore
import ConfigurationFiles
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

    /// The board's clock judges only if it is set.
    static func decision(
        on claim: PreparedClaimFile, _ records: BoardRecords, at instant: Instant,
        buildDate: Timestamp = Release.date
    ) -> Decision {
        if records.memory.takenClaim == claim.id { return .alreadyTaken }
        if records.session != nil { return .hasSession }
        let clock = BoardClock(buildDate: buildDate, floor: records.memory.floor)
        let isJudged = !clock.isUnset(at: instant)
        return isJudged && claim.expiresAt <= clock.now(at: instant) ? .expired : .take
    }

    /// Takes the first file that can be taken. A file that cannot be is logged, and stays.
    func perform(
        _ records: inout BoardRecords, _ store: BoardStore
    ) throws(StoreError) {
        for file in files.claimFiles where file.isThere {
            if try take(file, &records, store) { return }
        }
    }

    private func take(
        _ file: ClaimFile, _ records: inout BoardRecords, _ store: BoardStore
    ) throws(StoreError) -> Bool {
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
        switch Self.decision(on: claim, records, at: .current) {
        case .alreadyTaken:
            erase(file)
            return false
        case .hasSession:
            log.warning("\(file.path) was left alone, because this board has a session")
            return false
        case .expired:
            log.error("\(file.path) has expired and was not taken: prepare another claim")
            return false
        case .take: break
        }
        let join = PendingJoin(claim)
        var memory = records.memory
        memory.takenClaim = claim.id
        try store.commit([.join(join), .memory(memory)])
        records.join = join
        records.memory = memory
        log.info("took the prepared claim of \(claim.authority) from \(file.path)")
        if claim.broker != files.settings.uplink.uri {
            log.warning("\(file.path) names the broker \(claim.broker), but agent.toml another")
        }
        erase(file)
        return true
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
