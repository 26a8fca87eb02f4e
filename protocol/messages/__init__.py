"""One module per API, named as Kafka names it: request, response, and their versions."""
