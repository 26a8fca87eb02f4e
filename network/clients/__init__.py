"""The client report: who is there, what it asks for, what is lost for it, and whether Kafka 4 would answer it.

A server keeps one `ClientReport`; what a connection does is counted in a `SeenClient`; `ClientRow` is what is shown.
"""
