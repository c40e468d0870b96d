"""The commands of sharing: readers, keys that also read, and where a hit lives."""

from __future__ import annotations

from tests.acceptance.cli.command_tools import Command
from tests.conftest import Memory


def test_readers(pgrecall: Command, memory: Memory) -> None:
    assert memory.tenant == "acme"
    nobody = pgrecall("readers", "list", tenant="team")
    assert (nobody.code, nobody.out) == (0, "No other tenant may read this one.\n")
    assert pgrecall("readers", "add", "acme", tenant="team").out == "Added.\n"
    assert pgrecall("readers", "add", "acme", tenant="team").out == "Nothing changed.\n"
    [row] = pgrecall("readers", "list", "--json", tenant="team").json
    assert row["reader"] == "acme"
    itself = pgrecall("readers", "add", "team", tenant="team")
    assert (itself.code, itself.err) == (2, "Error: Tenant team reads itself already. Name another tenant.\n")
    assert pgrecall("readers", "remove", "acme", tenant="team").out == "Removed.\n"
    assert pgrecall("readers", "remove", "acme", tenant="team").out == "It could not read.\n"


def test_a_search_says_where_a_hit_lives(pgrecall: Command, memory: Memory) -> None:
    team = memory.for_tenant("team")
    team.remember("Aram mends the winch at the old pier", title="Winch")
    team.readers.add("acme")
    memory.remember("My winch is mended by Lale")
    found = pgrecall("search", "who mends the winch", tenant="acme", also_reads="team")
    assert found.code == 0
    assert found.out.count("shared by team") == 1
    document = pgrecall("search", "who mends the winch", "--json", tenant="acme", also_reads="team").json
    assert {hit["tenant"] for hit in document["hits"]} == {None, "team"}
    block = pgrecall("context", "who mends the winch", tenant="acme", also_reads="team")
    assert 'shared by "team"' in block.out
    team.readers.remove("acme")
    refused = pgrecall("search", "who mends the winch", tenant="acme", also_reads="team")
    assert "Skipped: tenant team: Tenant team is not shared with tenant acme." in refused.err
    wrong = pgrecall("search", "winch", tenant="acme", also_reads="team,team")
    assert "PGRECALL_ALSO_READS must be at most 10 tenants, each named once" in wrong.err


def test_a_key_says_what_it_also_reads(pgrecall: Command, memory: Memory) -> None:
    made = pgrecall(
        "keys", "create", "agent", "--also-reads", "team", "--also-reads", "company", tenant="acme"
    )
    assert made.code == 0
    assert [list(key.also_reads) for key in memory.keys.list()] == [["team", "company"]]
    assert "also read team" in " ".join(pgrecall("keys", "list", tenant="acme").out.split())
    own = pgrecall("keys", "create", "agent", "--also-reads", "acme", tenant="acme")
    assert own.code == 2
    assert "'acme' cannot be a tenant that tenant acme also reads" in own.err


def test_share(pgrecall: Command, memory: Memory) -> None:
    team = memory.for_tenant("team")
    token = f"ghp_{'a1B2c3' * 6}"
    own = memory.remember(f"Aram mends the winch with {token}", key="winch")
    refused = pgrecall("share", "winch", "--to", "team", tenant="acme")
    assert (refused.code, refused.err) == (
        2,
        "Error: Tenant team does not let tenant acme share memories with it. Whoever owns it allows it: "
        "`pgrecall readers add --may-share`.\n",
    )
    assert pgrecall("readers", "add", "acme", "--may-share", tenant="team").out == "Added.\n"
    assert "True" in pgrecall("readers", "list", tenant="team").out
    done = pgrecall("share", "winch", "--to", "team", tenant="acme")
    assert done.out == f"Created: acme#{own.id}.\nReplaced by placeholders: GitHub Token.\n"
    again = pgrecall("share", "winch", "--to", "team", "--json", tenant="acme").json
    assert (again["outcome"], again["secrets"]) == ("unchanged", ["GitHub Token"])
    assert [one.body for one in team.list()] == ["Aram mends the winch with [removed: GitHub Token]"]
    assert pgrecall("share", "winch", tenant="acme").code == 2
