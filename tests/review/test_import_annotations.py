"""Decisions that were made with Label Studio or Potato, taken into a review."""

import json

import pytest

from contrafact.errors import InputError
from contrafact.review.assignment import assign
from contrafact.review.events import NotAllowed
from contrafact.review.external_formats import read_annotations
from contrafact.review.import_annotations import ImportSource, import_annotations
from contrafact.review.project import load_project
from contrafact.review.setup import define_project, import_items, set_roles
from contrafact.review.state import ReviewState, replay
from contrafact.review.workflow import undo

HEADLINE = "Corvane Rail opens a line to the coast"


def task(number, answers, by=1, data=None, **more):
    results = [
        {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [message]}}
        for name, message in answers.items()
    ]
    annotation = {"id": 100 + number, "completed_by": by, "result": results, **more}
    annotation.setdefault("updated_at", "2031-02-03T10:00:00Z")
    return {"id": number, "data": data or {"item_id": f"i{number}"}, "annotations": [annotation]}


@pytest.fixture
def state(review_team):
    return review_team.state("cobe-rating", items=3)


def take(state, review_team, path, tool="label-studio", people=None, **options):
    people = {"1": "Cem", "dia@example.org": "Dia"} if people is None else people
    source = ImportSource(tool, path.name, people=people, **options)
    found = read_annotations(path, tool)
    return import_annotations(
        state, found, source, "Max", now=review_team.now, rng=review_team.rng()
    )


def test_label_studios_decisions_become_ours_marked_with_where_they_come_from(
    state, review_team, tmp_path, written
):
    rows = [
        task(0, {"rating": "Yes"}),
        task(1, {"rating": "no"}, by={"id": 7, "email": "dia@example.org"}),
    ]
    path = written(tmp_path, "export.json", rows)
    found, events = take(state, review_team, path)
    assert (found.imported, found.duplicates, found.problems) == (2, 0, [])
    vote, other = state.items["i0"].votes[0], state.items["i1"].votes[0]
    assert (vote.who, vote.ballot.verdict, other.who, other.ballot.verdict) == (
        "Cem", "Yes", "Dia", "No",
    )  # fmt: skip
    assert vote.origin["tool"] == "label-studio" and vote.origin["file"] == "export.json"
    assert (vote.origin["by"], vote.origin["key"], vote.origin["line"]) == ("1", "100", 1)
    assert vote.origin["when"].startswith("2031-02-03")
    assert all("origin" in event.body for event in events if event.kind == "answered")
    again, none = take(state, review_team, path)
    assert (again.imported, again.duplicates, none) == (0, 2, [])


def test_what_was_imported_moves_items_on_and_can_be_replayed(review_team, tmp_path, written):
    project = load_project("cobe-rating")
    state, now = ReviewState(project), review_team.now
    log = define_project(state, project, "Max", now)
    for name in ("Cem", "Dia", "Eve"):
        log += set_roles(state, name, ["rater"], "Max", now)
    log += import_items(state, {"i0": review_team.item(0)}, "Max", now)
    tasks = task(0, {"rating": "Yes"})
    for by in (2, 3):
        tasks["annotations"] += task(0, {"rating": "Yes"}, by=by, id=by)["annotations"]
    path = written(tmp_path, "export.json", [tasks])
    found, events = take(state, review_team, path, people={"1": "Cem", "2": "Dia", "3": "Eve"})
    assert found.imported == 3 and state.items["i0"].outcome == "final"
    assert replay(log + events).items == state.items


