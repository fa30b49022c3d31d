extension BoardSettings {
    static let standardRunDir = "/run/postern"

    /// Reads only `run_dir`, even if other values are faulty. An agent that started before those
    /// faults still answers in that folder. Returns the standard folder if `run_dir` cannot be
    /// read.
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
