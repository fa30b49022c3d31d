import AuthorityService

await AuthorityProgram.main()
