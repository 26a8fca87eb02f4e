"""From the disks of a cluster with ZooKeeper to Kafka 4, in place: a plan, its application, and the way back.

`directory_survey` reads log directories, `plan_making` puts them and ZooKeeper into a `migration_plan`, which
`plan_document` writes and reads as YAML; `plan_application` and `plan_reversal` carry it out.
"""
