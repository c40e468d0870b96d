"""A folder of notes becomes drafts: front matter, names, links, parts, and a Problem for each bad file."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.importers.markdown.reader import read_markdown, read_note_file
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

Vault = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    def write(files: dict[str, str | bytes]) -> Path:
        folder = tmp_path / "vault"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return folder

    return write


def drafts(folder: Path, **options: object) -> dict[str, Draft]:
    found = list(read_markdown(folder, source="test", **options))  # type: ignore[arg-type]
    assert [item for item in found if isinstance(item, Problem)] == []
    return {item.key or "": item for item in found if isinstance(item, Draft)}


def problem(folder: Path) -> Problem:
    (found,) = read_markdown(folder, source="test")
    assert isinstance(found, Problem), found
    return found


def targets(draft: Draft) -> list[str]:
    return [link.target for link in draft.links]


def test_every_field_of_the_front_matter_arrives(vault: Vault) -> None:
    note = """---
title: Rotate the keys
layer: entity
tags: [Ops, "#security", 2024]
aliases:
  - Key rotation
  - rotate
date: 2026-09-30
author: Ann
role: assistant
pinned: true
session_id: s-1
valid_from: 2026-01-01T10:00:00+02:00
valid_until: 2026-12-31
expires_at: "2027-01-01 00:00"
version: 1.10
time: 12:30
seen: 2026-01-02
parts: {a: [1, 2.5, true, null, no]}
---
The body. #inline
"""
    draft = drafts(vault({"ops/keys.md": note}), prefix="v/")["v/ops/keys"]
    assert draft == Draft(
        body="The body. #inline",
        title="Rotate the keys",
        key="v/ops/keys",
        layer="entity",
        role="assistant",
        author="Ann",
        context="ops",
        source="test",
        session_id="s-1",
        tags=("Ops", "security", "2024", "inline"),
        aliases=("Key rotation", "rotate", "keys"),
        metadata={
            "version": 1.1,
            "time": "12:30",
            "seen": "2026-01-02",
            "parts": {"a": [1, 2.5, True, None, "no"]},
        },
        occurred_at=datetime(2026, 9, 30, tzinfo=UTC),
        valid_from=datetime(2026, 1, 1, 8, tzinfo=UTC),
        valid_until=datetime(2026, 12, 31, tzinfo=UTC),
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
        pinned=True,
    )


def test_a_bare_note_takes_title_time_and_layer_from_its_surroundings(vault: Vault) -> None:
    folder = vault({"my-long_name.md": "text", "b.markdown": "\n# A *title* `here` #\n\nintro"})
    os.utime(folder / "my-long_name.md", (1_700_000_000, 1_700_000_000))
    found = drafts(folder, layer="entity")
    assert found["my-long_name"].title == "my long name"
    assert found["my-long_name"].aliases == ("my-long_name",)
    assert found["my-long_name"].occurred_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert found["my-long_name"].layer == "entity"
    assert found["my-long_name"].context == ""
    assert found["b"].title == "A title here"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tags: 'a, b c,, #d'", ("a", "b c", "d")),
        ("tags:", ()),
        ("tag: one", ("one",)),
        ("tags: [a, A, '']", ("a",)),
    ],
)
def test_tags_are_a_list_or_text_with_commas(vault: Vault, line: str, expected: tuple[str, ...]) -> None:
    assert drafts(vault({"a.md": f"---\n{line}\n---\nx"}))["a"].tags == expected


def test_inline_tags_leave_code_headings_links_and_numbers_alone(vault: Vault) -> None:
    text = (
        "# head #no\n#yes and #nested/tag, #2024 #é1 a#no [x](#no) `#no` https://x/#no [[#No]]\n"
        "```\n#no\n```\n<!-- #no -->\n"
    )
    assert drafts(vault({"a.md": text}))["a"].tags == ("yes", "nested/tag", "é1")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("date", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
        ("created", "2026-9-3", datetime(2026, 9, 3, tzinfo=UTC)),
        ("occurred_at", "2026/09/30 08:12:00 +0200", datetime(2026, 9, 30, 6, 12, tzinfo=UTC)),
        ("date", "20260930", datetime(2026, 9, 30, tzinfo=UTC)),
        ("Date", "2026-09-30T08:12:00Z", datetime(2026, 9, 30, 8, 12, tzinfo=UTC)),
        ("created-at", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
        ("Date Created", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
        ("createdAt", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
        ("updated: 2026-10-01\ncreated_at", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
        ("last-modified", "2026-09-30", datetime(2026, 9, 30, tzinfo=UTC)),
    ],
)
def test_dates_are_read_as_utc(vault: Vault, key: str, value: str, expected: datetime) -> None:
    assert drafts(vault({"a.md": f"---\n{key}: {value}\n---\nx"}))["a"].occurred_at == expected


def test_links_carry_the_keys_of_the_notes_they_name(vault: Vault) -> None:
    text = """[[b]] [[B|shown]] [[Second Title]] [[nick]] [[sub/deep.md#P|p]] [[deep]] ![[b]] [[a]] [[#Here]]
[md](sub/deep.md) [up](./b.md#x "t") [space](my%20note.md) [angle](<my note.md>) [self](a.md) [out](https://x/y.md)
[[Nowhere]] [[Nowhere|again]] [gone](sub/gone.md) [[p.png]] ![[q.png|100]] ![pic](r.png) [pdf](s.pdf)
`[[code]]` [`b`](b.md)

```
[[fenced]]
```
"""
    folder = vault(
        {
            "a.md": text,
            "b.md": "---\ntitle: Second title\naliases: nick\n---\nx",
            "sub/deep.md": "x",
            "my note.md": "x",
        }
    )
    draft = drafts(folder, prefix="v/")["v/a"]
    assert targets(draft) == ["v/b", "v/sub/deep", "v/my note", "Nowhere", "v/sub/gone"]
    assert draft.body.splitlines()[0] == "b shown Second Title nick p deep b a Here"
    assert draft.body.splitlines()[2] == "Nowhere again [gone](sub/gone.md) p.png   [pdf](s.pdf)"
    assert "`[[code]]`" in draft.body
    assert "[[fenced]]" in draft.body


def test_an_ambiguous_name_prefers_the_same_folder_then_the_shortest_path(vault: Vault) -> None:
    folder = vault(
        {
            "x/y/note.md": "x",
            "z/note.md": "x",
            "x/y/from.md": "[[Note]]",
            "other/from.md": "[[note]] [[y/note]] [[x/y/note]] [[../z/note]]",
        }
    )
    found = drafts(folder)
    assert targets(found["x/y/from"]) == ["x/y/note"]
    assert targets(found["other/from"]) == ["z/note", "x/y/note"]


def test_names_written_in_another_unicode_form_are_found(vault: Vault) -> None:
    found = drafts(vault({"Cafe\u0301.md": "x", "a.md": "[[caf\u00c9]]"}))
    assert targets(found["a"]) == ["Caf\u00e9"]


FILLER = "It says more than a short section would, so it stays."
LONG = f"""---
title: Ingest
aliases: [Intake]
tags: [ops]
date: 2026-09-30
pinned: true
expires_at: 2027-01-01
---
# Ingest

Opening words [[b]]. {FILLER}

## Rotate the keys

{"Key words. " * 30} [[b]] [[a]] [[#Again]]

```sh
# not a heading

echo "$key" #nottag
```

### Details

Small [[#Rotate the keys]]. {FILLER}

## Again

First again. {FILLER}

## Again

Second again. {FILLER}

## Empty parent

### Child

child text {FILLER}

## Leaf without text
"""


def test_a_long_note_becomes_parts_at_its_headings(vault: Vault) -> None:
    folder = vault(
        {
            "know/a.md": LONG,
            "b.md": "[[a#Rotate the keys]] [[Ingest#Again]] [[a#None]] [[a#^block]] "
            "[[a#Empty parent]] [[a#leaf without text]]",
        }
    )
    found = drafts(folder, split_at=500)
    assert list(found) == [
        "b",
        "know/a",
        "know/a#rotate-the-keys",
        "know/a#details",
        "know/a#again",
        "know/a#again-2",
        "know/a#child",
    ]
    note, keys, child = found["know/a"], found["know/a#rotate-the-keys"], found["know/a#child"]
    assert note.body == f"Opening words b. {FILLER}\n\n## Leaf without text"
    assert note.aliases == ("Intake", "a")
    assert targets(note) == ["b"]
    assert keys.title == "Ingest > Rotate the keys"
    assert found["know/a#details"].title == "Ingest > Rotate the keys > Details"
    assert keys.context == "know / Ingest / Rotate the keys"
    assert keys.links == (DraftLink("know/a", "part_of"), DraftLink("b"), DraftLink("know/a#again"))
    assert "# not a heading" in keys.body
    assert targets(found["know/a#details"]) == ["know/a", "know/a#rotate-the-keys"]
    assert child.title == "Ingest > Empty parent > Child"
    for part in (keys, child):
        assert part.aliases == ()
        assert (part.tags, part.occurred_at, part.layer) == (note.tags, note.occurred_at, note.layer)
        assert (part.pinned, part.expires_at) == (True, note.expires_at)
    assert note.tags == ("ops",)
    assert targets(found["b"]) == ["know/a#rotate-the-keys", "know/a#again", "know/a", "know/a#child"]


def test_a_short_note_stays_whole(vault: Vault) -> None:
    found = drafts(vault({"a.md": LONG, "b.md": "[[a#Rotate the keys]]"}), split_at=10_000)
    assert list(found) == ["a", "b"]
    assert found["a"].body.startswith("# Ingest")
    assert targets(found["b"]) == ["a"]


def test_a_note_that_opens_with_headings_is_represented_by_its_outline(vault: Vault) -> None:
    text = f"## One [[b]]\n\n{'a ' * 50}\n\n### Two\n\n{'b ' * 50}\n"
    found = drafts(vault({"a.md": text, "b.md": "x"}), split_at=120)
    assert found["a"].body == "  - One b\n    - Two"
    assert targets(found["a#one-b"]) == ["a", "b"]


def test_a_short_opening_is_followed_by_the_outline(vault: Vault) -> None:
    found = drafts(vault({"a.md": f"# A\n\nSee [[b]].\n\n## One\n\n{'a ' * 50}", "b.md": "x"}), split_at=110)
    assert found["a"].body == "See b.\n\n- A\n  - One"
    assert targets(found["a"]) == ["b"]


def test_a_path_too_long_for_a_title_loses_its_middle(vault: Vault) -> None:
    text = "---\ntitle: T\n---\n" + "".join(f"{'#' * n} {'x' * 150}{n}\n{'a ' * 50}\n" for n in range(1, 6))
    titles = [draft.title for draft in drafts(vault({"a.md": text}), split_at=120).values()]
    assert titles[0] == "T"
    assert titles[-1] == f"T > … > {'x' * 150}5"


@pytest.mark.parametrize(
    ("name", "text", "title", "aliases"),
    [
        ("My Great Note", "Body text first.\n\n# References\n\nhttp://x", "My Great Note", ()),
        ("note", "%% a comment %%\n\n# Named\n\ntext", "Named", ("note",)),
        ("note", "## Part\n\ntext", "note", ()),
        ("note", "---\ntitle: Given\n---\n# Heading", "Given", ("note",)),
        ("README", "[badge](x.md)\n\n# The project\n\ntext", "The project", ()),
        ("index", "text", "index", ()),
        ("a-b", "Title\n=====\n\ntext", "Title", ("a-b",)),
        ("note", "---\naliases: [Note, other]\n---\n# Named", "Named", ("Note", "other")),
    ],
)
def test_a_note_is_called_after_its_file_unless_it_begins_with_its_name(
    vault: Vault, name: str, text: str, title: str, aliases: tuple[str, ...]
) -> None:
    draft = drafts(vault({f"{name}.md": text}))[name]
    assert (draft.title, draft.aliases) == (title, aliases)


def test_a_heading_equal_to_the_title_is_not_repeated(vault: Vault) -> None:
    text = f"---\ntitle: Title\n---\n{'intro ' * 20}\n\n# Title\n\n{'a ' * 50}\n\n## Sub\n\n{'b ' * 50}"
    assert [draft.title for draft in drafts(vault({"a.md": text}), split_at=150).values()] == [
        "Title",
        "Title",
        "Title > Sub",
    ]


def test_a_changed_note_keeps_the_keys_of_the_sections_that_stay(vault: Vault) -> None:
    def keys(text: str) -> list[str]:
        return list(drafts(vault({"a.md": text}), split_at=200))

    say = "word " * 30
    before = keys(f"{say}\n\n## One\n\n{say}\n\n## Two\n\n{say}")
    assert keys(f"{say}\n\n## New\n\nshort\n\n## One\n\n{say}\n\n## Two\n\n{say} more") == before


def test_a_long_section_is_cut_between_paragraphs_but_never_in_a_fence(vault: Vault) -> None:
    fence = "```\n" + "code line\n\n" * 8 + "```"
    text = (
        f"{'p' * 60}\n\n{'q' * 60}\n\n## Part\n\n{'r' * 60}\n\n{fence}\n\n{'s' * 60}\n\n## Part part 2\n\nend"
    )
    found = drafts(vault({"a.md": text}), split_at=100)
    assert list(found) == [
        "a", "a#part-2", "a#part", "a#part-part-2-2", "a#part-part-3", "a#part-part-2",
    ]  # fmt: skip
    assert found["a#part-part-2-2"].body == fence
    assert found["a#part-part-2-2"].title == "a > Part (part 2)"
    assert found["a#part-2"].links == (DraftLink("a", "part_of"),)


def test_a_fence_or_line_longer_than_the_limit_is_cut(vault: Vault) -> None:
    fence = "```\n" + "code line\n" * 50 + "```"
    found = drafts(vault({"a.md": fence + "\n\n" + "One sentence here. " * 20}), split_at=100)
    assert all(len(draft.body) <= 100 for draft in found.values())
    assert sum(draft.body.count("code line") for draft in found.values()) == 50
    assert sum(draft.body.count("sentence") for draft in found.values()) == 20
    assert any(draft.body.endswith("here.") for draft in found.values())


def test_comments_and_images_go_but_never_the_rest_of_a_note(vault: Vault) -> None:
    text = "a <!-- b --> c\n<!--\n# hidden\n```\n-->d\n`<!--` e ![i](j.png)<img src='k'>\n<!-- open\nlast"
    assert drafts(vault({"a.md": text}))["a"].body == "a  c\n\n\n\nd\n`<!--` e \n<!-- open\nlast"


@pytest.mark.parametrize("text", ["---\n\nprose\n\n---\nmore", "---\nprose that never closes", "----\nx"])
def test_a_thematic_break_is_not_front_matter(vault: Vault, text: str) -> None:
    assert drafts(vault({"a.md": text}))["a"].body == text


def test_a_note_of_front_matter_alone_is_its_title(vault: Vault) -> None:
    draft = drafts(vault({"ann lee.md": "---\naliases: [Ann]\n---\n"}))["ann lee"]
    assert (draft.title, draft.body, draft.aliases) == ("ann lee", "ann lee", ("Ann",))


def test_a_byte_order_mark_and_windows_line_ends_are_not_text(vault: Vault) -> None:
    draft = drafts(vault({"a.md": b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\none\r\ntwo\r\n"}))["a"]
    assert (draft.title, draft.body) == ("T", "one\ntwo")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "The file is empty."),
        (" \n\n", "The file is empty."),
        ("<!-- only -->", "The file contains no text."),
        (b"abc\x81\x81", "Byte 3 (0x81) is not UTF-8; convert the file to UTF-8."),
        (b"x" * 10_000_001, "The file is larger than 10 MB."),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_problem_that_says_where_and_why(
    vault: Vault, content: str | bytes, words: str
) -> None:
    folder = vault({"sub/bad.md": content})
    found = problem(folder)
    assert found.where == str(folder / "sub" / "bad.md")
    assert found.reason.startswith(words)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("title: x\ntags: [a", "line 4: did not find expected"),
        ("- a", "line 2: must be fields"),
        ("[a]: 2", "line 2: a name must be text; quote a value that begins"),
        ("a: " + "[" * 90_000 + "]" * 90_000, "line 2: nested more than 20"),
        ("a: 1\n...\n---\nb: 2", ""),
    ],
)
def test_the_text_below_unreadable_front_matter_is_imported(vault: Vault, block: str, words: str) -> None:
    folder = vault({"a.md": f"---\n{block}\n---\nThe text."})
    *problems, draft = read_markdown(folder, source="test")
    assert isinstance(draft, Draft)
    assert draft.body.endswith("The text.")
    assert [str(found) for found in problems] == [] or draft.metadata == {"front_matter": block}
    for found in problems:
        assert isinstance(found, Problem)
        assert found.where == str(folder / "a.md")
        assert found.reason.startswith(f"Front matter, {words}")
    assert bool(words) == bool(problems)


def test_front_matter_that_is_never_closed_is_text(vault: Vault) -> None:
    found, draft = read_markdown(vault({"a.md": "---\ntitle: x\nno end"}), source="test")
    assert isinstance(found, Problem)
    assert found.reason == "Front matter, line 1: opened with --- and never closed."
    assert isinstance(draft, Draft)
    assert draft.body == "---\ntitle: x\nno end"


def test_bad_files_do_not_stop_the_others_and_links_to_them_keep_their_keys(vault: Vault) -> None:
    folder = vault({"a.md": "", "b.md": "[[a]]", "c.md": b"\xff"})
    (folder / "d.md").symlink_to("nowhere")
    kinds = [type(found) for found in read_markdown(folder, source="s")]
    assert kinds == [Problem, Draft, Problem, Problem]
    draft = next(found for found in read_markdown(folder, source="s") if isinstance(found, Draft))
    assert targets(draft) == ["a"]


def test_two_files_with_one_key_are_a_problem_naming_both(vault: Vault) -> None:
    folder = vault({"a.markdown": "first", "a.md": "second"})
    found = list(read_markdown(folder, source="s"))
    assert [type(item) for item in found] == [Problem, Draft]
    assert isinstance(found[0], Problem)
    assert "a.md" in found[0].where
    assert "a.markdown" in found[0].reason


def test_a_number_sign_in_a_file_name_cannot_look_like_a_section(vault: Vault) -> None:
    assert list(drafts(vault({"c#.md": "x"}))) == ["c-"]


def test_a_file_name_that_is_not_utf8_is_a_problem(vault: Vault) -> None:
    folder = vault({"a.md": "x"})
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = list(read_markdown(folder, source="s"))
    assert [type(item) for item in found] == [Problem, Draft]
    assert isinstance(found[0], Problem)
    assert found[0].where.endswith("b\\udcff.md")


def test_hidden_places_and_other_files_are_passed_over_and_loops_end(vault: Vault) -> None:
    folder = vault(
        {
            ".obsidian/x.md": "x",
            ".trash/y.md": "x",
            "z.txt": "x",
            "._a.md": b"\xff",
            "b/a.md": "x",
            "a.MD": "x",
        }
    )
    (folder / "b" / "loop").symlink_to(folder)
    (folder / "folder.md").mkdir()
    assert list(drafts(folder)) == ["a", "b/a"]


def test_a_link_out_of_the_folder_is_followed_only_if_asked(vault: Vault, tmp_path: Path) -> None:
    folder = vault({"a.md": "x", "b/inside.md": "x"})
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "n.md").write_text("[[a]]")
    (folder / "linked").symlink_to(tmp_path / "else")
    (folder / "note.md").symlink_to(tmp_path / "else" / "n.md")
    (folder / "up.md").symlink_to("../else/n.md")
    (folder / "c").symlink_to("b")  # stays inside
    found = list(read_markdown(folder, source="s"))
    skipped = [item for item in found if isinstance(item, Problem)]
    assert [Path(item.where).name for item in skipped] == ["linked", "note.md", "up.md"]
    assert all("--follow-links" in item.reason for item in skipped)
    assert [item.key for item in found if isinstance(item, Draft)] == ["a", "b/inside"]
    followed = read_markdown(folder, source="s", follow_links=True)
    assert [item.key for item in followed if isinstance(item, Draft)] == [
        "a", "b/inside", "linked/n", "note", "up"
    ]  # fmt: skip


def test_the_folder_itself_may_be_a_link_and_so_may_a_note_that_is_named(
    vault: Vault, tmp_path: Path
) -> None:
    folder = vault({"a.md": "x"})
    (tmp_path / "way").symlink_to(folder)
    assert list(drafts(tmp_path / "way")) == ["a"]
    (tmp_path / "way.md").symlink_to(folder / "a.md")
    assert [
        item.key for item in read_note_file(tmp_path / "way.md", source="s") if isinstance(item, Draft)
    ] == ["way"]


def test_the_names_of_notes_outside_of_the_folder_are_not_read(vault: Vault, tmp_path: Path) -> None:
    folder = vault({"a.md": "[[Secret title]]"})
    (tmp_path / "n.md").write_text("# Secret title\ntext")
    (folder / "linked.md").symlink_to(tmp_path / "n.md")
    [draft] = read_note_file(folder / "a.md", source="s")
    assert isinstance(draft, Draft)
    assert targets(draft) == ["Secret title"]


def test_a_path_that_is_no_folder_is_refused_at_once(vault: Vault) -> None:
    folder = vault({"a.md": "x"})
    with pytest.raises(InvalidInput, match="There is no folder"):
        read_markdown(folder / "none", source="s")
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        read_markdown(folder / "a.md", source="s")
    with pytest.raises(InvalidInput, match="split_at is 0"):
        read_markdown(folder, source="s", split_at=0)


def test_one_note_is_read_with_the_names_in_its_folder(vault: Vault) -> None:
    folder = vault({"a.md": "[[Title of b]]", "b.md": "# Title of b", "c.md": ""})
    (found,) = read_note_file(folder / "a.md", source="s", prefix="p/")
    assert isinstance(found, Draft)
    assert (found.key, targets(found)) == ("p/a", ["p/b"])
    with pytest.raises(InvalidInput, match="There is no file"):
        read_note_file(folder / "none.md", source="s")
    (folder / "x.txt").write_text("x")
    with pytest.raises(InvalidInput, match="is not a Markdown file"):
        read_note_file(folder / "x.txt", source="s")


def test_notes_are_streamed(vault: Vault) -> None:
    folder = vault({f"{number:03}.md": f"note {number}" for number in range(50)})
    found = read_markdown(folder, source="s")
    assert isinstance(next(found), Draft)
    (folder / "049.md").unlink()
    last = list(found)[-1]
    assert isinstance(last, Problem)
    assert "cannot be read" in last.reason


MARKUP = st.sampled_from(
    ["# ", "## ", "---\n", "```", "~~~", "[[", "]]", "|", "#", "![", "](", ")", "<!--", "-->", "`", "\n",
     "\n\n", " ", ":", "- ", "title: ", "date: ", "word", "x.md",
     "\0", "\r", "é", "{", "&a", "*a", '"', "'", "%"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.one_of(st.lists(MARKUP, max_size=60).map("".join), st.text(), st.binary()),
    limit=st.integers(1, 80),
)
def test_any_file_gives_drafts_with_their_own_keys_or_one_problem(
    tmp_path: Path, text: str | bytes, limit: int
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    found = list(read_markdown(tmp_path, source="s", split_at=limit))
    if not any(isinstance(item, Draft) for item in found):
        assert len(found) == 1
    else:
        keys = [item.key for item in found if isinstance(item, Draft)]
        assert len(set(keys)) == len(keys) >= 1
        assert keys[0] == "a"


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#कविता #ไทยน้ำ #العَرَبِيَّة #עִבְרִית", ("कविता", "ไทยน้ำ", "العَرَبِيَّة", "עִבְרִית")),
        ("#re\u0301sume\u0301 #می\u200cخواهم", ("résumé", "می\u200cخواهم")),
        ("#todo✅ #🚀launch #🚀 #👩\u200d🚀", ("todo✅", "🚀launch", "🚀", "👩\u200d🚀")),
        ("#a, #b. #c! #d。 #e： (#f) x#g ##h", ("a", "b", "c", "d", "e")),
        ("#2024 #-/- #a/b_c-d", ("a/b_c-d",)),
        ('<div style="border: 1px solid #FACADE">#yes</div>', ("yes",)),
        ("A key. {: #key .brass } #yes", ("yes",)),
        ('<td\n  bgcolor= #ABCDEF\n>x</td> #too', ("too",)),
        ('A <a href= #Anchor >link</a> and #one', ("one",)),
    ],
)  # fmt: skip
def test_tags_are_whole_and_only_tags(vault: Vault, text: str, tags: tuple[str, ...]) -> None:
    assert drafts(vault({"a.md": f"x\n\n{text}"}))["a"].tags == tags
    if "\n" not in text:
        assert drafts(vault({"a.md": f"- item {text}"}))["a"].tags == tags


def test_tags_of_the_front_matter_are_composed_and_cleaned(vault: Vault) -> None:
    block = "tags:\n  - re\u0301sume\u0301\n  - '[\"svelte\"'\n  - [[Locks]]"
    assert drafts(vault({"a.md": f"---\n{block}\n---\nx"}))["a"].tags == ("résumé", "svelte", "Locks")


def test_a_link_leads_to_the_heading_with_its_text(vault: Vault) -> None:
    names = ["C", "C++", "C#", "🚀", "✅", "कि", "की", "C", "A `b` *c*"]
    text = "# Top\n\n" + "".join(f"## {name}\n\n{name} {'says so. ' * 20}\n\n" for name in names)
    wanted = {
        "[[long#C++]]": "C++", "[[long#c]]": "C", "[[long#🚀]]": "🚀", "[[long#✅]]": "✅",
        "[[long#कि]]": "कि", "[[long#की]]": "की", "[[long#A b c]]": "A `b` *c*", "[x](long.md#c-1)": "C++",
        "[x](long.md#a-b-c)": "A `b` *c*",
    }  # fmt: skip
    files = {f"n{number}": link for number, link in enumerate(wanted)}
    found = drafts(
        vault({"long.md": text, **{f"{name}.md": link for name, link in files.items()}}), split_at=99
    )
    assert len({key for key in found if key.startswith("long#")}) >= len(names)
    for name, link in files.items():
        [target] = targets(found[name])
        assert found[target].body.startswith(f"{wanted[link]} says"), link


def test_links_in_front_matter_are_links(vault: Vault) -> None:
    block = (
        'up: "[[Hub]]"\nrelated:\n  - "[[Side note|side]]"\n  - plain\nauthor: "[[Ada Quill|Ada]]"\n'
        'parent: [[Hub#Part]]\ncover: "[[a.png]]"\ndate: "[[2026-05-01]]"\nsee: {also: "[x](sub/deep.md)"}'
    )
    draft = drafts(vault({
        "n.md": f"---\n{block}\n---\nText.", "Hub.md": "x", "Side note.md": "x", "sub/deep.md": "x",
    }))["n"]  # fmt: skip
    assert targets(draft) == ["Hub", "Side note", "Ada Quill", "2026-05-01", "sub/deep"]
    assert (draft.author, draft.occurred_at) == ("Ada", datetime(2026, 5, 1, tzinfo=UTC))
    assert draft.metadata == {
        "up": "[[Hub]]", "related": ["[[Side note|side]]", "plain"], "author": "[[Ada Quill|Ada]]",
        "parent": [["Hub#Part"]], "cover": "[[a.png]]", "date": "[[2026-05-01]]",
        "see": {"also": "[x](sub/deep.md)"},
    }  # fmt: skip


def test_the_links_of_the_front_matter_of_a_long_note_are_those_of_the_note(vault: Vault) -> None:
    text = f'---\nup: "[[Hub]]"\n---\n# A\n\nOpening.\n\n## One\n\n{"word " * 50}'
    found = drafts(vault({"a.md": text, "Hub.md": "x"}), split_at=120)
    assert (targets(found["a"]), targets(found["a#one"])) == (["Hub"], ["a"])


def test_other_files_are_counted(vault: Vault) -> None:
    folder = vault({"a.md": "x", "b.canvas": "{}", "c/d.txt": "x", ".hidden/e.txt": "x"})
    counts = [item for item in read_markdown(folder, source="s") if isinstance(item, Skipped)]
    assert [(one.what, one.places) for one in counts] == [
        ("files that are no notes, passed over", (str(folder / "b.canvas"),)),
        ("texts that do not end in .md, passed over", (str(folder / "c" / "d.txt"),)),
    ]
