import Sessions

/// Where a record stands, as the additional data that its ciphertext is bound to: a record
/// moved to another place, or taken from an older key, does not open.
enum Place {
    private static let origin = Array("postern/store/1".utf8)

    static func key(_ purpose: KeyPurpose, generation: Int64) -> [UInt8] {
        bytes("keys", purpose.rawValue, generation)
    }

    static let identityCopy = bytes("copy", "identity", 0)

    static func vault(_ record: VaultRecord, generation: Int64) -> [UInt8] {
        bytes("vault", record.rawValue, generation)
    }

    static func state(_ part: String, last sequence: Int64, generation: Int64) -> [UInt8] {
        var place = bytes("state", part, generation)
        place.append(number: sequence)
        return place
    }

    static func window(last sequence: Int64, generation: Int64) -> [UInt8] {
        var place = bytes("window", "queue", generation)
        place.append(number: sequence)
        return place
    }

    /// What all rows of the queue share.
    static func batch(generation: Int64) -> [UInt8] { bytes("batch", "", generation) }

    /// Adds what is a row's own to a copy of `batch`.
    static func append(_ head: RowHead, to place: inout [UInt8]) {
        place.append(number: head.first)
        place.append(number: head.last)
        place.append(number: head.count)
        place.append(number: head.oldest)
        place.append(number: head.classes)
        place.append(contentsOf: head.session.utf8)
        place.append(0)
        place.append(contentsOf: head.user.utf8)
    }

    static func dead(
        _ sequence: Int64, at milliseconds: Int64, session: String, user: String,
        generation: Int64
    ) -> [UInt8] {
        var place = bytes("dead", "", generation)
        append(
            sequence: sequence, at: milliseconds, session: session, user: user, to: &place)
        return place
    }

    /// What all rows of schema 1 share.
    static func queue(generation: Int64) -> [UInt8] { bytes("queue", "", generation) }

    /// Adds what is a row's own to a copy of `queue`.
    static func append(
        sequence: Int64, at milliseconds: Int64, session: String, user: String,
        to place: inout [UInt8]
    ) {
        place.append(number: sequence)
        place.append(number: milliseconds)
        // Both have ten characters, else a shift of one from the other could go unseen.
        place.append(contentsOf: session.utf8)
        place.append(0)
        place.append(contentsOf: user.utf8)
    }

    private static func bytes(_ table: String, _ name: String, _ generation: Int64) -> [UInt8] {
        var place = origin
        for part in [table, name] {
            place.append(0)
            place.append(contentsOf: part.utf8)
        }
        place.append(0)
        place.append(number: generation)
        return place
    }
}
