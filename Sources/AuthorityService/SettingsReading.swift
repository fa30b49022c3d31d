import AuthorityCore

extension ServiceSettings {
    /// Reads `authority.toml` in `folder`.
    static func read(from folder: String) throws -> ServiceSettings {
        throw AuthorityError.failed(layer: "configuration", text: "not read yet")
    }
}
