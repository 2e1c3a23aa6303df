"""``contrafact agree``: from a table of ratings to every coefficient, and to one clear line."""

import json

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

import contrafact as cf
from contrafact.errors import InputError
from contrafact.review.export import write_rows
from contrafact.study.agreement import agreement, ratings_of, read_ratings

C3 = "judge,majority,count\nyes,yes,46\nyes,no,2\nno,yes,21\nno,no,31\n"


def coefficients(found, name):
    return {tuple(c["raters"]): c for c in found["coefficients"] if c["name"] == name}


def test_the_counts_of_cobes_study_give_its_printed_figures(quick_contrafact, tmp_path):
    (tmp_path / "c3.csv").write_text(C3)
    run = quick_contrafact(
        "agree", "c3.csv", "--count", "count", "--reference", "majority", "--out", "c3.json"
    )
    assert run.returncode == 0, run.stderr
    for line in ("77.0%", "95.8%", "68.7%", "0.80", "0.55"):
        assert line in run.stdout
    assert "both 46, only judge 2, only majority 21, neither 31" in run.stdout
    found = json.loads((tmp_path / "c3.json").read_text())
    assert found["items"] == 100
    kappa = coefficients(found, "cohen_kappa")["judge", "majority"]
    assert round(kappa["estimate"], 2) == 0.55
    assert kappa["low"] < 0.55 < kappa["high"]
    against = {one["name"]: one["estimate"] for one in found["against"][0]["figures"]}
    assert against["accuracy"] == 0.77
    assert found["disagreements"] == [
        {"item": "line 3", "ratings": {"judge": "yes", "majority": "no"}, "count": 2},
        {"item": "line 4", "ratings": {"judge": "no", "majority": "yes"}, "count": 21},
    ]


def test_a_reviews_exported_ratings_lose_their_guard(quick_contrafact, tmp_path):
    said = {("=Ann", "a"): "-5%", ("=Ann", "b"): "up", ("Bob", "a"): "-5%", ("Bob", "b"): "-5%"}
    rows = [{"item": item, "rater": who, "rating": what} for (who, item), what in said.items()]
    write_rows(rows, tmp_path / "long.csv")
    assert "'=Ann" in (tmp_path / "long.csv").read_text()
    (tmp_path / "wide.csv").write_text("item,'=Ann,Bob\na,'-5%,-5%\nb,up,-5%\n")
    for file in ("long.csv", "wide.csv", "-"):
        run = quick_contrafact(
            *("agree", file, "--rater", "=Ann", "--rater", "Bob", "--out", "f.json"),
            input=(tmp_path / "long.csv").read_text(),
        )
        assert run.returncode == 0, run.stderr
        found = json.loads((tmp_path / "f.json").read_text())
        assert found["disagreements"] == [
            {"item": "b", "ratings": {"=Ann": "up", "Bob": "-5%"}, "count": 1}
        ]


def test_columns_that_differ_in_an_apostrophe_stay_two(tmp_path):
    (tmp_path / "wide.csv").write_text("item,'=Ann,=Ann\na,'tis,x\nb,'tis,'tis\n")
    table = read_ratings(str(tmp_path / "wide.csv"))
    assert table.raters == ("'=Ann", "=Ann")
    assert table.cells == (("'tis", "x"), ("'tis", "'tis"))


def test_wide_and_long_tables_say_the_same_and_agree_with_other_libraries(
    quick_contrafact, tmp_path
):
    rng = np.random.default_rng(5)
    base = rng.integers(1, 5, 60)
    table = np.where(rng.random((60, 3)) < 0.7, base[:, None], rng.integers(1, 5, (60, 3)))
    wide = ["id,ann,ben,cat"] + [f"x{i},{a},{b},{c}" for i, (a, b, c) in enumerate(table)]
    long = ["Item,Rater,Rating"]
    long += [
        f"x{i},{r},{row[k]}"
        for i, row in enumerate(table)
        for k, r in enumerate(("ann", "ben", "cat"))
    ]
    (tmp_path / "wide.csv").write_text("\n".join(wide) + "\n")
    (tmp_path / "long.csv").write_text("\n".join(long) + "\n")
    found = []
    for name in ("wide", "long"):
        quick_contrafact("agree", f"{name}.csv", "--out", f"{name}.json", code=0)
        found.append(json.loads((tmp_path / f"{name}.json").read_text()))
    assert found[0] == found[1]
    everyone = ("ann", "ben", "cat")
    fleiss = coefficients(found[0], "fleiss_kappa")[everyone]["estimate"]
    assert fleiss == pytest.approx(fleiss_kappa(aggregate_raters(table)[0]))
    alpha = coefficients(found[0], "krippendorff_alpha")[everyone]["estimate"]
    expected = krippendorff.alpha(table.T, level_of_measurement="nominal")
    assert alpha == pytest.approx(expected)
    assert set(coefficients(found[0], "cohen_kappa")) == {
        ("ann", "ben"), ("ann", "cat"), ("ben", "cat"),
    }  # fmt: skip
    assert sum(found[0]["prevalence"].values()) == pytest.approx(1)
    differing = sum(len(set(row)) > 1 for row in table)
    assert len(found[0]["disagreements"]) == differing


