"""Access rules: who may do what with which resource, by the rules of Kafka's StandardAuthorizer.

Stored rules (`acls.py`) and what each API needs (`required_permission.py`; the table is broker/handlers/rules.py)
enter; handlers that ask first leave (`guard.py`).
"""