def test_what_does_not_fit_is_reported_with_its_line_and_changes_nothing(
    state, review_team, tmp_path, written
):
    import_items(state, {"twin": review_team.item(0)}, "Max", review_team.now)
    rows = [
        task(9, {"rating": "Yes"}),
        task(0, {"rating": "Maybe"}),
        task(1, {}),
        task(1, {"rating": "Yes"}, by=99),
        task(2, {"rating": "Yes"}, was_cancelled=True),
        task(2, {"rating": "Other"}),
        task(0, {"rating": "Yes"}, data=review_team.item(0)),
        task(0, {"rating": "Yes"}, data={"item_id": "i0", "text": "Another story."}),
    ]
    path = written(tmp_path, "export.jsonl", rows)
    seq = state.seq
    found, events = take(state, review_team, path)
    assert (found.imported, events, state.seq) == (0, [], seq)
    shown = [
        ":1: there is no item 'i9' in this review",
        ":2: 'Maybe' is no answer to 'rating'; its answers are Yes, No, Other",
        ":3: question 'rating' is not answered",
        ":4: nobody named '99' works in this review",
        ":5: the annotator skipped it",
        ":6: 'Other' needs a comment",
        ":7: several items have the text of",
        ":8: item 'i0' has another text here",
    ]
    assert len(found.problems) == len(shown)
    for problem, wanted in zip(found.problems, shown, strict=True):
        assert wanted in problem and problem.endswith("; left out")


def test_items_are_found_by_their_text_and_a_task_number_is_no_id(review_team, tmp_path, written):
    state = review_team.state("cobe-rating")
    new = {"0": review_team.item(5), "1": review_team.item(6)}
    import_items(state, new, "Max", review_team.now)
    rows = [task(0, {"rating": "Yes"}, data=review_team.item(6))]
    found, _ = take(state, review_team, written(tmp_path, "e.json", rows))
    assert found.imported == 1
    assert state.items["1"].votes and not state.items["0"].votes
    rows = [task(0, {"rating": "Yes"}, data={"something": "else"})]
    found, _ = take(state, review_team, written(tmp_path, "f.json", rows))
    assert "there is no item without an id" in found.problems[0]


def test_other_names_of_questions_comments_and_flags(review_team, tmp_path, written):
    state = review_team.state("headline-screening", items=2)
    rows = [
        {
            **task(0, {"event": "true", "material_relevance": "false"}),
        }
    ]
    rows[0]["annotations"][0]["result"] += [
        {"from_name": "notes", "type": "textarea", "value": {"text": ["hard", "to say"]}},
        {"from_name": "doubt", "type": "choices", "value": {"choices": ["unsure"]}},
    ]
    names = {"event_status": "event", "comment": "notes", "flag": "doubt"}
    found, _ = take(state, review_team, written(tmp_path, "e.json", rows), names=names)
    assert found.problems == []
    ballot = state.items["i0"].votes[0].ballot
    assert ballot.answers == {"event_status": "true", "material_relevance": "false"}
    assert ballot.flagged and ballot.comment == "hard to say"
    with pytest.raises(NotAllowed, match="'mood' is not asked"):
        take(state, review_team, written(tmp_path, "e.json", rows), names={"mood": "x"})


def test_rules_of_who_may_decide_hold_for_imports_too(review_team, tmp_path, written):
    state = review_team.state("cobe-rating", items=1)
    set_roles(state, "Guest", [], "Max", review_team.now)
    people = {"1": "Guest"}
    path = written(tmp_path, "e.json", [task(0, {"rating": "Yes"})])
    found, _ = take(state, review_team, path, people=people)
    assert "there is no place for 'Guest' at item 'i0'" in found.problems[0]
    with pytest.raises(NotAllowed, match="no stage in which people decide"):
        take(state, review_team, path, people=people, stage="nowhere")
    rewrites = review_team.state(items=1)
    found, _ = take(
        rewrites,
        review_team,
        written(tmp_path, "r.json", [task(0, {"category_correct": "false"})]),
        stage="annotation",
    )
    assert "is at stage 'expert-review', not at 'annotation'" in found.problems[0]


def test_an_import_leaves_screens_and_undo_to_their_people(state, review_team, tmp_path, written):
    given, _ = assign(state, "Cem", review_team.now, review_team.rng())
    path = written(tmp_path, "e.json", [task(2, {"rating": "Yes"})])
    found, _ = take(state, review_team, path)
    assert found.imported == 1 and given.item == "i0"
    assert assign(state, "Cem", review_team.now, review_team.rng()) == (given, [])
    with pytest.raises(NotAllowed, match="no decision of yours to undo"):
        undo(state, "Cem", review_team.now)