def test_raters_who_use_one_category_get_undefined_and_no_error(quick_contrafact, tmp_path):
    rows = ["item,ann,ben", *(f"x{i},yes,yes" for i in range(12))]
    (tmp_path / "same.csv").write_text("\n".join(rows) + "\n")
    run = quick_contrafact("agree", "same.csv", "--out", "same.json", code=0)
    assert "undefined" in run.stdout
    assert "no item is rated differently" in run.stdout
    found = json.loads((tmp_path / "same.json").read_text())
    for name in ("fleiss_kappa", "krippendorff_alpha", "cohen_kappa"):
        (one,) = coefficients(found, name).values()
        assert one["estimate"] is None
        assert "only one category" in one["why"]
    run = quick_contrafact("agree", "same.csv", "--categories", "no,yes", "--out", "same.json")
    found = json.loads((tmp_path / "same.json").read_text())
    assert coefficients(found, "gwet_ac1")["ann", "ben"]["estimate"] == 1.0


def test_missing_ratings_are_counted_and_spellings_are_one(quick_contrafact, tmp_path):
    rows = ["item,ann,ben,comment", "a,Yes,yes,", "b,no,,late", "c,YES,no,", "d,no,no,"]
    rows += ["e,yes,yes,", "f,no,no,"]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    run = quick_contrafact("agree", "r.csv", "--rater", "ann", "--rater", "ben", "--out", "r.json")
    assert run.returncode == 0, run.stderr
    assert "1 missing" in run.stdout
    assert "'Yes' also stands for 'YES', 'yes'" in run.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["categories"] == ["Yes", "no"]
    assert [one["item"] for one in found["disagreements"]] == ["c"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("item,ann\na,yes\n", (), "there is 1 rater"),
        ("item,ann,ben\na,yes,no\na,no,no\n", (), ":3: a occurs twice"),
        ("item,ann,ben\n,yes,no\n", (), ":2: there is no item"),
        ("item,rater,rating\na,ann,yes\na,ann,no\n", (), ":3: ann rates a a second time"),
        ("item,ann,ben\na,,\n", (), "there are no ratings"),
        ("item,ann,ben\na,yes,no\n", ("--reference", "eve"), "there is no rater 'eve'"),
        ("item,ann,ben\na,x,y\n", ("--reference", "ann"), "name it with --positive"),
        (
            "item,ann,ben\na,x,y\nb,z,z\n",
            ("--reference", "ann"),
            "there are 3 categories, and a reference needs two",
        ),
        ("item,ann,ben\na,x,y\n", ("--categories", "x,z"), "not among the categories: y"),
        ("item,ann,ben,k\na,x,y,two\n", ("--count", "k"), ":2: 'two' is not a count"),
        ("item,ann,ben\na,x,y\n", ("--out", "r.csv"), "name it .json"),
        ("item,ann,ben\na,x,y\n", ("--rater", "eve"), "the raters are ann, ben"),
        ("[{}, {}]", (), "holds no columns"),
        (
            "name,town,trade\nAnn,Rome,dyer\nBen,Oslo,cook\nCy,Bern,poet\n",
            (),
            "no two raters have a value in common, so these are not ratings; name the raters with "
            "--rater",
        ),
    ],
)
def test_bad_tables_are_reported_in_one_line(quick_contrafact, tmp_path, content, options, message):
    name = "r.json" if content.startswith("[") else "r.csv"
    (tmp_path / name).write_text(content)
    run = quick_contrafact("agree", name, *options)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_raters_who_never_agree_are_told_of_where_they_may_be_none(quick_contrafact, tmp_path):
    (tmp_path / "sizes.csv").write_text("name,width,height\nA,1,12\nB,2,15\nC,3,19\n")
    done = quick_contrafact("agree", "sizes.csv")
    assert done.returncode == 0 and "note: no two raters have a value in common" in done.stderr
    # Two raters who never agree, and columns that share a word, are ratings all the same.
    for cells in ("A,yes,no\nB,yes,no\nC,yes,no\n", "A,up,flat\nB,down,calm\nC,flat,wild\n"):
        (tmp_path / "r.csv").write_text(f"item,ann,ben\n{cells}")
        done = quick_contrafact("agree", "r.csv")
        assert (done.returncode, done.stderr) == (0, "")


