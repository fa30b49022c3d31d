import Sessions

/// The version and the release date of this program.
package enum Release {
    package static let version = "0.1.0"
    /// 2026-11-01. A clock before this date is not set. Raised with each release.
    static let date = Timestamp(milliseconds: 1_793_491_200_000)
}
