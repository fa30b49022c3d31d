import AuthorityBroker
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import PostgreSQLClient

extension AuthorityFacts {
    /// Collects the doctor's facts about a database server, and about the store in it. Changes
    /// nothing.
    mutating func ask(_ place: PostgresPlace, _ state: StateFolder, _ own: SharedSettings) {
        var facts = DatabaseFacts(place: state.recordPlace)
        defer { database = facts }
        do {
            let found = try DatabaseExamination(
                StateFolder.address(of: place), wrapping: masterKey(of: state),
                clock: systemClock)
            facts.version = "PostgreSQL \(found.version)"
            facts.encryption = found.encryption
            facts.isLocal = found.isLocal
            facts.isOpen = found.isOpen
            facts.latency = found.latency
            facts.clockLead = found.clockLead
            if let kept = found.settings {
                facts.differences = own.differences(from: kept)
            }
            versions.append(("PostgreSQL", found.version))
            guard let store = found.store else {
                storeFault = "\(state.unfounded)"
                return
            }
            take(store, of: state)
        } catch {
            let words = (error as? PostgresError)?.text ?? Exit.words(for: error)
            facts.fault = words
            storeFault = "the database cannot be read"
        }
    }
}