def test_a_word_that_may_stand_for_no_rating_is_said(quick_contrafact, tmp_path):
    (tmp_path / "a.csv").write_text("item,a,b,c\n1,x,x,NA\n2,x,x,x\n3,y,NA,y\n4,y,y,y\n")
    done = quick_contrafact("agree", "a.csv", "--out", "a.json")
    assert "'NA' counts as a category; if it means a missing rating" in done.stderr
    assert json.loads((tmp_path / "a.json").read_text())["categories"] == ["NA", "x", "y"]
    (tmp_path / "a.csv").write_text("item,a,b,c\n1,x,x,\n2,x,x,x\n3,y,,y\n4,y,y,y\n")
    done = quick_contrafact("agree", "a.csv", "--out", "a.json")
    assert "NA" not in done.stderr and "2 missing" in done.stdout


def test_a_column_without_a_name_is_no_rater_that_is_missing(quick_contrafact, tmp_path):
    (tmp_path / "wide.csv").write_text(",id,a,b\n0,x,yes,yes\n1,y,no,no\n2,z,yes,no\n")
    result = quick_contrafact("agree", "wide.csv", "--rater", "a", "--rater", "b")
    assert result.returncode == 0, result.stderr


def test_free_text_is_no_rater_and_an_unknown_positive_is_an_error(quick_contrafact, tmp_path):
    notes = ["the second claim is odd", "fine as far as I can see", "cites a wrong year, I think"]
    rows = "".join(f'i{n},{"yn"[n % 2]},y,"{note}"\n' for n, note in enumerate(notes * 1))
    (tmp_path / "a.csv").write_text("item,ann,ben,comment\n" + rows)
    done = quick_contrafact("agree", "a.csv")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "the column 'comment' is probably not a rater" in done.stderr
    assert "--rater ann --rater ben" in done.stderr
    named = ["agree", "a.csv", "--rater", "ann", "--rater", "ben"]
    assert quick_contrafact(*named).returncode == 0
    for more in ([], ["--reference", "ben"]):
        done = quick_contrafact(*named, "--positive", "yes", *more)
        assert done.returncode == 2 and "there is no category 'yes'" in done.stderr
    assert quick_contrafact(*named, "--positive", "y", "--reference", "ben").returncode == 0


def agreement_of(rows, **options):
    given = [(line, row) for line, row in enumerate(rows, start=2)]
    return agreement(ratings_of(given, "r.csv", **options))


WORDS = ("yes", "no", "not sure")
_HIDDEN = ("{}\u200b", "\ufeff{}", "\u00ad{}", "{}\u00a0", "\u2060{}\u200d", "{}\u202c")


