import AuthorityCommands

await AuthorityProgram.start()
