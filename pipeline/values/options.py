"""The options that say how values are decoded, and the schemas that they name, read on the driver.

| option | |
|---|---|
| valueFormat | avro, protobuf or json |
| valueSchema | a file with the schema of all values, a path or URI |
| valueMessage | the name of the protobuf message in it |
| valueRegistryUrl | a schema registry |
| valueSubjects | its subjects, comma-separated; else `<topic>-value` of the topics to read |
| valueFraming | confluent: values begin with magic byte and schema id; none. By default confluent with a registry |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ..console_output import print_to_stderr
from ..failures import BadUsage
from ..places.place_files import PlaceFiles, normalize
from .registry import Registry
from .schemas import FORMATS, Schema, ValueDecoding, ValueFormat, schema_of_file
from .values_to_json import ValueDecoder

FRAMINGS = ("confluent", "none")
OPTIONS = ("valueFormat", "valueSchema", "valueMessage", "valueRegistryUrl", "valueSubjects", "valueFraming")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueOptions:
    """What the options say. `subjects` None: those of the topics. Exactly one of file and registry, or json alone."""

    format: ValueFormat
    is_framed: bool
    schema_path: str | None = None
    message: str | None = None
    registry_url: str | None = field(default=None, repr=False)
    subjects: tuple[str, ...] | None = None

    def read_schemas(self, files: PlaceFiles, topics: Sequence[str] | None) -> ValueDecoding:
        """How values are decoded; reads the schemas.

        One of a registry that cannot be used is logged, since its values may not be there.

        Raises: BadUsage, PipelineFailure, DiskFault.
        """
        if self.registry_url is not None:
            found = ValueDecoding(format=self.format, is_framed=True, by_id=self._read_schemas_of_registry(topics))
        else:
            one = None if self.schema_path is None else schema_of_file(files, self.schema_path, self.format)
            found = ValueDecoding(format=self.format, is_framed=self.is_framed, one=one, message=self.message)
        try:
            decoder = ValueDecoder(found)
        except BadUsage as wrong:
            raise BadUsage(f"{self.schema_path}: {wrong}" if self.schema_path else str(wrong)) from wrong
        for problem in decoder.find_unusable_schemas():
            print_to_stderr(f"{problem}; values with this id are not decoded")
        return found

    def _read_schemas_of_registry(self, topics: Sequence[str] | None) -> Mapping[int, Schema]:
        assert self.registry_url is not None
        subjects = self.subjects or [f"{topic}-value" for topic in topics or ()]
        if not subjects:
            raise BadUsage("which subjects of the registry? Name topics by subscribe, or subjects by valueSubjects")
        return Registry(self.registry_url).schemas(subjects, self.format)


def value_options(given: Mapping[str, str]) -> ValueOptions | None:
    """The options, None where values are not decoded. Raises: BadUsage."""
    kind = given.get("valueFormat")
    if kind is None:
        stray = next((name for name in OPTIONS if name in given), None)
        if stray is not None:
            raise BadUsage(f"the option {stray} needs valueFormat: {', '.join(FORMATS)}")
        return None
    kind = kind.strip().lower()
    path, registry, message = given.get("valueSchema"), given.get("valueRegistryUrl"), given.get("valueMessage")
    framing = given.get("valueFraming", "none" if registry is None else "confluent").strip().lower()
    if kind not in FORMATS:
        raise BadUsage(f"the option valueFormat is one of {', '.join(FORMATS)}, not {kind!r}")
    if framing not in FRAMINGS:
        raise BadUsage(f"the option valueFraming is {' or '.join(FRAMINGS)}, not {framing!r}")
    if path is not None and registry is not None:
        raise BadUsage("the options valueSchema and valueRegistryUrl do not go together")
    if path is None and registry is None and kind != "json":
        raise BadUsage(f"the option valueFormat={kind} needs a schema: valueSchema, a file, or valueRegistryUrl")
    if registry is not None and framing == "none":
        raise BadUsage("values without a schema id cannot be looked up in a registry: give the schema by valueSchema")
    if (kind == "protobuf" and path is not None) != (message is not None):
        raise BadUsage(
            "the option valueMessage goes with valueFormat=protobuf and valueSchema: the message's full name"
        )
    subjects = tuple(name.strip() for name in given.get("valueSubjects", "").split(",") if name.strip())
    if subjects and registry is None:
        raise BadUsage("the option valueSubjects needs valueRegistryUrl")
    return ValueOptions(
        format=cast(ValueFormat, kind),
        is_framed=framing == "confluent",
        schema_path=None if path is None else normalize(path),
        message=message,
        registry_url=registry,
        subjects=subjects or None,
    )
