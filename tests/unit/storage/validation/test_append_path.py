import pytest
from stepdown.protocol.records.layout import Codec
from stepdown.storage.validation.append_path import AppendPath, RecordSetShape, choose_path, path_table


@pytest.mark.parametrize(
    ("source", "target", "magic_2", "path"),
    [
        (Codec.NONE, Codec.NONE, True, AppendPath.IN_PLACE),
        (Codec.NONE, Codec.NONE, False, AppendPath.CONVERT),
        (Codec.NONE, Codec.LZ4, True, AppendPath.REBUILD),
        (Codec.NONE, Codec.LZ4, False, AppendPath.REBUILD),
        (Codec.LZ4, Codec.NONE, True, AppendPath.REBUILD),
        (Codec.LZ4, Codec.NONE, False, AppendPath.REBUILD),
        (Codec.LZ4, Codec.GZIP, True, AppendPath.REBUILD),
        (Codec.LZ4, Codec.LZ4, False, AppendPath.REBUILD),
        (Codec.LZ4, Codec.LZ4, True, AppendPath.IN_PLACE_COMPRESSED),
    ],
)
def test_codecs_and_magic_choose_the_path(source: Codec, target: Codec, magic_2: bool, path: AppendPath) -> None:
    assert choose_path(RecordSetShape(source != 0, target != 0, source == target, magic_2, False)) is path


def test_a_plain_control_batch_is_never_compressed() -> None:
    assert choose_path(RecordSetShape(False, True, False, True, True)) is AppendPath.IN_PLACE


def test_the_choice_can_be_printed() -> None:
    lines = path_table().splitlines()
    assert len(lines) == 16
    assert "compressed compressed same     2     no      in place, compressed" in lines
