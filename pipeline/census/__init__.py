"""The job `census`: what a log directory holds, and what clients of an old magic would cost."""
