import Wire

extension Check {
    /// The three checks of a network path. `peer` is the machine at its end; `file` is the file
    /// that names it.
    package static func reach(
        to peer: String, group: CheckGroup, needs: Set<Facts.Probe>, named file: String,
        _ reach: @escaping @Sendable (Facts) -> Reach?
    ) -> [Check] {
        [
            Check(
                id: "name-lookup", group: group, about: "the name of \(peer) has an address",
                why: "without an address nothing can be connected to", needs: needs
            ) { facts in
                finding(reach(facts)?.lookup, next: """
                    look at the name in \(file), and at this machine's name servers: \
                    /etc/resolv.conf
                    """)
            },
            Check(
                id: "tcp", group: group, about: "\(peer) takes connections",
                why: "nothing is sent or heard while nobody answers there", needs: needs
            ) { facts in
                finding(reach(facts)?.tcp, next: """
                    look whether \(peer) runs, at the port in \(file), and at firewalls on the \
                    way
                    """)
            },
            Check(
                id: "tls", group: group,
                about: "the certificate of \(peer) is trusted, for its name, and lasts",
                why: "who cannot be told from an impostor is told nothing; an expired "
                    + "certificate ends every connection", needs: needs
            ) { facts in tls(reach(facts), file) },
        ]
    }

    private static func finding(_ step: Reach.Step?, next: String) -> Finding {
        switch step {
        case .done(let text): .ok(text)
        case .failed(let text): .failed(text, next: next)
        case .skipped(let text): .skipped(text)
        case nil: .skipped("it is not known where to go, or nobody looked")
        }
    }

    private static func tls(_ reach: Reach?, _ file: String) -> Finding {
        let next = "look at who is to vouch for it (\(file)), at the certificate's names, and "
            + "at both clocks"
        guard let reach, !reach.isInClear else {
            return reach == nil ? finding(nil, next: next) : .warning(
                "passwords and data go to another machine in clear",
                next: "speak TLS there, and say so in \(file)")
        }
        guard case .done(let text) = reach.tls, let left = reach.certificateLeft else {
            return finding(reach.tls, next: next)
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
            return .failed("\(text), has expired", next: "renew it; look at this machine's clock")
        }
        let sentence = "\(text), \(days) days left"
        return left < warning
            ? .warning(sentence, next: "renew the certificate before it ends") : .ok(sentence)
    }
}
