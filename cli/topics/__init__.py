"""`stepdown topics`: names and settings of topics come in, outcomes and descriptions go out.

`commands` parses options and prints. `adopt` gives settings to topics that were taken over without them:
`kafka_tool_output` reads files, `adoption` plans, `running_topics` and `directory_topics` carry it out;
`directory_reading` is what a dry run has of directories.
"""
