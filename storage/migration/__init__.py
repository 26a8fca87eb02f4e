"""Migrates the disks of a cluster with ZooKeeper to Kafka 4 in place: a plan, its application, and its undoing.

`directory_survey` reads log directories. `plan_making` makes a `migration_plan` from them and from ZooKeeper, which
`plan_document` writes and reads as YAML. `plan_application` applies it, `plan_reversal` undoes it.
"""
