import AuthorityService

await AuthorityProgram.start()
