import AgentCommands

AgentProgram.main()
