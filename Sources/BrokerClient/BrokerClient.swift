// BrokerClient
