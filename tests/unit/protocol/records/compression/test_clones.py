"""The largest loops of gzip are compiled for processors with BMI2, too (clones.h)."""

import platform
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest
from stepdown.protocol.records.kernel import deflating, inflating

CAN_CHOOSE = (
    platform.machine() == "x86_64"
    and platform.libc_ver()[0] == "glibc"
    and "clang" not in str(sysconfig.get_config_var("CC"))
)


@pytest.mark.skipif(not CAN_CHOOSE, reason="needs GCC and glibc on x86-64")
@pytest.mark.parametrize(("module", "loop"), [(inflating, "read_block"), (deflating, "write_data")])
def test_the_loader_has_a_choice_between_two(module: ModuleType, loop: str) -> None:
    assert module.__file__ is not None
    code = Path(module.__file__).read_bytes()
    assert f"{loop}.bmi2".encode() in code
    assert f"{loop}.default".encode() in code
