import Board

AgentProgram.main()
