"""Coefficients fitted to judged queries in a real database: what is stored, what is refused, what changes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgrecall import AsyncMemory, Memory
from pgrecall.errors import EmbedderError, InvalidInput
from pgrecall.nouns.calibration.models import FEATURES, Calibration, JudgedQuery, Judgement, RelevanceModel
from pgrecall.nouns.memories.models import Draft
from pgrecall.nouns.search.models import Hit, SearchRequest
from pgrecall.search.calibration.fitting import relevance_row, relevance_terms
from pgrecall.search.embed.embedder import HashEmbedder, Vectors
from pgrecall.settings import Settings
from tests.conftest import DIMENSIONS
from tests.databases import Query
from tests.integration.calibration.calibration_world import TOPICS, fill, judged, question, words, write_qrels


@pytest.fixture(scope="module")
def database_url(shared_url: str) -> str:
    """One database for the file: its world is filled once, and what was fitted is taken back."""
    return shared_url


@pytest.fixture(scope="module")
def memory(shared_url: str) -> Iterator[Memory]:
    """One client for the file: what a connection has planned it keeps."""
    settings = Settings(database_url=shared_url, tenant="acme", embedder="hash")
    with Memory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
        fill(client)
        yield client


@pytest.fixture(scope="module")
def dry(memory: Memory) -> Calibration:
    """What is fitted to the world as it was filled; nothing of it is stored."""
    return rerun(memory, dry_run=True)


@pytest.fixture
def world(memory: Memory) -> Iterator[Memory]:
    """The filled world, with the coefficients that ship."""
    yield memory
    for fitted in memory.quality.relevance_models():
        if fitted.source == "tenant":
            memory.quality.reset_calibration(fitted.profile)


def model(memory: Memory, profile: str = "balanced") -> RelevanceModel:
    """The one in force."""
    first, *others = memory.quality.relevance_models(profile)
    assert first.in_force
    assert not any(other.in_force for other in others)
    return first


def rerun(memory: Memory, **options: Any) -> Calibration:
    return memory.quality.calibrate(judged(), **options)


# What it does


def log_odds(hits: Sequence[Hit], coefficients: Mapping[str, float], author: float = 1.0) -> list[float]:
    """What coefficients say of what search explains."""
    terms, graph = relevance_terms(coefficients), coefficients["graph"]
    design = [relevance_row(hit.explanation["relevance"], graph, author) for hit in hits]
    return [float(value) for value in terms.log_odds(np.array(design), terms.values(coefficients))]


@pytest.mark.parametrize("believed", [1.0, 2.5])
def test_what_search_explains_recomputes_its_log_odds(memory: Memory, believed: float) -> None:
    world = memory.for_tenant(f"linked-{believed}")
    fill(world)
    world.settings.set("search.author_weight", believed)
    world.remember("Mira Okafor was seen at the amber anchor", key="mira", author="Mira Okafor")
    world.remember("Was Mira seen at the amber anchor?", key="asked", role="user")
    for topic in range(0, TOPICS, 7):
        world.link(f"topic/{topic}", f"thing/{(topic + 1) % TOPICS}")
        world.link(f"thing/{topic}", f"colour/{(topic + 1) % TOPICS}", "next")
    seen: dict[str, float] = dict.fromkeys(FEATURES, 0.0)
    for topic in range(0, TOPICS, 7):
        asked = f"Mira, {question(topic)}"
        hits = world.search(asked, k=50, log=False, profile="episodic").hits
        told = [hit.explanation["relevance"]["logit"] for hit in hits]
        values = model(world, "episodic").coefficients
        assert log_odds(hits, values, believed) == pytest.approx(told, abs=1e-6)
        for hit in hits:
            for name, value in hit.explanation["relevance"]["features"].items():
                seen[name] = max(seen[name], value or 0.0)
    unseen = {"name", "cue", "period", "speaker", "no_number"}
    assert all(value > 0 for name, value in seen.items() if name not in unseen)


def test_calibrating_makes_probabilities_of_relevances(world: Memory) -> None:
    shipped = model(world)
    done = rerun(world)
    assert (done.queries, done.relevant, done.missed, done.left_out) == (TOPICS, TOPICS, 0, 0)
    assert (done.fitted, done.name, done.stored, done.better) == ("relevance", "balanced", True, True)
    assert done.after.log_loss < done.before.log_loss
    assert done.gain == pytest.approx(done.before.log_loss - done.after.log_loss)
    assert done.current == {name: shipped.coefficients[name] for name in done.current}
    assert set(done.coefficients) == set(shipped.coefficients)
    assert min(done.coefficients[name] for name in FEATURES) >= 0

    stored = model(world)
    assert (stored.source, stored.form, stored.coefficients) == ("tenant", "logistic", done.coefficients)
    assert stored.fitted_on.startswith(f"{TOPICS} judged queries")
    assert (stored.vitality_weight, stored.vitality_mode) == (shipped.vitality_weight, shipped.vitality_mode)

    hits = world.search(question(3), k=1, vitality_mode="off", log=False).hits
    (value,) = log_odds(hits, done.coefficients)
    assert hits[0].relevance == pytest.approx(1 / (1 + math.exp(-value)))
    assert model(world.for_tenant("other")).source == "database", "coefficients are one tenant's"


def test_what_is_no_better_is_not_stored_unless_forced(world: Memory, dry: Calibration) -> None:
    first = rerun(world)
    assert first == replace(dry, stored=True), "a dry run fits what a real one fits"
    second = rerun(world)  # today's coefficients have seen these very questions
    assert (second.better, second.stored) == (False, False)
    assert second.coefficients == pytest.approx(first.coefficients, abs=0.01)  # where the optimiser stops
    assert model(world).coefficients == first.coefficients

    forced = world.quality.calibrate(judged(32), force=True)
    assert forced.stored
    assert model(world).coefficients == forced.coefficients != first.coefficients

    assert world.quality.reset_calibration(), "back to what ships"
    assert model(world).source == "database"
    assert not world.quality.reset_calibration()


def test_a_dry_run_only_counts_and_fits(memory: Memory, query: Query) -> None:
    world = memory.for_tenant("dry")
    fill(world)
    before, accesses = world.quality.relevance_models(), query("SELECT count(*) FROM recall.access")
    steps: list[int] = []
    done = rerun(world, dry_run=True, progress=steps.append)
    assert (done.better, done.stored) == (True, False)
    assert world.quality.relevance_models() == before
    assert steps == [1] * TOPICS
    assert query("SELECT count(*) FROM recall.access") == accesses, "nothing searched counts as shown"
    assert query("SELECT count(*) FROM recall.search_log", tenant="dry") == [{"count": 0}]


def test_an_event_loop_calibrates_to_the_same(dry: Calibration, settings: Settings) -> None:
    async def awaited() -> Calibration:
        async with AsyncMemory(settings=settings, embedder=HashEmbedder(DIMENSIONS)) as client:
            return await client.quality.calibrate(judged(), dry_run=True)

    assert asyncio.run(awaited()) == dry


# How judgements are read


@pytest.mark.parametrize("named", [Path, str])
def test_a_file_says_the_same(
    world: Memory, dry: Calibration, tmp_path: Path, named: Callable[[Path], Path | str]
) -> None:
    assert world.quality.calibrate(named(write_qrels(tmp_path / "qrels.jsonl")), dry_run=True) == dry


def test_ids_name_memories_as_keys_do(world: Memory, dry: Calibration) -> None:
    by_id = [
        replace(entry, judgements=(Judgement(world.get(f"topic/{topic}").id, True),))
        for topic, entry in enumerate(judged())
    ]
    assert world.quality.calibrate(by_id, dry_run=True) == dry


def test_only_what_was_judged_counts_where_not_all_was(world: Memory) -> None:
    some = [
        replace(
            entry,
            complete=False,
            judgements=(*entry.judgements, Judgement(f"thing/{topic}", False, propensity=0.5)),
        )
        for topic, entry in enumerate(judged())
    ]
    done = world.quality.calibrate(some, dry_run=True)
    # A judged note may be beyond the candidates of its question; none is counted that was not judged.
    assert done.relevant == TOPICS
    assert 2 * TOPICS - 5 <= done.candidates <= 2 * TOPICS


def test_the_key_of_a_note_names_its_sections(memory: Memory, dry: Calibration) -> None:
    world = memory.for_tenant("sections")
    fill(world)
    world.remember_many(
        [Draft(world.get(f"topic/{topic}").body, key=f"note/{topic}#part") for topic in range(TOPICS)]
    )
    notes = [
        replace(entry, judgements=(*entry.judgements, Judgement(f"note/{topic}", True)))
        for topic, entry in enumerate(judged())
    ]
    done = world.quality.calibrate(notes, dry_run=True)
    assert (done.relevant, done.missed) == (2 * dry.relevant, 0)


def test_what_search_does_not_find_is_counted(world: Memory) -> None:
    lost = [replace(entry, judgements=(*entry.judgements, Judgement("nowhere", True))) for entry in judged()]
    assert world.quality.calibrate(lost, dry_run=True).missed == TOPICS


def test_nothing_to_find_teaches_too(world: Memory, dry: Calibration) -> None:
    empty = [JudgedQuery(SearchRequest(f"the {words(topic)[0]} moon"), ()) for topic in range(TOPICS)]
    with_empty = world.quality.calibrate([*judged(), *empty], dry_run=True)
    assert with_empty.relevant == TOPICS
    assert with_empty.candidates > dry.candidates


def test_a_question_that_comes_twice_is_one_query(world: Memory) -> None:
    assert world.quality.calibrate([*judged(), *judged()], dry_run=True).queries == TOPICS


def test_filters_are_given_to_search(world: Memory) -> None:
    nobody = [replace(entry, question=replace(entry.question, authors=("Nobody",))) for entry in judged()]
    with pytest.raises(InvalidInput, match="Search finds none of the judged memories"):
        world.quality.calibrate(nobody)


# What is refused


def test_too_few_are_refused(world: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^Too little to calibrate with: 29 judged queries have"):
        world.quality.calibrate(judged(29))
    assert model(world).source == "database"


def test_an_unknown_profile_is_refused(world: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^There is no profile 'nothing'\."):
        rerun(world, profile="nothing")
    with pytest.raises(InvalidInput, match=r"^There is no profile 'nothing'\. Choose one of: .*balanced"):
        world.quality.reset_calibration("nothing")


def test_a_bad_line_is_refused_before_anything_is_searched(world: Memory, tmp_path: Path) -> None:
    qrels = write_qrels(tmp_path / "qrels.jsonl")
    qrels.write_text(qrels.read_text() + '\n{"query": "boats"}')
    steps: list[int] = []
    with pytest.raises(InvalidInput, match=f"line {TOPICS + 1}: give either relevant or judgements"):
        world.quality.calibrate(qrels, progress=steps.append)
    assert steps == []


def test_a_dry_run_that_forces_is_refused(world: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^A dry run stores nothing, so force has no effect\."):
        rerun(world, dry_run=True, force=True)


def test_another_embedder_than_that_of_the_memories_is_refused(world: Memory, settings: Settings) -> None:
    with (
        Memory(settings=replace(settings, embedder="none")) as wordy,
        pytest.raises(InvalidInput, match=r"embedded with .*hash.*, and queries with nothing"),
    ):
        rerun(wordy)


class Failing(HashEmbedder):
    """Fails from the tenth question on."""

    calls = 0

    def embed(self, texts: Any) -> Vectors:
        self.calls += 1
        if self.calls > 10:
            raise EmbedderError("out of order")
        return super().embed(texts)


def test_an_embedder_that_fails_stops_it(world: Memory, settings: Settings) -> None:
    with (
        Memory(settings=settings, embedder=Failing(DIMENSIONS)) as memory,
        pytest.raises(EmbedderError, match=r"was not embedded .*out of order.*Nothing was stored"),
    ):
        rerun(memory)
    assert model(world).source == "database"
