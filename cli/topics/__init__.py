"""`stepdown topics`: creates, lists, describes, changes and deletes topics.

`commands` parses options and prints. `adopt` gives settings to topics that were taken over without them:
`kafka_tool_output` reads files, `adoption` plans, `running_topics` and `directory_topics` carry the plan out;
`directory_reading` stands in for `directory_topics` in a dry run.
"""
