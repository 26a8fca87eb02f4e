"""`stepdown clients`: who is there, of a running server or in Kafka's request log, and whether Kafka 4 answers them."""
