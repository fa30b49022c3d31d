package import AgentStore
package import LinuxIO

/// The exit statuses of all Postern programs.
package enum ExitStatus: Int32 {
    case ok = 0
    case failed = 1
    case usage = 2
    case degraded = 3
    case notProvisioned = 4
    case offline = 5
    case notPermitted = 77
    case badConfiguration = 78
}

/// Why a command failed: a sentence for people that names the layer, and an exit status.
package struct AgentFailure: Error {
    package let status: ExitStatus
    package let sentence: String
    /// The request is correct, so a later try may succeed.
    package let mayPass: Bool

    package init(_ status: ExitStatus, _ sentence: String, mayPass: Bool = false) {
        self.status = status
        self.sentence = sentence
        self.mayPass = mayPass
    }
}

extension AgentFailure {
    package init(_ failure: FileFailure) {
        switch failure {
        case .notPermitted: self.init(.notPermitted, "\(failure)")
        case .tooOpen, .foreignOwner, .wrongKind, .missing, .tooLarge:
            self.init(.badConfiguration, "\(failure)")
        case .readOnly, .noSpace: self.init(.failed, "\(failure)", mayPass: true)
        case .inUse, .exists, .failed: self.init(.failed, "\(failure)")
        }
    }

    package init(_ failure: StoreError) {
        switch failure {
        case .unsafePermissions, .keyMissing, .keyWrong, .keyRefused, .newerForm:
            self.init(.badConfiguration, "\(failure)")
        case .keyUnreachable: self.init(.failed, "\(failure)", mayPass: true)
        case .unavailable: self.init(.failed, "\(failure)", mayPass: true)
        case .corrupt, .unreadable:
            // Never replaced without a request: the state holds the board's identity.
            self.init(.failed, """
                \(failure). Restore the state folder from a copy. If there is no copy, move the \
                folder away and start again: the board then has a new identity, so remove the old \
                board at the authority and run `postern-agent pair`.
                """)
        case .outOfOrder, .cryptography: self.init(.failed, "\(failure)")
        }
    }
}
