extension BoardSettings {
    static let standardRunDir = "/run/postern"

    /// The `run_dir` of a text whose other values may be faulty: an agent that was started
    /// before they were is asked there. The standard one where it cannot be read.
    package static func runDir(
        in text: String, environment: @escaping (String) -> String?
    ) -> String {
        do throws(SettingsError) {
            let root = try TOMLDocument(text, file: "", environment: environment).root
            return try root.value("run_dir", SettingValue.socketFolder) ?? standardRunDir
        } catch {
            return standardRunDir
        }
    }
}
