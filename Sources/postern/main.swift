import Commands

await PosternProgram.main()
