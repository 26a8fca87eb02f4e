"""`stepdown configs`: settings of what a running cluster has, as `kafka-configs.sh` shows and changes them."""
