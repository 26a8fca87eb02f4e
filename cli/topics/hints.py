"""The next step for the user, by the error code in the response."""

HINTS = {
    "TOPIC_ALREADY_EXISTS": "Change it with `stepdown topics alter`, or pass --if-not-exists.",
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is.",
    "INVALID_TOPIC_EXCEPTION": "Names have 1 to 249 of a-z A-Z 0-9 . _ - where `.` and `_` count as the same.",
    "INVALID_PARTITIONS": "Partitions can be added, never removed.",
    "INVALID_REPLICATION_FACTOR": "There have to be that many brokers.",
    "INVALID_CONFIG": "`stepdown config KEY` shows the values that a setting takes.",
    "TOPIC_DELETION_DISABLED": "The broker's delete.topic.enable is false.",
}
