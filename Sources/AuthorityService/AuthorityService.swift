// AuthorityService
