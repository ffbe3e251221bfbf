"""The scrubber: any moment of a journal, from a keyframe before it, equals the fold up to that moment."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.scheduler.making import a_node, a_pod, bound, target

from reprieve.assembly.caller_page import Recording, RecordingError, recording_in
from reprieve.model.effects import Effect
from reprieve.model.events import Done, Gone, Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.page import history
from reprieve.page.documents import PageHead, picture_json
from reprieve.page.history import JournalHistory, fold_entry
from reprieve.page.picture import Picture
from reprieve.runtime.journal import (
    Bounds,
    Journal,
    Journaled,
    JournalError,
    JournalPosition,
    read_entries,
    read_located_entries,
)
from reprieve.runtime.journal_lines import Began
from reprieve.scheduler.core import Scheduler

HEAD = PageHead("c", "offline")


def write(directory: Path, bounds: Bounds | None = None, pods: int = 40) -> None:
    """Pods come and go; some preempt."""
    with closing(Journal(directory, {}, print, bounds or Bounds())) as journal:
        machine = Journaled(Scheduler(), journal)
        machine.observe([Seen(a_node("n1", cpu="4")), Synced()], on_one_clock(60.0))
        effects: list[Effect] = []
        for i in range(pods):
            now = 60.0 + 10 * i
            pod = a_pod(f"p{i}", cpu="3", priority=i)
            effects = machine.observe([*map(Done, effects), Seen(pod)], on_one_clock(now))
            while (decided := machine.decide(on_one_clock(now))) is not None:
                effects += decided.effects
            sights = [Seen(bound(pod, "n1"))]
            gone = [Gone(target(a_pod(f"p{i - 1}")), "500")] if i else []
            effects = machine.observe([*map(Done, effects), *gone, *sights], on_one_clock(now + 5.0))


def loaded(directory: Path) -> JournalHistory:
    found = JournalHistory(lambda start: read_located_entries(directory, start))
    found.load()
    return found


def folded_until(directory: Path, time: float) -> Picture:
    picture = Picture()
    for entry in read_entries(directory):
        if not isinstance(entry, Began) and entry.at > time:
            break
        fold_entry(picture, entry)
    return picture


@pytest.mark.parametrize("files", [1_000_000, 3_000])
def test_every_moment_is_that_of_the_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    monkeypatch.setattr(history, "_FIRST_SPACING", 3)
    monkeypatch.setattr(history, "MOST_KEYFRAMES", 5)
    write(tmp_path, Bounds(file_bytes=files, files=1_000))
    found = loaded(tmp_path)
    for time in (0.0, 60.0, 61.0, 95.5, 200.0, 333.3, 455.0, 10_000.0):
        shown = picture_json(HEAD, found.at(time).picture)
        assert shown == picture_json(HEAD, folded_until(tmp_path, time)), time
    keyframes = found._keyframes
    assert 2 <= len(keyframes) <= 5, "however long the journal is"


def test_objects_are_those_that_the_scheduler_knew(tmp_path: Path) -> None:
    write(tmp_path, pods=5)
    found = loaded(tmp_path)
    names = {seen.object.metadata.name for seen in found.at(72.0).objects.all()}
    assert names == {"n1", "p0", "p1"}
    assert {seen.object.metadata.name for seen in found.last.objects.all()} == {"n1", "p4"}


def test_preemptions_are_counted_by_the_minute(tmp_path: Path) -> None:
    write(tmp_path)
    document = loaded(tmp_path).document()
    assert (document["from"], document["to"], document["knownSince"]) == (60.0, 455.0, None)
    minutes = dict(document["preemptions"])
    assert set(minutes) <= {60.0 * n for n in range(1, 9)}
    assert sum(minutes.values()) > 0


def test_a_journal_whose_beginning_is_gone_says_since_when_it_is_known(tmp_path: Path) -> None:
    write(tmp_path, Bounds(file_bytes=3_000, files=4))
    found = loaded(tmp_path)
    document = found.document()
    assert document["knownSince"] == document["from"] > 60.0
    assert found.last.known_since == document["knownSince"]
    assert found.last.picture.nodes() == [], "the node did not change since"


def test_a_new_run_knows_all_again(tmp_path: Path) -> None:
    write(tmp_path, Bounds(file_bytes=3_000, files=4))
    write(tmp_path, Bounds(file_bytes=1_000_000, files=4), pods=2)
    found = loaded(tmp_path)
    assert found.document()["knownSince"] is not None
    assert found.last.known_since is None
    assert [row.name for row in found.last.picture.nodes()] == ["n1"]


def test_a_journal_that_goes_on_is_read_on(tmp_path: Path) -> None:
    found = JournalHistory(lambda start: read_located_entries(tmp_path, start))
    with closing(Journal(tmp_path, {}, print)) as journal:
        machine = Journaled(Scheduler(), journal)
        for i in range(5):
            machine.observe([Seen(a_pod(f"p{i}"))], on_one_clock(60.0 + i))
            found.load()
            assert len(found.at(1_000.0).picture.pods()) == i + 1
    file = tmp_path / "00000001.jsonl"
    file.write_bytes(file.read_bytes() + b'{"at":99.0,"ev')
    found.load()
    assert found.last_time == 64.0


def test_a_file_that_was_removed_meanwhile_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, Bounds(file_bytes=3_000, files=1_000))
    found = loaded(tmp_path)
    found.load()
    for file in sorted(tmp_path.iterdir())[:3]:
        file.unlink()
    begin = JournalPosition(1, 0, 0)
    with pytest.raises(JournalError, match="was removed while it was read"):
        next(read_located_entries(tmp_path, begin))


# --- recordings that cannot be shown -------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        recording_in(path)
    return str(caught.value)


def journal_of(recording: Recording) -> JournalHistory:
    assert isinstance(recording.source, JournalHistory)
    return recording.source


def test_a_data_directory_is_as_good_as_its_journal(tmp_path: Path) -> None:
    write(tmp_path / "data" / "journal", pods=2)
    recording = recording_in(tmp_path / "data")
    assert recording.name == "data"
    assert journal_of(recording).last_time == 75.0


def test_a_journal_that_is_cut_off_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    write(tmp_path, pods=3)
    file = tmp_path / "00000001.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    assert journal_of(recording_in(tmp_path)).last_time >= 80.0


def test_what_is_wrong_with_a_recording_is_a_sentence(tmp_path: Path) -> None:
    assert "expected a journal" in refused(tmp_path)
    assert refused(tmp_path / "absent").endswith("cannot be read: no such file or directory")
    file = tmp_path / "00000001.jsonl"
    file.write_bytes(b'{"begin":99,"head":{}}\n')
    assert "has format 99, and this version of Reprieve reads 1 to 4" in refused(tmp_path)
    assert refused(file).endswith(f"is one file of a journal: name its directory, {tmp_path}")
    file.write_bytes(b"hello\n")
    assert "line 1 is not a line of a journal" in refused(tmp_path)
    file.write_bytes(b'{"at":1.0,"decision":{"id":5}}\n')
    assert "a decision of the journal cannot be read" in refused(tmp_path)
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    assert "expected a Kubernetes object" in refused(text)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    assert str(tmp_path / "binary") in refused(tmp_path / "binary")
