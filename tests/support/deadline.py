"""How long tests wait. What passes does not wait so long on any machine, so only what hangs ends at a deadline."""

DEADLINE_S = 120.0
"""For what has to come."""

JOB_DEADLINE_S = 1800.0
"""For what works for minutes: an installation, a suite of somebody else, a job of Spark."""

MOMENT_S = 0.05
"""For what must not come. On a slow machine a fault may be missed, and nothing fails."""
