import AgentService

AgentProgram.main()
