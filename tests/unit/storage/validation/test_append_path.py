import pytest
from stepdown.protocol.records.layout import Codec
from stepdown.storage.validation.append_path import Path, Shape, choose, path_table


@pytest.mark.parametrize(
    ("source", "target", "magic_2", "path"),
    [
        (Codec.NONE, Codec.NONE, True, Path.IN_PLACE),
        (Codec.NONE, Codec.NONE, False, Path.CONVERT),
        (Codec.NONE, Codec.LZ4, True, Path.REBUILD),
        (Codec.NONE, Codec.LZ4, False, Path.REBUILD),
        (Codec.LZ4, Codec.NONE, True, Path.REBUILD),
        (Codec.LZ4, Codec.NONE, False, Path.REBUILD),
        (Codec.LZ4, Codec.GZIP, True, Path.REBUILD),
        (Codec.LZ4, Codec.LZ4, False, Path.REBUILD),
        (Codec.LZ4, Codec.LZ4, True, Path.IN_PLACE_COMPRESSED),
    ],
)
def test_codecs_and_magic_choose_the_path(source: Codec, target: Codec, magic_2: bool, path: Path) -> None:
    assert choose(Shape(source != 0, target != 0, source == target, magic_2, False)) is path


def test_a_plain_control_batch_is_never_compressed() -> None:
    assert choose(Shape(False, True, False, True, True)) is Path.IN_PLACE


def test_the_choice_can_be_printed() -> None:
    lines = path_table().splitlines()
    assert len(lines) == 16
    assert "compressed compressed same     2     no      in place, compressed" in lines
