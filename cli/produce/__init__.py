"""`stepdown produce`: splits stdin into records and writes them to a topic, with the producer that applications use."""
