"""A lock that was removed is noticed, and a build writes everything or nothing."""

import signal
import subprocess
import sys

import pytest
from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_base import OutputError, UsageError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.checks.enumeration import version_of
from ecg_ontology.curation.building import build, built_files
from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.transaction import PENDING, finish, write_all

MOVED = (
    "snomedct:195042002\t2nd degree av block\tskos:exactMatch\tcardiac:2AVB\tSecond-degree AV block",
    "snomedct:195042002\t2nd degree av block\tskos:closeMatch\tcardiac:3AVB\tComplete AV block",
)


def ids(small):
    return {finding.id for finding in ecg_ontology.validate(small, "curated")}


def state(small):
    return {
        path.name: path.read_bytes() for path in small.iterdir() if path.is_file() and path.name[0] != "."
    }


def test_a_removed_lock_is_an_error_of_every_command(small, tmp_path):
    (small / "enumeration.lock").unlink()
    assert {"CCG-E208", "CCG-E210"} <= ids(small)
    with pytest.raises(SourceError, match=r"the lock of .* is missing"):
        ecg_ontology.load(small)
    for version in ("", "1.2.0", "1.3.0"):
        with pytest.raises(SourceError, match="CCG-E210"):
            built_files(small, tmp_path / "new.json", version)


def test_a_version_below_that_of_the_tables_makes_no_new_beginning(small, tmp_path):
    (small / "enumeration.lock").unlink()
    edit(small / "cardiac.ttl", ('"1.2.0"', '"0.9.0"'), ("cardiac/1.2.0>", "cardiac/0.9.0>"))
    with pytest.raises(SourceError, match=r"must have the version 0\.9\.0 of the graph, got 1\.2\.0"):
        built_files(small, tmp_path / "new.json")


@pytest.mark.parametrize(
    ("file", "old", "new", "rule"),
    [
        (
            "routing.sssom.tsv",
            'snomedct: "http://snomed.info/id/"',
            'snomedct: "http://snomed.evil/"',
            "CCG-E318",
        ),
        ("routing.scp.sssom.tsv", 'mapping_set_version: "1.2.0"', 'mapping_set_version: "9.9.9"', "CCG-E210"),
        ("routing.scp.sssom.tsv", '#  scp: "https://w3id.org/mar-ecg/scp/"\n', "", "CCG-W319"),
        (
            "routing.sssom.tsv",
            "\t\t\nsnomedct:426177001",
            "\tDr. X\t9999-01-01\nsnomedct:426177001",
            "CCG-E320",
        ),
        ("routing.sssom.tsv", "\tcomment\t", "\tcoment\t", "CCG-W322"),
        ("routing.curated.sssom.tsv", "snomedct:900000000000207008", "snomedct:731000124108", "CCG-W323"),
    ],
)
def test_a_damaged_head_or_row_breaks_a_rule_of_its_own(small, file, old, new, rule):
    edit(small / file, (old, new))
    assert rule in ids(small)


@pytest.mark.parametrize(("confidence", "rule"), [("7.5", "CCG-E320"), ("0.01", "CCG-W321")])
def test_a_confidence_is_a_share_and_a_low_one_is_seen(small, confidence, rule):
    table = small / "routing.scp.sssom.tsv"
    head, _, body = table.read_text(encoding="utf-8").partition("subject_id")
    lines = f"subject_id{body}".splitlines()
    text = "\n".join(
        [f"{lines[0]}\tconfidence", f"{lines[1]}\t{confidence}", *(f"{line}\t" for line in lines[2:])]
    )
    table.write_text(f"{head}{text}\n", encoding="utf-8")
    assert rule in ids(small)


def test_a_graph_in_capital_letters_is_named(small):
    (small / "CARDIAC.TTL").write_text("", encoding="utf-8")
    named = [finding.message for finding in ecg_ontology.validate(small, "curated")]
    assert named == ["CARDIAC.TTL looks like a graph but isn't read"]


