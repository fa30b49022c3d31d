// AuthorityCore
