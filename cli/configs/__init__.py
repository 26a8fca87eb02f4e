"""`stepdown configs`: shows and changes settings of a running cluster, like `kafka-configs.sh`."""
