import AuthorityCore
import Sessions

extension AuthorityTransaction {
    /// The number of failures counted under `key` since `since`.
    func failures(_ key: String, since: Timestamp) throws(AuthorityError) -> Int {
        var most = 1
        while try failure(key, skipping: most, since: since) != nil { most *= 2 }
        var least = 0
        while least < most {
            let middle = (least + most) / 2
            let isThere = try failure(key, skipping: middle, since: since) != nil
            if isThere { least = middle + 1 } else { most = middle }
        }
        return least
    }
}
