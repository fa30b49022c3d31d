"""The test bench: real brokers, real programs, one recorded MQTT connection, one search."""