def test_versions_are_compared_as_semver_has_it():
    order = ["1.0.0", "1.1.0-alpha", "1.1.0-rc.2", "1.1.0-rc.10", "1.1.0-rc1", "1.1.0", "1.1.1"]
    assert sorted(set(order), key=version_of) == order
    assert version_of("1.1.0+x") == version_of("1.1.0")


def test_a_release_follows_its_candidates(small, tmp_path):
    out = tmp_path / "out.json"
    for version in ("1.3.0-rc1", "1.3.0-rc2", "1.3.0"):
        build(small, out, version)
    with pytest.raises(UsageError, match=r"higher than 1\.3\.0 in the lock, got 1\.3\.0-rc1"):
        built_files(small, out, "1.3.0-rc1")
    assert read_source(small).lock.version == "1.3.0"
    for table in small.glob("*.sssom.tsv"):
        assert 'mapping_set_version: "1.3.0"\n' in table.read_text(encoding="utf-8")


def test_of_two_builds_at_once_the_second_sees_what_the_first_did(small, tmp_path):
    script = (
        "import sys; from pathlib import Path; from ecg_ontology.curation.building import build;"
        f"build(Path({str(small)!r}), Path({str(tmp_path)!r}) / sys.argv[1], sys.argv[1][:-5])"
    )
    versions = ("1.3.0", "1.4.0")
    running = [
        subprocess.Popen([sys.executable, "-c", script, f"{v}.json"], stderr=subprocess.DEVNULL)
        for v in versions
    ]
    ended = [each.wait() for each in running]
    assert read_source(small).lock.version == "1.4.0"
    assert ended[1] == 0
    assert ids(small) == set()


def test_a_build_that_is_killed_once_its_change_holds_is_finished_by_the_next_reader(
    small, tmp_path, monkeypatch
):
    after = built_files(small, tmp_path / "o.json", "1.3.0")
    monkeypatch.setattr("ecg_ontology.formats.transaction.finish", lambda sources: None)
    write_all(small, {path: text for path, text in after.items() if path.parent == small})
    monkeypatch.undo()
    (small / PENDING / "cardiac.ttl").replace(small / "cardiac.ttl")  # killed after one of them
    assert ecg_ontology.load(small).header.version == "1.3.0"
    assert not (small / PENDING).exists()
    assert ids(small) == set()


@pytest.mark.parametrize("step", range(4))
def test_a_full_disk_leaves_the_sources_as_they_were(small, tmp_path, monkeypatch, step):
    before, written_texts = state(small), iter(range(100))
    original = type(small).write_text

    def write_text(path, *args, **kwargs):
        if next(written_texts) == 2 * step:
            raise OSError(28, "No space left on device")
        return original(path, *args, **kwargs)

    monkeypatch.setattr(type(small), "write_text", write_text)
    with pytest.raises(OutputError, match="No space left"):
        build(small, tmp_path / "o.json", "1.3.0")
    monkeypatch.undo()
    assert state(small) == before
    assert not [
        path for path in small.iterdir() if path.name.startswith(".") and path.name != ".ecgonto.lock"
    ]


@pytest.mark.slow
def test_forty_kills_leave_the_old_state_or_the_new(small, tmp_path):
    script = (
        "from pathlib import Path; from ecg_ontology.curation.building import build;"
        f"print(flush=True); build(Path({str(small)!r}), Path({str(tmp_path)!r}) / 'o.json', '1.3.0')"
    )
    old = state(small)
    new = {
        path.name: text.encode()
        for path, text in built_files(small, tmp_path / "o.json", "1.3.0").items()
        if path.parent == small
    }
    seen = set()
    for number in range(40):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        process.stdout.readline()
        try:
            process.wait(0.02 * number)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        process.stdout.close()
        finish(small)
        seen.add(now := state(small) == old)
        assert now or state(small) == old | new
        if not now:
            for name, content in old.items():
                (small / name).write_bytes(content)
    assert True in seen


def test_a_change_of_a_stranger_s_folder_stays_in_the_folder(small, tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine", encoding="utf-8")
    (small / PENDING).symlink_to(tmp_path, target_is_directory=True)
    finish(small)
    assert victim.read_text(encoding="utf-8") == "mine"
