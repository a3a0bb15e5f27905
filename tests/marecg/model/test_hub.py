"""A model on the hub, fetched over HTTP as the hub speaks it."""

import json
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import torch
from huggingface_hub import constants

from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import FILES

COMMIT = "a" * 40


def hub(folder: Path, asked: list[str]) -> type[BaseHTTPRequestHandler]:
    """The part of the hub's protocol that a download speaks, for one repository that also holds a pickle."""
    (folder / "weights.pkl").write_bytes(b"never to be fetched")
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    listing = {"id": "someone/mar-ecg", "sha": COMMIT, "siblings": [{"rfilename": name} for name in sizes]}
    of_all = {"type": "file", "oid": "b" * 40}
    tree = [of_all | {"path": name, "size": size} for name, size in sizes.items()]

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            head = {"X-Repo-Commit": COMMIT}
            if "/api/" in self.path:
                content = json.dumps(tree if "/tree/" in self.path else listing).encode()
            else:
                content = (folder / self.path.rpartition("/")[2]).read_bytes()
                head["ETag"] = f'"{sha256(content).hexdigest()}"'
            self.send_response(200)
            for key, value in {**head, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None: ...

    return Hub


def test_only_the_three_files_of_a_revision_are_fetched_and_later_read_without_network(
    micro, tmp_path, serve, monkeypatch
):
    model, asked = MarEcg(micro.model), []
    model.save_pretrained(tmp_path / "model")
    address = serve(hub(tmp_path / "model", asked))
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    again = MarEcg.from_pretrained("someone/mar-ecg", revision="v1", cache_dir=tmp_path / "cache")
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())
    assert any(path.endswith("/revision/v1") for path in asked)
    assert {path.rpartition("/")[2] for path in asked if f"/resolve/{COMMIT}/" in path} == set(FILES)
    asked.clear()
    cached = {"cache_dir": tmp_path / "cache", "local_files_only": True}
    assert MarEcg.from_pretrained("someone/mar-ecg", revision=COMMIT, **cached).config == model.config
    assert not asked
