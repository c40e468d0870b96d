"""What Logseq, Dendron and people who date their files write, as found in public vaults."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgrecall.importers.chat.reader import read_chats
from pgrecall.importers.dates import day_in_name, parse_time
from pgrecall.importers.fields import Rules
from pgrecall.importers.markdown.reader import read_markdown
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft

DENDRON = "---\nid: a1b2\ntitle: {title}\ndesc: ''\nupdated: 1663090980107\ncreated: {created}\n---\n{text}"


def read(folder: Path, files: dict[str, str], rules: Rules | None = None) -> dict[str, Draft]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    found = list(read_markdown(folder, source="test", rules=rules or Rules()))
    assert [item for item in found if isinstance(item, Problem | Skipped)] == []
    return {item.key or "": item for item in found if isinstance(item, Draft)}


def targets(draft: Draft) -> list[str]:
    return [link.target for link in draft.links]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("1663090980107", datetime(2022, 9, 13, 17, 43, 0, 107_000, tzinfo=UTC)),
        ("1596395313", datetime(2020, 8, 2, 19, 8, 33, tzinfo=UTC)),
        ("20260930", datetime(2026, 9, 30, tzinfo=UTC)),
    ],
)
def test_a_number_is_no_year(written: str, moment: datetime) -> None:
    assert parse_time(written) == moment


def test_dendron_puts_the_words_of_a_link_first(tmp_path: Path) -> None:
    text = (
        "[[the vaults|dendron://docs/topic.vault#what]] ![[topic.vault#part,1:#*]] "
        "[[dendron://docs/topic.vault]] [[Two words|topic.vault]] `[[a|b]]`"
    )
    found = read(
        tmp_path,
        {
            "home.md": DENDRON.format(title="Home", created=1596395313000, text=text),
            "topic.vault.md": DENDRON.format(title="Vault", created=1596395313000, text="x"),
            "other.md": "[[topic.vault|shown]]",
        },
    )
    home = found["home"]
    assert home.body == "the vaults topic.vault > part topic.vault Two words `[[a|b]]`"
    assert targets(home) == ["topic.vault"]
    assert home.occurred_at == datetime(2020, 8, 2, 19, 8, 33, tzinfo=UTC)
    assert (found["other"].body, targets(found["other"])) == ("shown", ["topic.vault"])


def test_logseq_names_a_page_in_its_file_name_and_first_lines(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "pages/Tool___Text.md": "alias:: Words, [[Letters]]\ntype:: [[Tool]]\ntags:: [[draw]], #board",
            "pages/Tool%2FPen.md": "- ink",
            "pages/home.md": "title:: Start here\n\n- [[Tool/Text]] [[letters]] [[Tool/Pen]]",
            "pages/late.md": "- text\n\nalias:: No",
        },
    )
    page = found["pages/Tool___Text"]
    assert (page.title, page.aliases) == ("Tool/Text", ("Words", "Letters", "Tool___Text"))
    assert page.tags == ("draw", "board")
    assert page.body.startswith("alias:: Words, Letters\ntype:: Tool\n")
    assert found["pages/Tool%2FPen"].title == "Tool/Pen"
    assert found["pages/home"].title == "Start here"
    assert targets(found["pages/home"]) == ["pages/Tool___Text", "pages/Tool%2FPen"]
    assert found["pages/late"].aliases == ()


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2020_09_20", (2020, 9, 20)),
        ("2026-09-30 Standup", (2026, 9, 30)),
        ("20260930", (2026, 9, 30)),
        ("daily.journal.2021.05.25", (2021, 5, 25)),
        ("scratch.2021.01.12.085012.headers", (2021, 1, 12)),
        ("2026-13-01", None),
        ("2026-09_30", None),
        ("12026-09-30", None),
        ("2026-09-301", None),
        ("20260930 call 5551234", None),
        ("note", None),
    ],
)
def test_the_day_in_the_name_of_a_file(name: str, day: tuple[int, int, int] | None) -> None:
    assert day_in_name(name) == (datetime(*day, tzinfo=UTC) if day else None)


def test_a_daily_note_is_of_its_day_unless_it_says_more_or_the_day_is_to_come(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "2020_09_20.md": "- woke",
            "2020-09-21.md": "---\ndate: 2020-09-22\n---\nx",
            "2099-01-01 Plan.md": "x",
        },
        Rules(now=datetime(2026, 1, 1, tzinfo=UTC)),
    )
    assert {key: draft.occurred_at for key, draft in found.items()} == {
        "2020_09_20": datetime(2020, 9, 20, tzinfo=UTC),
        "2020-09-21": datetime(2020, 9, 22, tzinfo=UTC),
        "2099-01-01 Plan": datetime.fromtimestamp(1_700_000_000, UTC),
    }


def test_the_index_of_questions_beside_the_sessions_of_codex_is_bookkeeping(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text('{"session_id":"s-1","ts":1770594266,"text":"How deep?"}\n')
    (tmp_path / "rollout-2026-02-09T16-41-33-s-1.jsonl").write_text(
        '{"timestamp":"2026-02-09T23:41:33Z","type":"session_meta","payload":{"id":"s-1"}}\n'
        '{"timestamp":"2026-02-09T23:41:34Z","type":"response_item","payload":{"type":"message","role":"user",'
        '"content":[{"type":"input_text","text":"How deep?"}]}}\n'
    )
    found = list(read_chats(tmp_path, kind="codex", source="test"))
    assert [item.body for item in found if isinstance(item, Draft)] == ["How deep?"]
    assert "lines without a type" not in [item.what for item in found if isinstance(item, Skipped)]


def test_the_caveat_before_the_commands_of_an_old_session_is_no_turn(tmp_path: Path) -> None:
    caveat = (
        "Caveat: The messages below were generated by the user while running local commands. DO NOT respond."
    )
    (tmp_path / "s-1.jsonl").write_text(
        "\n".join(
            f'{{"type":"user","uuid":"u{number}","sessionId":"s-1","timestamp":"2025-06-14T11:0{number}:00Z",'
            f'"message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}'
            for number, text in enumerate((caveat, "How deep?"))
        )
    )
    found = list(read_chats(tmp_path, kind="claude-code", source="test"))
    assert [item.body for item in found if isinstance(item, Draft)] == ["How deep?"]


def test_links_and_tags_as_programs_that_build_sites_write_them(tmp_path: Path) -> None:
    found = read(tmp_path, {
        "_posts/2026-02-01-shed.md": "Shed.",
        "content/a/gate.md": '+++\n[taxonomies]\ntags = ["lock"]\nof = ["a"]\n+++\n[s](@/b/key.md#part)',
        "content/b/key.md": "Key.",
        "hugo.md": '[k]({{< ref "key.md" >}}) [g]({{% relref "/a/gate.md#top" %}}) [no]({{< fig x >}})',
        "jekyll.md": "[s]({% post_url 2026-02-01-shed %}) [k]({{ url }}{% link content/b/key.md %})",
        "zettlr.md": "---\nkeywords: [lock, gate]\n---\nBrass.",
    })  # fmt: skip
    key, gate, shed = "content/b/key", "content/a/gate", "_posts/2026-02-01-shed"
    assert [targets(found[name]) for name in (gate, "hugo", "jekyll")] == [[key], [key, gate], [shed, key]]
    assert (found[gate].tags, found[gate].metadata) == (("lock",), {"of": ["a"]})
    assert found["hugo"].body.startswith('[k]({{< ref "key.md" >}})')
    assert found["zettlr"].tags == ("lock", "gate")


def test_bear_has_a_line_of_tags_above_a_rule(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"gate.md": "# Gate\n#house/lock #brass\n---\nHung.", "no.md": "# Gate #1 #key\n\nHung."}
    )
    assert [found[name].tags for name in ("gate", "no")] == [("house/lock", "brass"), ()]
