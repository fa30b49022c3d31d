import AdminCommands

await PosternProgram.main()
