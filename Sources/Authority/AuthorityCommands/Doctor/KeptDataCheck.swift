import AuthorityBroker
import AuthorityCore
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import Doctor
import LinuxIO
import Sessions

/// What the authority has kept of the boards' data.
enum KeptDataFacts: Sendable, Equatable {
    /// `[data] keep = "0"`.
    case off
    /// It is in a database that cannot be reached. Another check says why.
    case away
    /// No store of records yet: no authority has run.
    case none
    case fault(String)
    case kept(DataUsage, DataBounds)
}

extension AuthorityFacts {
    /// Opens the store of records beside a service, and reads its size. Changes nothing.
    mutating func lookAtData(_ state: StateFolder, _ settings: ServiceSettings) async {
        guard let bounds = settings.data else {
            keptData = .off
            return
        }
        do throws(AuthorityError) {
            guard let data = try await state.existingData(settings) else {
                keptData = KeptDataFacts.none
                return
            }
            let usage = try await data.usage()
            try await data.close()
            keptData = .kept(usage, bounds)
        } catch .failed(layer: StoreOpening.away, _) where state.store != .file {
            keptData = .away
        } catch {
            keptData = .fault(error.words)
        }
    }
}

extension AuthorityCheck {
    static let keptData = [
        AuthorityCheck(
            id: "kept-data", group: .storage, about: "the boards' data is kept, within its bounds",
            why: "what is not kept here can be read only while a program listens at the broker",
            needs: [.state]
        ) { facts in
            switch facts.keptData {
            case nil: return .skipped("see config-authority")
            case .off: return .ok("nothing is kept: keep is \"0\" in [data]")
            case .away: return .skipped("see database")
            case KeptDataFacts.none?: return .ok("nothing yet")
            case .fault(let text):
                return .failed(text, next: """
                    where data.db is at fault, stop the authority and put a copy in its place, or \
                    move it away to begin without data (DATA.md)
                    """)
            case .kept(let usage, let bounds): return judge(usage, bounds)
            }
        },
    ]

    private static func judge(_ usage: DataUsage, _ bounds: DataBounds) -> Finding {
        let disk = usage.disk == usage.bytes ? "" : ", \(usage.disk >> 20) MiB on disk"
        let size = "\(usage.records) records, \(usage.bytes >> 20) of "
            + "\(bounds.maxBytes >> 20) MiB\(disk)"
        guard let oldest = usage.oldest else { return .ok(size) }
        let day = Duration.seconds(86_400)
        let age = systemClock() - oldest
        let text = "\(size), the oldest \(Int(age / day)) days old"
        // Size then decides what goes, long before its time.
        guard usage.bytes * 10 < bounds.maxBytes * 9 || age * 10 > bounds.keep * 9 else {
            return .warning(text, next: """
                max_bytes deletes records before they are \(Int(bounds.keep / day)) days old: \
                raise max_bytes or shorten keep in [data]
                """)
        }
        return .ok(text)
    }
}
