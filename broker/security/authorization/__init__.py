"""Access rules: who may do what with which resource, by the rules of Kafka's StandardAuthorizer.

Stored rules (`acls.py`) and what each API needs (`authorization_rule.py`; the table is
broker/handlers/__init__.py) enter; handlers that ask first leave (`guard.py`).
"""