@given(
    said=st.lists(st.sampled_from((1, 0, 2.5, 7, *WORDS)), min_size=6, max_size=12),
    forms=st.lists(st.integers(0, 20), min_size=12, max_size=12),
)
def test_what_is_said_alike_is_one_category_however_it_is_written(said, forms):
    """A whole number with and without a point, full width, other case, and what cannot be seen."""
    wide = {ord(c): ord(c) + 0xFEE0 for c in "01257yesnotur"}

    def other(value, form):
        if not isinstance(value, str):
            return [value, str(value), f"{float(value):.3f}", f" {value}\u00a0", f"\u200b{value}",
                    str(value).translate(wide)][form % 6]  # fmt: skip
        more = [value.upper(), value.translate(wide), value.replace(" ", "\u00a0")]
        return [*(form.format(value) for form in _HIDDEN), *more][form % 9]

    rows = [
        {"item": f"i{n}", "ann": value, "ben": other(value, form)}
        for n, (value, form) in enumerate(zip(said, forms, strict=False))
    ]
    found = agreement_of(rows)
    assert not found.disagreements
    assert len(found.categories) == len(set(said))
    words = [row for row in rows if isinstance(row["ann"], str)]
    assert bool(found.notes) >= any(row["ann"] != row["ben"].strip() for row in words)


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("rater", "Ann", "ann"),
        ("rater", "Ann Lee", "Ann\u00a0Lee"),
        ("rater", "ann", "a\u200bnn"),
        ("rater", "r1", "ｒ１"),
        ("rater", "Zoë", "Zoe\u0308"),
        ("rater", "2", "2.0"),
        ("item", "i1", "I1"),
        ("item", "i1", "i1\ufeff"),
        ("item", "17", "17.0"),
        ("item", "a b", "a  b"),
        ("item", "i1", "i\u00ad1"),
    ],
)
def test_raters_and_items_that_look_alike_are_asked_about(
    quick_contrafact, tmp_path, field, one, other
):
    rows = [{"item": f"x{n}", "rater": rater, "rating": "yn"[n % 2]}
            for n in range(6) for rater in ("p", "q")]  # fmt: skip
    rows[0][field], rows[3][field] = one, other
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = quick_contrafact("agree", "r.jsonl")
    assert done.returncode == 0 and f"note: {field} '{one}' also stands for" in done.stderr
    assert f"{2 + (field == 'rater')} raters" in done.stdout
    # Where an item would then be rated twice, only the user knows which rating counts.
    rows += [row | {field: other} for row in rows if row[field] == one]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = quick_contrafact("agree", "r.jsonl", "--out", "r.json")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "look alike" in done.stderr and not (tmp_path / "r.json").exists()
    with pytest.raises(InputError, match="look alike"):
        cf.agreement(rows)


@pytest.mark.parametrize(
    ("table", "raters", "note"),
    [
        ("ann,bob,cara\nyes,yes,no\nno,no,no\nyes,no,yes\n", 3, "'ann' holds ratings"),
        ("ann,bob\n1,1\n0,1\n1,1.0\n", 2, "'ann' holds ratings"),
        ("case,ann,bob\np,yes,no\nq,no,no\n", 2, "'case' is taken for the items"),
        ("item,ann,bob\n1,1,0\n2,0,0\n", 2, ""),
    ],
)
def test_no_rater_is_taken_for_the_items_in_silence(
    quick_contrafact, tmp_path, table, raters, note
):
    (tmp_path / "r.csv").write_text(table)
    run = quick_contrafact("agree", "r.csv", code=0)
    assert f" {raters} raters" in run.stdout
    assert note in run.stderr
    assert bool(note) == ("note:" in run.stderr)


def test_a_first_column_that_may_be_either_is_asked_about(quick_contrafact, tmp_path):
    (tmp_path / "r.csv").write_text("ann,bob,cy\n0,1,2\n1,1,1\n2,0,2\n")
    run = quick_contrafact("agree", "r.csv", code=2)
    assert "'ann' may be the items or a rater" in run.stderr
    named = ["--rater", "ann", "--rater", "bob", "--rater", "cy"]
    assert " 3 raters" in quick_contrafact("agree", "r.csv", *named, code=0).stdout
    assert " 2 raters" in quick_contrafact("agree", "r.csv", "--columns", "item=ann", code=0).stdout


def test_it_says_which_reason_leaves_a_coefficient_undefined(quick_contrafact, tmp_path):
    (tmp_path / "r.csv").write_text("item,ann,bob\na,yes,\nb,,no\n")
    run = quick_contrafact("agree", "r.csv", code=0)
    assert "no item has two ratings" in run.stdout and "only one category" not in run.stdout
    (tmp_path / "r.csv").write_text("item,ann,bob\na,yes,yes\nb,yes,yes\n")
    run = quick_contrafact("agree", "r.csv", code=0)
    assert "only one category was used" in run.stdout and "two ratings" not in run.stdout
