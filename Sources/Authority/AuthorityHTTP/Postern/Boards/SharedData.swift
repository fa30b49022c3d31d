import AuthorityCore
import Gate
import Sessions

extension Board {
    /// Whether the person who sees the board may see the readings of this class.
    func shows(_ className: ClassName) -> Bool { shownClasses?.contains(className) ?? true }

    /// Whether the person may see how much it sends: see `BoardRight.showsActivity`.
    var showsActivity: Bool { shownClasses == nil }
}

extension [NewestValue] {
    /// The values that the person who sees the board may see.
    func shown(of board: Board) -> Self { filter { board.shows($0.className) } }
}

extension BoardLive {
    /// The same with those values alone.
    func shown(of board: Board) -> Self {
        let isAll = board.showsActivity
        return BoardLive(
            lastData: isAll ? lastData : nil,
            minutes: isAll ? minutes : nil, newest: newest.shown(of: board),
            arrival: isAll ? arrival : nil)
    }
}

extension AuthorityError {
    /// The same whether the board has such data or not.
    static let notShared = AuthorityError.refused(Refusal(
        .forbidden, "the owner of the board does not share this class with you"))
}
