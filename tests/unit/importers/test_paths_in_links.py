"""Links as programs write them that name a note by more or less than its own path."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgrecall.importers.detect import open_source
from pgrecall.nouns.memories.models import Draft

NOTES = (
    "Gate.md",
    "A/Gate.md",
    "B/Gate.md",
    "B/Winch.md",
    "A/Sub/Deep Note.md",
    "Zürich Ort.md",
    "C/Hub.md",
    "D/Hub.md",
    "C#.md",
    "C.md",
)


def linking(folder: Path, link: str) -> Draft:
    """The draft of a note in the folder ``A`` of a vault, with this link."""
    vault = folder / "Vault"
    for name in NOTES:
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text("Brass.", encoding="utf-8")
    (vault / "A" / "Own.md").write_text(f"See {link} there.", encoding="utf-8")
    return next(item for item in open_source(vault) if isinstance(item, Draft) and item.key == "A/Own")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[[Vault/B/Gate]]", "B/Gate"),
        ("[[vault/Gate]]", "Gate"),
        ("[[/Vault/B/Gate]]", "B/Gate"),
        ("[[Sub\\Deep Note]]", "A/Sub/Deep Note"),
        ("[[..\\B\\Gate]]", "B/Gate"),
        ("[[A\\Gate\\|the gate]]", "A/Gate"),
        ("[[Deep%20Note]]", "A/Sub/Deep Note"),
        ("[[Vault/Z%C3%BCrich%20Ort]]", "Zürich Ort"),
        ("[x](Sub\\Deep%20Note.md)", "A/Sub/Deep Note"),
        ("[x](../B/Winch)", "B/Winch"),
        ("[x](Sub/Deep%20Note#top)", "A/Sub/Deep Note"),
        ("[x](Winch.md)", "B/Winch"),
        ("[x](B/Winch.md)", "B/Winch"),
        ("[x](Gate.md)", "A/Gate"),
        ("[[C#]]", "C-"),
        ("[[C#|sharp]]", "C-"),
        ("[[C]]", "C"),
        ("[[Winch#]]", "B/Winch"),
        ("[[F#]]", "F#"),
        ("[[../../Vault/B/Winch]]", "B/Winch"),
        ("[x](../../Vault/B/Winch.md)", "B/Winch"),
    ],
)
def test_the_note_that_is_meant(link: str, target: str, tmp_path: Path) -> None:
    assert [found.target for found in linking(tmp_path, link).links] == [target]


def test_a_sign_at_the_end_of_a_name_stays_in_the_text(tmp_path: Path) -> None:
    assert linking(tmp_path, "[[C#]] and [[#]]").body == "See C# and # there."


@pytest.mark.parametrize(
    "link", ["[x](Winch)", "[x](/about)", "[x](../B/Winch.pdf)", "[[https://a.b/Winch]]"]
)
def test_what_leads_to_no_note(link: str, tmp_path: Path) -> None:
    draft = linking(tmp_path, link)
    assert (draft.body, draft.links) == (f"See {link} there.", ())


@pytest.mark.parametrize("link", ["[x](Hub.md)", "[[Other/Gate]]", "[[Vaults/Gate]]", "[x](../E/Winch.md)"])
def test_a_path_that_fits_none_or_several_waits_for_its_note(link: str, tmp_path: Path) -> None:
    [found] = linking(tmp_path, link).links
    assert found.target in ("A/Hub", "Other/Gate", "Vaults/Gate", "E/Winch")
