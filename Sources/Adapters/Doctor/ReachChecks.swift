import Wire

extension Check {
    /// The three checks of a network path. `peer` is the machine at its end; `file` is the file
    /// that names it. Without a path, `untried` says why.
    package static func reach(
        to peer: String, group: CheckGroup, needs: Set<Facts.Probe>, named file: String,
        untried: @escaping @Sendable (Facts) -> String,
        _ reach: @escaping @Sendable (Facts) -> Reach?
    ) -> [Check] {
        [
            Check(
                id: "name-lookup", group: group, about: "the name of \(peer) has an address",
                why: "without an address no connection is possible", needs: needs
            ) { facts in
                finding(reach(facts)?.lookup, untried(facts), next: """
                    check the name in \(file), and this machine's name servers: \
                    /etc/resolv.conf
                    """)
            },
            Check(
                id: "tcp", group: group, about: "\(peer) accepts connections",
                why: "without a connection nothing is sent or received", needs: needs
            ) { facts in
                finding(reach(facts)?.tcp, untried(facts), next: """
                    check that \(peer) runs, the port in \(file), and the firewalls on the \
                    way
                    """)
            },
            Check(
                id: "tls", group: group,
                about: "the certificate of \(peer) is trusted, valid and for its name",
                why: "nothing is sent to a server that may be an impostor; an expired "
                    + "certificate ends every connection", needs: needs
            ) { facts in tls(reach(facts), untried(facts), file) },
        ]
    }

    private static func finding(
        _ step: Reach.Step?, _ untried: String, next: String
    ) -> Finding {
        switch step {
        case .done(let text): .ok(text)
        case .failed(let text): .failed(text, next: next)
        case .skipped(let text): .skipped(text)
        case nil: .skipped(untried)
        }
    }

    private static func tls(_ reach: Reach?, _ untried: String, _ file: String) -> Finding {
        let next = "check the CA that must verify it (\(file)), the certificate's names, and "
            + "both clocks"
        guard let reach, !reach.isInClear else {
            return reach == nil ? .skipped(untried) : .warning(
                "passwords and data go to another machine without encryption",
                next: "use TLS there, and set it in \(file)")
        }
        guard case .done(let text) = reach.tls, let left = reach.certificateLeft else {
            return finding(reach.tls, untried, next: next)
        }
        return CertificateAge.finding(text, left)
    }
}

/// Judges how long a certificate is still valid.
package enum CertificateAge {
    /// With less than two weeks left, the certificate should have been renewed already.
    package static let warning = Duration.seconds(14 * 86_400)

    package static func finding(_ text: String, _ left: Duration) -> Finding {
        let days = left.components.seconds / 86_400
        guard left > .zero else {
            return .failed("\(text), has expired", next: "renew it, and check this machine's clock")
        }
        let sentence = "\(text), \(days) days left"
        return left < warning
            ? .warning(sentence, next: "renew the certificate before it ends") : .ok(sentence)
    }
}
