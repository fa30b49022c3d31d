// AgentCore
