"""A publisher's server on this machine, and how it misbehaves."""

import hashlib
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from ecg_records.readers.catalogue import dataset

FILES = {f"training/georgia/g1/E{n:05d}.{end}": bytes([n]) * 3000 for n in range(4) for end in ("hea", "mat")}
GEORGIA = dataset("georgia")


class Publisher:
    """Files by path, what was asked of them, and how the server misbehaves."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.asked: list[tuple[str, str | None]] = []
        self.breaks: dict[str, list[int]] = {}
        self.ranges = True
        self.retry_after = ""
        self.status = 200
        self.publish()

    def publish(self, **extra: str) -> None:
        """Write the list of checksums as things are now; `extra` adds paths with a checksum."""
        self.files.pop("SHA256SUMS.txt", None)
        lines = [f"{hashlib.sha256(content).hexdigest()} {path}" for path, content in self.files.items()]
        lines += [f"{digest} {path}" for path, digest in extra.items()]
        self.files["SHA256SUMS.txt"] = "\n".join(["0 LICENSE.txt", *lines, ""]).encode()

    def fetched(self) -> list[str]:
        return sorted(path for path, _ in self.asked if path != "SHA256SUMS.txt")


class Handler(BaseHTTPRequestHandler):
    """Serves the publisher's files, or as much as it lets through."""

    publisher: Publisher

    def do_GET(self) -> None:
        path, ranged = self.path.removeprefix("/1.0/"), self.headers["Range"]
        self.publisher.asked.append((path, ranged))
        content = self.publisher.files.get(path)
        if self.publisher.status != 200 or content is None:
            self.send_response(404 if content is None else self.publisher.status)
            if self.publisher.retry_after:
                self.send_header("Retry-After", self.publisher.retry_after)
            self.end_headers()
            return
        first = int(ranged[len("bytes=") : -1]) if ranged and self.publisher.ranges else 0
        if first >= len(content) > 0:
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        breaks = self.publisher.breaks.get(path)
        self.wfile.write(content[first : breaks.pop(0) if breaks else None])

    def log_message(self, *words: object) -> None:
        """Say nothing."""


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXPECTED = {path.removeprefix("training/georgia/"): content for path, content in FILES.items()}
