// Mosquitto
