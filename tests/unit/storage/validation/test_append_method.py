import pytest
from stepdown.protocol.records.layout import Codec
from stepdown.storage.validation.append_method import AppendMethod, RecordSetShape, choose_method, method_table


@pytest.mark.parametrize(
    ("source", "target", "magic_2", "path"),
    [
        (Codec.NONE, Codec.NONE, True, AppendMethod.IN_PLACE),
        (Codec.NONE, Codec.NONE, False, AppendMethod.CONVERT),
        (Codec.NONE, Codec.LZ4, True, AppendMethod.REBUILD),
        (Codec.NONE, Codec.LZ4, False, AppendMethod.REBUILD),
        (Codec.LZ4, Codec.NONE, True, AppendMethod.REBUILD),
        (Codec.LZ4, Codec.NONE, False, AppendMethod.REBUILD),
        (Codec.LZ4, Codec.GZIP, True, AppendMethod.REBUILD),
        (Codec.LZ4, Codec.LZ4, False, AppendMethod.REBUILD),
        (Codec.LZ4, Codec.LZ4, True, AppendMethod.IN_PLACE_COMPRESSED),
    ],
)
def test_codecs_and_magic_choose_the_path(source: Codec, target: Codec, magic_2: bool, path: AppendMethod) -> None:
    assert choose_method(RecordSetShape(source != 0, target != 0, source == target, magic_2, False)) is path


def test_a_plain_control_batch_is_never_compressed() -> None:
    assert choose_method(RecordSetShape(False, True, False, True, True)) is AppendMethod.IN_PLACE


def test_the_choice_can_be_printed() -> None:
    lines = method_table().splitlines()
    assert len(lines) == 16
    assert "compressed compressed same     2     no      in place, compressed" in lines
