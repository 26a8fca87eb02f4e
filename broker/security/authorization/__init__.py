"""ACLs: who may do what with which resource, by the rules of Kafka's StandardAuthorizer.

`acls.py` stores ACLs, `authorization_rule.py` says what each API needs (the table is broker/handlers/__init__.py), and
`broker/dispatch/guard.py` wraps handlers with the check.
"""
