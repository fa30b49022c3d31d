package import Wire

/// `[home_assistant]`: whether the boards' numbers are announced as sensors, and where.
package struct SensorDiscovery: Equatable, Sendable {
    package var isOn: Bool
    /// The first levels of the topics.
    package var prefix: TopicRoot

    /// The sensors are made from the records, so something must be kept. Programs may subscribe
    /// below the prefix, so nothing of the contract may be there.
    init(
        _ section: TOMLSection, beside root: TopicRoot, _ data: KeptData
    ) throws(SettingsError) {
        isOn = try section.flag("discovery") ?? false
        prefix = try section.value("prefix", SettingValue.topicRoot) ?? .homeAssistant
        guard !isOn || data.keep != .zero else {
            throw section.fault(
                "discovery", "needs the boards' records, but keep = \"0\" in [data] keeps none")
        }
        guard !prefix.overlaps(root) else {
            throw section.fault("prefix", "must not contain topic_root (\(root)) or be inside it")
        }
    }
}
