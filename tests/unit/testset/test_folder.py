"""The folder of cases: hostile names stay inside, nothing is overwritten, no link is followed."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trailhound.document import trajectory_document
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.folder import CaseFolder, slug, trace_part
from trailhound.evaluators.testset.promote import build_case, put_case
from trailhound.testing_runs import TRACE_ID, make_call, make_finding, make_run

NAME = re.compile(r"[0-9a-f]{32}-[a-z0-9-]{1,64}\.yaml")
HOSTILE = [
    "../../etc/passwd",
    "/etc/passwd",
    "a\x00b",
    "..",
    ".",
    "",
    "x" * 4096,
    "naïve ✓ 😀",
    "-rf",
    "a/b\\c",
    "CON",
    "\n",
    "${HOME}",
    "\ud800",
]


def case_of(words: str, trace_id: str = TRACE_ID, trajectory_id: str = "run-1") -> Case:
    """A case whose every name was chosen by a model with bad intentions."""
    call = make_call(1, words, {"a": 1})
    finding = make_finding("approval", "critical", call, details={"tool": words}, summary=words)
    document = trajectory_document(
        make_run([call], [finding], agent=words, service=words, trace_ids=[trace_id], trajectory_id=trajectory_id)
    )
    return build_case(document)


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("trace_id", [TRACE_ID, "../../../etc/cron.d/x", "/abs", "\x00", "x" * 4096, "É"])
def test_hostile_names_stay_inside(words: str, trace_id: str, tmp_path: Path) -> None:
    root = tmp_path / "cases"
    with CaseFolder(root) as folder:
        promoted = put_case(folder, case_of(words, trace_id))
    assert promoted.written
    assert NAME.fullmatch(promoted.name)
    assert [path.name for path in root.iterdir()] == [promoted.name]
    assert list(tmp_path.iterdir()) == [root]


@given(st.text(st.characters()))
def test_a_slug_is_short_and_plain(words: str) -> None:
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?", slug(words))
    assert re.fullmatch(r"[0-9a-f]{32}", trace_part(words))


@pytest.mark.parametrize(
    "name",
    ["../x.yaml", "/tmp/x.yaml", "x.yaml", f"{TRACE_ID}-a.yaml/../../x", f"{TRACE_ID}-A.yaml", f"{TRACE_ID}-a.yaml\n"],
)
def test_the_folder_itself_refuses_other_names(name: str, tmp_path: Path) -> None:
    with CaseFolder(tmp_path) as folder, pytest.raises(Invalid):
        folder.write(name, "x")
    assert not list(tmp_path.iterdir())


def test_the_same_run_twice_is_one_file(tmp_path: Path) -> None:
    with CaseFolder(tmp_path) as folder:
        first, second = put_case(folder, case_of("refund")), put_case(folder, case_of("refund"))
    assert (first.name, first.written, second.written) == (second.name, True, False)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_same_run_under_another_finding_is_still_one_file(tmp_path: Path) -> None:
    with CaseFolder(tmp_path) as folder:
        first, second = put_case(folder, case_of("refund")), put_case(folder, case_of("delete"))
    assert second.name == first.name
    assert not second.written


def test_two_runs_of_one_trace_are_two_files(tmp_path: Path) -> None:
    with CaseFolder(tmp_path) as folder:
        names = {put_case(folder, case_of("refund", trajectory_id=f"run-{n}")).name for n in range(3)}
    base = f"{TRACE_ID}-approval-refund"
    assert names == {f"{base}.yaml", f"{base}-2.yaml", f"{base}-3.yaml"}


@pytest.mark.parametrize("content", ["", "not: a case", "&a [*a]", None])
def test_what_lies_there_already_is_left_alone(content: str | None, tmp_path: Path) -> None:
    taken = tmp_path / f"{TRACE_ID}-approval-refund.yaml"
    outside = tmp_path / "outside"
    outside.write_text("precious")
    root = tmp_path
    if content is None:
        taken.symlink_to(outside)
    else:
        taken.write_text(content)
    with CaseFolder(root) as folder:
        promoted = put_case(folder, case_of("refund"))
    assert promoted.name == f"{TRACE_ID}-approval-refund-2.yaml"
    assert outside.read_text() == "precious"
    assert content is None or taken.read_text() == content


def test_a_dangling_link_is_not_written_through(tmp_path: Path) -> None:
    root = tmp_path / "cases"
    root.mkdir()
    (root / f"{TRACE_ID}-approval-refund.yaml").symlink_to(tmp_path / "target")
    with CaseFolder(root) as folder:
        put_case(folder, case_of("refund"))
    assert not (tmp_path / "target").exists()


def test_a_fifo_in_the_folder_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"{TRACE_ID}-approval-refund.yaml")
    with CaseFolder(tmp_path) as folder:
        assert put_case(folder, case_of("refund")).written


def test_a_link_as_the_folder_leads_where_it_did_when_it_was_opened(tmp_path: Path) -> None:
    real, other, link = tmp_path / "real", tmp_path / "other", tmp_path / "link"
    real.mkdir()
    other.mkdir()
    link.symlink_to(real)
    with CaseFolder(link) as folder:
        link.unlink()
        link.symlink_to(other)
        put_case(folder, case_of("refund"))
    assert len(list(real.iterdir())) == 1
    assert not list(other.iterdir())


def test_many_at_once_write_one_file(tmp_path: Path) -> None:
    written = []

    def promote() -> None:
        with CaseFolder(tmp_path) as folder:
            written.append(put_case(folder, case_of("refund")).written)

    threads = [threading.Thread(target=promote) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == [False] * 7 + [True]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("into", ["file", "file/below", "a\x00b"])
def test_a_folder_that_cannot_be_is_one_line(into: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Invalid, match="choose another folder with --into"):
        CaseFolder(tmp_path / into)
