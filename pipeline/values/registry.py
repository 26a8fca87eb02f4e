"""A schema registry's answers as schemas, by the REST API that Confluent's, Karapace and Apicurio (ccompat) have.

| question | answer |
|---|---|
| `GET /subjects/<subject>/versions` | the numbers of its versions |
| `GET /subjects/<subject>/versions/<n>` | `id`, `schema`, `schemaType` (none: AVRO), `references` |
| the same with `?format=serialized` | a protobuf schema as a `FileDescriptorProto` in base64 |
"""

import json
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ..failures import BadUsage, PipelineFailure
from .schemas import MAX_SCHEMA_BYTES, Schema, ValueFormat

MAX_REFERENCES = 1000
TIMEOUT_S = 10.0
TRIES = 4


class Registry:
    """The registry at a URL, which may have `user:password@`. What was asked once is not asked again."""

    def __init__(self, url: str) -> None:
        """Raises: BadUsage for what is no URL."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadUsage("the option valueRegistryUrl begins with http:// or https:// and a host")
        self._url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        self._answers: dict[str, Mapping[str, Any]] = {}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"

    def schemas(self, subjects: Iterable[str], kind: ValueFormat) -> dict[int, Schema]:
        """The schemas of all versions of the subjects, by id. Raises: BadUsage for an unknown one, PipelineFailure."""
        found: dict[int, Schema] = {}
        for subject in subjects:
            versions = self._get(f"/subjects/{quote(subject, safe='')}/versions")
            if not versions:
                raise BadUsage(f"{self._url} has no subject {subject}; the option valueSubjects names others")
            for version in versions:
                answer = self._fetch_version(subject, version, kind)
                references = self._collect_references(answer, kind, {})
                found[int(answer["id"])] = Schema(definition=answer["schema"], references=tuple(references.items()))
        return found

    def _collect_references(
        self, answer: Mapping[str, Any], kind: ValueFormat, found: dict[str, str]
    ) -> dict[str, str]:
        """Adds what the schema refers to, each behind what it refers to itself."""
        for each in answer.get("references") or ():
            if each["name"] not in found:
                if len(found) >= MAX_REFERENCES:
                    raise PipelineFailure(f"{self._url}: a schema with more than {MAX_REFERENCES} references")
                of_reference = self._fetch_version(each["subject"], each["version"], kind)
                self._collect_references(of_reference, kind, found)
                found[each["name"]] = of_reference["schema"]
        return found

    def _fetch_version(self, subject: str, version: int, kind: ValueFormat) -> Mapping[str, Any]:
        query = "?format=serialized" if kind == "protobuf" else ""
        path = f"/subjects/{quote(subject, safe='')}/versions/{int(version)}{query}"
        if path in self._answers:
            return self._answers[path]
        answer = self._get(path)
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str) or "id" not in answer:
            raise PipelineFailure(f"{self._url}{path}: no schema in the answer")
        said = answer.get("schemaType") or "AVRO"
        if said.lower() != kind:
            raise BadUsage(f"{self._url}{path}: its schema is of type {said}, the option valueFormat says {kind}")
        self._answers[path] = answer
        return answer

    def _get(self, path: str) -> Any:
        """The answer's JSON, None for 404. Raises: PipelineFailure."""
        request = urllib.request.Request(self._url + path, headers=self._headers)
        problem: Exception | None = None
        for _ in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                    return json.loads(answer.read(MAX_SCHEMA_BYTES))
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404:
                    return None
                problem = error
                if error.code < 500:
                    break
            except (OSError, ValueError) as error:
                problem = error
        raise PipelineFailure(f"{self._url}{path}: {problem}") from problem
