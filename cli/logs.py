"""The broker's own log lines: structlog renders them on stderr, for people or as JSON."""

import logging
import sys

import structlog

TIMESTAMP = structlog.processors.TimeStamper(fmt="iso", utc=True)


def configure_logging(log_format: str, level: str = "INFO") -> None:
    """Sends every record of the standard `logging` module to stderr, one line each.

    `log_format` is "console" or "json".
    """
    renderer: structlog.types.Processor
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, TIMESTAMP],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            renderer,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
