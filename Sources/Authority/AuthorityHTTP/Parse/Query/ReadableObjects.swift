import AuthorityCore
import Gate
import Sessions

/// Reads the objects of a class that a caller may see: those of the caller's own boards, and those
/// of each board that its owner shares with the caller.
///
/// Rights are read for each query. An object that another board of the owner also wrote is not
/// shown, because it may hold what that board wrote.
struct ReadableObjects: Sendable {
    let frontend: any AuthorityFrontend
    let data: any DataStore

    /// The objects that `search` finds, in its order. The owner in it is the caller.
    func page(_ search: ObjectQuery, by caller: Caller) async throws(AuthorityError) -> ObjectPage {
        let shared = sources(of: search, try await frontend.sharedBoards(by: caller))
        guard !shared.isEmpty else { return try await data.objects(search) }
        // Each source gives the first objects as if it were alone; the page is cut of all of them.
        let most = search.skip + search.limit
        var objects: [DataObject] = []
        var count = 0
        var isPartial = false
        for var source in [search] + shared {
            (source.skip, source.limit) = (0, most)
            let page = try await data.objects(source)
            objects = Array(search.merged(objects, page.objects).prefix(most))
            count += page.count ?? 0
            isPartial = isPartial || page.isPartial
        }
        return ObjectPage(
            objects: Array(objects.dropFirst(search.skip)), count: search.counts ? count : nil,
            isPartial: isPartial)
    }

    /// One object; nil if the caller may not see one.
    func object(
        _ id: RecordID, of className: ClassName, by caller: Caller
    ) async throws(AuthorityError) -> DataObject? {
        var shares: [ShareRecord]?
        return try await objects([id], of: className, by: caller, &shares)?.first
    }

    /// At most one object for each id: apps choose ids, so that several owners may have the same.
    /// The caller's own comes first. `shares` are those of the caller, if they are known already.
    /// Nil: the read was too large.
    func objects(
        _ ids: Set<RecordID>, of className: ClassName, by caller: Caller,
        _ shares: inout [ShareRecord]?
    ) async throws(AuthorityError) -> [DataObject]? {
        var search = ObjectQuery(owner: caller.user.objectID, className: className)
        (search.ids, search.limit) = (ids, ids.count)
        let own = try await data.objects(search)
        guard !own.isPartial else { return nil }
        var (objects, missing) = (own.objects, ids.subtracting(own.objects.map(\.id)))
        guard !missing.isEmpty else { return objects }
        let known = if let shares { shares } else { try await frontend.sharedBoards(by: caller) }
        shares = known
        for var source in sources(of: search, known) {
            guard !missing.isEmpty else { break }
            (source.ids, source.limit) = (missing, missing.count)
            let page = try await data.objects(source)
            guard !page.isPartial else { return nil }
            objects += page.objects
            missing.subtract(page.objects.map(\.id))
        }
        return objects
    }

    private func sources(of search: ObjectQuery, _ shares: [ShareRecord]) -> [ObjectQuery] {
        var sources: [ObjectQuery] = []
        for share in shares
        where share.terms.shows(search.className) && search.board ?? share.board == share.board {
            var source = search.from(share.owner)
            source.board = share.board
            source.ofOneBoard = true
            sources.append(source)
        }
        return sources
    }
}

extension ObjectQuery {
    /// The same search among the objects of another owner.
    fileprivate func from(_ owner: UserID) -> Self {
        var query = ObjectQuery(owner: owner, className: className)
        (query.ids, query.createdAt, query.updatedAt) = (ids, createdAt, updatedAt)
        (query.order, query.isDescending, query.counts) = (order, isDescending, counts)
        (query.examined, query.matches) = (examined, matches)
        return query
    }

    /// Both lists, each in the order of the query, as one.
    fileprivate func merged(_ one: [DataObject], _ other: [DataObject]) -> [DataObject] {
        var (rest, merged) = (other[...], [DataObject]())
        for object in one {
            while let next = rest.first, comesBefore(next, object) {
                merged.append(next)
                rest = rest.dropFirst()
            }
            merged.append(object)
        }
        return merged + rest
    }

    private func comesBefore(_ one: DataObject, _ other: DataObject) -> Bool {
        let (first, second) = order == .createdAt
            ? (one.createdAt, other.createdAt) : (one.updatedAt, other.updatedAt)
        return isDescending ? first > second : first < second
    }
}