def test_label_studios_flat_exports(state, review_team, tmp_path, written):
    row = {
        "id": 5, "annotator": 1, "annotation_id": 44, "lead_time": 3.5,
        "created_at": "2031-02-03T10:00:00Z", "item_id": "i0",
        "rating": {"choices": ["No"]},
    }  # fmt: skip
    for name in ("min.json", "flat.csv"):
        rating = row["rating"] if name == "min.json" else "No"
        path = written(tmp_path, name, [{**row, "rating": rating}])
        (one,) = read_annotations(path, "label-studio")
        assert (one.by, one.key, one.ids, one.answers["rating"]) == ("1", "44", ("i0",), ("No",))
    found, _ = take(state, review_team, path)
    assert found.imported == 1


POTATO = {"instance_id": "i0", "user_id": "Cem"}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("a.jsonl", {**POTATO, "labels": {"rating": {"Yes": True}}, "spans": {}, "links": {}}),
        ("a.jsonl", {**POTATO, "labels": {"rating": {"Yes": "true", "No": "false"}}}),
        ("a.csv", {**POTATO, "rating.Yes": "true", "rating.No": "", "why._spans": "[]"}),
        ("a.csv", {**POTATO, "rating.Yes": "1", "rating.No": "1", "rating": "Yes"}),
        ("a.csv", {"user": "Cem", "instance_id": "i0", "displayed_text": "x", "rating:::Yes": "1"}),
        ("a.parquet", {**POTATO, "rating": "Yes"}),
    ],
)
def test_every_form_that_potato_writes(state, review_team, tmp_path, name, row, written):
    found, _ = take(state, review_team, written(tmp_path, name, [row]), "potato", people={})
    assert (found.imported, found.problems) == (1, [])
    assert state.items["i0"].votes[0].ballot.verdict == "Yes"
    assert state.items["i0"].votes[0].origin["tool"] == "potato"


def test_potatos_earlier_files_lie_in_a_folder_per_person(state, review_team, tmp_path, written):
    folder = tmp_path / "Dia"
    folder.mkdir()
    row = {
        "id": "i1",
        "displayed_text": "…",
        "label_annotations": {"rating": {"Other": "true"}, "comment": {"text_box": "muddled"}},
        "span_annotations": {},
        "behavioral_data": {},
    }
    path = written(folder, "annotated_instances.jsonl", [row])
    found, _ = take(state, review_team, path, "potato", people={})
    assert found.problems == []
    vote = state.items["i1"].votes[0]
    assert (vote.who, vote.ballot.verdict, vote.ballot.comment) == ("Dia", "Other", "muddled")
    (one,) = read_annotations(path, "potato", annotator="Cem")
    assert one.by == "Cem"


@pytest.mark.parametrize(
    "labels",
    [
        [[{"schema": "rating", "name": "Yes"}, True]],
        [[{"schema": "rating", "name": "Yes"}, "Yes"], [{"schema": "why", "name": "a"}, "false"]],
        {"rating": {"Yes": "true", "No": "false"}},
    ],
)
def test_what_potatos_server_keeps_of_a_person(state, review_team, tmp_path, labels):
    kept = {
        "user_id": "Cem",
        "instance_id_ordering": ["i0", "i1"],
        "instance_id_to_label_to_value": {"i0": labels, "i1": []},
        "instance_id_to_span_to_value": {},
    }
    path = tmp_path / "user_state.json"
    path.write_text(json.dumps(kept, indent=2))
    found, _ = take(state, review_team, path, "potato", people={})
    assert found.imported == 1 and "nothing is answered" in found.problems[0]
    vote = state.items["i0"].votes[0]
    assert (vote.who, vote.ballot.verdict) == ("Cem", "Yes")
    again, _ = take(state, review_team, path, "potato", people={})
    assert (again.imported, again.duplicates) == (0, 1)


