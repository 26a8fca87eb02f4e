"""The process that makes a load."""

import signal

from stepdown.bench.load.process import LoadProcess


def test_it_is_spared_an_interrupt_from_its_first_line_on() -> None:
    """^C while it was still importing printed its traceback: it ignored the signal only when it had."""
    with LoadProcess() as load, open(f"/proc/{load._process.pid}/status") as status:
        (blocked,) = (line.split()[1] for line in status if line.startswith("SigBlk:"))
    assert int(blocked, 16) & 1 << (signal.SIGINT - 1)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
