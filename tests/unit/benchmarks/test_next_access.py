"""The next-access benchmark's pure parts: reading logs, judging rankings, foretelling from accesses."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable
from itertools import pairwise, permutations
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.intervals import percentile_interval
from benchmarks.next_access.__main__ import main, summary
from benchmarks.next_access.access_log import AccessLog, Batch, find_logs, read_log
from benchmarks.next_access.predictors import PREDICTORS, History
from benchmarks.next_access.ranking_measures import (
    area_under_curve,
    judge,
    mean_of,
    recall_at,
    reciprocal_rank,
    resampled_means,
)
from benchmarks.next_access.replay import Outcome, eligible, spread, used_within_week
from pgrecall.errors import InvalidInput

DAY = 86_400
HEADER = "item,epoch,op,batch"


def write(path: Path, lines: Iterable[str], header: str = HEADER) -> Path:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in (header, *lines)).encode()))
    return path


def test_a_log_becomes_batches_of_births_accesses_and_deletions(tmp_path: Path) -> None:
    lines = ["x,100,c,0", "y,100,c,0", "x,160,a,1", "z,160,c,1", "y,160,d,1", "x,170,b,2", "z,170,d,2"]
    log = read_log(write(tmp_path / "tiny.csv.gz", lines))
    assert log.name == "tiny"
    assert log.batches == (
        Batch("0", 100, born=("x", "y"), accessed=(), deleted=(), alive=0),
        Batch("1", 160, born=("z",), accessed=("x",), deleted=("y",), alive=2),
        Batch("2", 170, born=(), accessed=(), deleted=("z",), alive=2),
    )
    assert (log.memories, log.accesses) == (3, 1)


def test_an_unknown_or_deleted_item_that_is_used_begins_a_new_life(tmp_path: Path) -> None:
    lines = ["x,1,a,0", "x,2,d,1", "x,3,d,2", "x,4,a,3", "x,5,d,4", "x,6,c,5", "x,7,c,6"]
    told = [(batch.born, batch.accessed) for batch in read_log(write(tmp_path / "l.csv.gz", lines)).batches]
    born, accessed, nothing = (("x",), ()), ((), ("x",)), ((), ())
    assert told == [born, nothing, nothing, born, nothing, born, accessed]


def test_the_last_line_about_an_item_of_a_batch_counts(tmp_path: Path) -> None:
    lines = ["x,1,c,0", "x,2,a,1", "x,2,a,1", "x,3,a,2", "x,3,d,2", "y,3,c,2", "y,3,d,2"]
    batches = read_log(write(tmp_path / "l.csv.gz", lines)).batches
    assert batches[1].accessed == ("x",)
    assert batches[2] == Batch("2", 3, born=(), accessed=(), deleted=("x",), alive=1)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("x,5,a", "3 fields"),
        ("x,5,a,1,2", "5 fields"),
        ("", "1 fields"),
        (",5,a,1", "empty"),
        ("x,5,a,", "empty"),
        ("x,5,r,1", "'r'"),
        ("x,soon,a,1", "'soon'"),
        ("x,-5,a,1", "'-5'"),
        ("x,5.5,a,1", "'5.5'"),
        ("x,99999999999,a,1", "'99999999999'"),
        ("x,3,a,1", "before"),
        ("x,5,a,0", "batch '0' was at 4"),
    ],
)
def test_a_malformed_line_is_named_with_its_file(tmp_path: Path, line: str, complaint: str) -> None:
    path = write(tmp_path / "bad.csv.gz", ["x,4,c,0", line, "x,6,a,2"])
    with pytest.raises(InvalidInput) as raised:
        read_log(path)
    assert str(raised.value).startswith(f"{path}, line 3: ")
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (gzip.compress(b"", mtime=0), "line 1"),
        (gzip.compress(b"a,b,epoch,count\n", mtime=0), "line 1"),
        (gzip.compress(f"{HEADER}\n".encode() + b"\xff,1,c,0\n", mtime=0), "UTF-8"),
        (b"item,epoch,op,batch\n", "cannot be read"),
        (gzip.compress(f"{HEADER}\nx,1,c,0\n".encode(), mtime=0)[:-6], "cannot be read"),
    ],
)
def test_a_file_that_is_no_log_is_named(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "bad.csv.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"bad\.csv\.gz") as raised:
        read_log(path)
    assert where in str(raised.value)


def test_a_folder_gives_its_logs_and_not_their_links(tmp_path: Path) -> None:
    for name in ("b.csv.gz", "a.csv.gz", "a.links.csv.gz", "notes.md"):
        (tmp_path / name).touch()
    assert [path.name for path in find_logs(tmp_path)] == ["a.csv.gz", "b.csv.gz"]
    assert find_logs(tmp_path / "b.csv.gz") == [tmp_path / "b.csv.gz"]


@pytest.mark.parametrize(
    "name", ["", "absent.csv.gz", "a.links.csv.gz", "notes.md", "bad.csv.gz", "short.csv.gz"]
)
def test_a_path_without_a_usable_log_ends_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.links.csv.gz").touch()
    (folder / "notes.md").touch()
    if name == "bad.csv.gz":
        write(folder / name, ["x,1,c"])
    if name == "short.csv.gz":
        write(folder / name, ["x,1,c,0", "y,1,c,0"])
    with pytest.raises(SystemExit) as ended:
        main([str(folder / name)])
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "short" in told.err if name == "short.csv.gz" else str(folder) in told.err


def mask(*relevant: int, of: int) -> np.ndarray:
    return np.isin(np.arange(of), relevant)


def test_measures_of_a_ranking_without_ties() -> None:
    scores = np.array([9.0, 7.0, 5.0, 3.0])
    next_used, in_week = mask(1, 3, of=4), mask(0, 1, 3, of=4)
    mrr, auc, recall, week = judge(scores, next_used, in_week)
    assert mrr == 1 / 2
    assert auc == 1 / 4  # of the pairs (7 or 3, 9 or 5) only 7 > 5
    assert recall == 1
    assert week == 2 / 3
    assert recall_at(2, scores, next_used) == 1 / 2


def test_measures_of_a_ranking_of_nothing_but_ties() -> None:
    scores, relevant = np.zeros(20), mask(4, of=20)
    assert reciprocal_rank(scores, relevant) == pytest.approx(sum(1 / rank for rank in range(1, 21)) / 20)
    assert area_under_curve(scores, relevant) == 1 / 2
    assert recall_at(10, scores, relevant) == 1 / 2


def test_the_area_is_unknown_where_all_or_none_are_relevant() -> None:
    assert math.isnan(area_under_curve(np.arange(3.0), mask(0, 1, 2, of=3)))
    assert math.isnan(area_under_curve(np.arange(3.0), mask(of=3)))
    assert mean_of(np.array([1.0, np.nan, 2.0])) == 1.5
    assert mean_of(np.array([np.nan])) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=2, max_size=6))
@settings(deadline=None)
def test_ties_are_judged_by_their_mean_over_all_orders(items: list[tuple[int, bool]]) -> None:
    scores = np.array([float(score) for score, _ in items])
    relevant = np.array([used for _, used in items])
    orders = [
        [items[place][1] for place in order]
        for order in permutations(range(len(items)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    if relevant.any():
        first = fmean(1 / (1 + order.index(True)) for order in orders)
        assert reciprocal_rank(scores, relevant) == pytest.approx(first)
        found = fmean(sum(order[:2]) / sum(order) for order in orders)
        assert recall_at(2, scores, relevant) == pytest.approx(found)
    if relevant.any() and not relevant.all():
        pairs = [(a, b) for order in orders for at, a in enumerate(order) for b in order[at + 1 :] if a != b]
        assert area_under_curve(scores, relevant) == pytest.approx(fmean(a for a, _ in pairs))


def test_resampled_means_keep_neighbours_together_and_pairs_paired() -> None:
    values = np.array([0.0] * 50 + [1.0] * 50)
    low, high = percentile_interval(resampled_means(values, seed=0))
    assert low < 0.5 < high
    alternating = np.array([0.0, 1.0] * 50)
    narrow = percentile_interval(resampled_means(alternating, seed=0))
    assert high - low > 5 * (narrow[1] - narrow[0])
    assert resampled_means(values + 1, seed=0) - resampled_means(values, seed=0) == pytest.approx(1)
    assert resampled_means(np.array([0.25]), seed=0) == pytest.approx(0.25)


def history(*batches: Batch) -> History:
    past = History()
    for batch in batches:
        past.add(batch)
    return past


def test_predictors_score_from_the_accesses_alone() -> None:
    past = history(
        Batch("0", 0, born=("old", "gone"), accessed=(), deleted=(), alive=0),
        Batch("1", 12 * DAY, born=("new",), accessed=("old", "gone"), deleted=("gone",), alive=2),
        Batch("2", 16 * DAY, born=("gone",), accessed=(), deleted=(), alive=2),
    )
    view = past.view(16 * DAY)
    assert view.items == ("old", "new", "gone")
    minute = 1 / 1440
    expected = {
        "exact": [16**-0.5 + 4**-0.5, 4**-0.5, minute**-0.5],
        "seed_o1": [math.log(4 / math.sqrt(16)), math.log(2 / math.sqrt(4)), math.log(2 / math.sqrt(minute))],
        "lru": [-4, -4, 0],
        "lfu": [2, 1, 1],
        "exp_7d": [2 ** (-16 / 7) + 2 ** (-4 / 7), 2 ** (-4 / 7), 1],
        "exp_30d": [2 ** (-16 / 30) + 2 ** (-4 / 30), 2 ** (-4 / 30), 1],
        "random": [0, 0, 0],
    }
    assert expected.keys() == PREDICTORS.keys()
    for name, scores in expected.items():
        assert PREDICTORS[name](view).tolist() == pytest.approx(scores), name


def log_of(*accessed: Iterable[str], alive: int = 3, step: int = DAY) -> AccessLog:
    return AccessLog(
        "made",
        tuple(
            Batch(str(number), number * step, born=(), accessed=tuple(items), deleted=(), alive=alive)
            for number, items in enumerate(accessed)
        ),
    )


def test_eligible_batches_use_something_known_after_the_warm_up() -> None:
    accessed = ["x", "x", "", "xy", "xyz", "z", "", "x", "y", "x"]
    assert eligible(log_of(*accessed)) == [3, 5, 7, 8, 9]  # 4 uses all there is: no choice, no judgement
    assert eligible(log_of(*accessed, alive=1)) == []


@pytest.mark.parametrize(
    ("most", "expected"), [(1, {2}), (2, {2, 10}), (3, {2, 6, 10}), (99, {2, 4, 6, 8, 10})]
)
def test_evaluations_are_spread_evenly(most: int, expected: set[int]) -> None:
    assert spread([2, 4, 6, 8, 10], most) == expected


def test_a_week_holds_the_batch_itself_and_seven_days_more() -> None:
    log = log_of("a", "b", "c", "", "", "", "", "", "d", "e")
    assert used_within_week(log, 1) == {"b", "c", "d"}
    assert used_within_week(log, 9) == {"e"}


def outcome(log: AccessLog, mrr: float, seed_mrr: float, weeks: list[float]) -> Outcome:
    rows = [[mrr, 0.5, 0.25, week] for week in weeks]
    baseline = [[seed_mrr, *others] for _, *others in rows]
    judged = {"pgrecall": np.array(rows), "seed_o1": np.array(baseline)}
    return Outcome(log, len(rows), judged, np.zeros((0, 1)), 30.0, 1.0)


def test_the_mean_weighs_logs_alike_whatever_their_length() -> None:
    unknown = float("nan")
    long = outcome(log_of("a"), 0.5, 0.25, [0.75, unknown, unknown, 0.25])
    short = outcome(log_of("a"), 0.25, 0.125, [unknown])
    figures = summary([long, short])["pgrecall"]
    assert figures == {
        "mrr": 0.375,
        "auc": 0.5,
        "recall_at_10": 0.25,
        "auc_7d": 0.5,
        "mrr_95": [0.375, 0.375],
        "mrr_over_seed_o1_95": [0.1875, 0.1875],
    }
    assert summary([short])["pgrecall"]["auc_7d"] is None
