"""A schema registry on 127.0.0.1 for tests: what Confluent's serializers and the pipeline ask of one."""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

USER = "reader:p@ss"


class SchemaRegistry:
    """The running registry. `asked` are the paths of its GETs; the next `failing` of them are answered with 503."""

    def __init__(self) -> None:
        self.subjects: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.failing = 0
        self.needs_user = False
        self.address = ""
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def url_with_user(self) -> str:
        return f"http://{USER.replace('@', '%40')}@{self.address}"

    def register(
        self, subject: str, schema: str, kind: str = "AVRO", references: list[dict[str, Any]] | None = None
    ) -> int:
        """The id of the schema, the same for the same schema."""
        with self._lock:
            known = [each for versions in self.subjects.values() for each in versions]
            versions = self.subjects.setdefault(subject, [])
            same = next((each for each in known if each["schema"] == schema), None)
            schema_id = int(same["id"]) if same else 100 + len(known)
            found = {"subject": subject, "id": schema_id, "version": len(versions) + 1, "schema": schema}
            if kind != "AVRO":
                found["schemaType"] = kind
            if references:
                found["references"] = references
            if same is None or same not in versions:
                versions.append(found)
            return schema_id

    def answer(self, path: str, user: str | None) -> tuple[int, Any]:
        """Status and JSON for a GET."""
        with self._lock:
            self.asked.append(path)
            if self.failing:
                self.failing -= 1
                return 503, {}
        if self.needs_user and user != f"Basic {b64encode(USER.encode()).decode()}":
            return 401, {"message": "Unauthorized"}
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        match parts:
            case ["subjects", subject, "versions"] if subject in self.subjects:
                return 200, [each["version"] for each in self.subjects[subject]]
            case ["subjects", subject, "versions", number] if subject in self.subjects:
                return 200, self.subjects[subject][int(number) - 1]
        return 404, {"error_code": 40401, "message": "not found"}


@contextmanager
def schema_registry() -> Iterator[SchemaRegistry]:
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*registry.answer(self.path, self.headers.get("Authorization")))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            subject = unquote(urlsplit(self.path).path.split("/")[2])
            found = registry.register(subject, body["schema"], body.get("schemaType", "AVRO"), body.get("references"))
            self._send(200, {"id": found, **body, "subject": subject, "version": len(registry.subjects[subject])})

        def _send(self, status: int, answer: Any) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