def test_a_persons_file_of_another_form_is_reported(tmp_path):
    path = tmp_path / "user_state.json"
    path.write_text(json.dumps({"instance_id_to_label_to_value": {"i0": [["rating", "Yes"]]}}))
    with pytest.raises(InputError, match=r"user_state\.json:1: the labels of 'i0' are not"):
        read_annotations(path, "potato")
    renamed = path.rename(tmp_path / "export.json")
    with pytest.raises(InputError, match="nobody is named"):
        read_annotations(renamed, "potato")


def test_label_studios_flat_exports_hold_several_texts_as_json(tmp_path, written):
    row = {
        "id": 5, "annotator": "cem@example.org", "annotation_id": 44, "agreement": 0.5,
        "item_id": "i0", "rating": "Other", "comment": json.dumps([{"text": ["one", "two"]}]),
    }  # fmt: skip
    (one,) = read_annotations(written(tmp_path, "flat.csv", [row]), "label-studio")
    assert one.answers["comment"] == ("one", "two")
    assert "agreement" not in one.answers


@pytest.mark.parametrize(
    ("tool", "row", "message"),
    [
        ("label-studio", {"text": "x"}, ":1: this is no task of Label Studio"),
        ("label-studio", {"data": {}, "annotations": [3]}, ":1: an annotation is no object"),
        ("label-studio", {"data": {}, "annotations": []}, "holds no annotations"),
        ("potato", {"text": "x"}, ":1: this is no row of Potato"),
        ("potato", {"id": "i0", "labels": {}}, ":1: nobody is named"),
    ],
)
def test_files_of_another_kind_are_reported(tmp_path, tool, row, message, written):
    with pytest.raises(InputError) as caught:
        read_annotations(written(tmp_path, "x.jsonl", [row]), tool)
    assert message in str(caught.value)


def test_the_command_takes_decisions_in_and_tells_what_it_left_out(
    quick_contrafact, tmp_path, written
):
    row = {"id": "i0", "text": "It rained.", "query": "Had it not?", "edit": "It was dry.",
           "story_id": "1v0"}  # fmt: skip
    written(tmp_path, "items.jsonl", [row])
    team = [part for name in ("Cem", "Dia", "Eve") for part in ("--person", f"{name}=rater")]
    run = quick_contrafact("review", "import", "items.jsonl", "--project", "cobe-rating", *team)
    assert run.returncode == 0, run.stderr
    written(tmp_path, "e.json", [task(0, {"verdict": "Yes"}), task(4, {"verdict": "Yes"})])
    command = ("review", "import", "e.json", "--from", "label-studio", "--annotator", "1=Cem",
               "--field", "rating=verdict")  # fmt: skip
    run = quick_contrafact(*command)
    assert run.returncode == 0
    assert run.stdout == "review: decisions imported: 1, already there: 0, left out: 1\n"
    assert run.stderr == (
        "e.json:1: there is no item 'i4' in this review; import the items first; left out\n"
    )
    assert (
        "decisions imported: 0, already there: 1, left out: 1" in quick_contrafact(*command).stdout
    )
    proof = quick_contrafact("review", "prove")
    assert proof.returncode == 0, proof.stdout
    for arguments, message in (
        (("--stage", "rating"), "go with --from"),
        (("--from", "potato", "--training"), "not items to train on"),
        (("--from", "potato", "--review", "other"), "import items first"),
        (("--from", "label-studio", "--stage", "x"), "no stage in which people decide"),
    ):
        run = quick_contrafact("review", "import", "e.json", *arguments)
        assert run.returncode == 2 and message in run.stderr, run.stderr
        assert len(run.stderr.strip().splitlines()) == 1


def test_an_import_that_fails_leaves_no_database(quick_contrafact, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    for arguments in (
        ("none.jsonl", "--project", "cobe-rating"),
        ("none.jsonl", "--project", "cobe-rating", "--training"),
        ("empty.jsonl", "--project", "no-such-project"),
        ("empty.jsonl",),
        ("none.json", "--from", "potato"),
    ):
        run = quick_contrafact("review", "import", *arguments)
        assert run.returncode == 2, run.stderr
        assert len(run.stderr.strip().splitlines()) == 1
        assert not list(tmp_path.glob("review.db*"))
