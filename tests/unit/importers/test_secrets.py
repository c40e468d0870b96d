"""Secrets in chats are replaced by their kind; what only looks like one stays.

Values are put together here, so that no scanner of this repository takes them for real.
"""

from __future__ import annotations

import json
import string
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall.importers.chat import read_chats
from pgrecall.importers.fields import Keep
from pgrecall.importers.secrets import without_secrets
from pgrecall.nouns.imports.report import Skipped
from pgrecall.nouns.memories.models import Draft


def some(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    """So many characters that repeat only after all of them."""
    return "".join(islice(cycle(letters[7:] + letters[:7]), count))


HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
TOKENS = {
    "GitHub Token": ["gh" + "p_" + some(36), "github" + "_pat_" + some(82)],
    "Anthropic Key": ["sk-" + "ant-api03-" + some(90)],
    "OpenAI Key": ["sk-" + "proj-" + some(120), "sk-" + some(48)],
    "Google Key": ["AI" + "za" + some(35), "GOC" + "SPX-" + some(28)],
    "Hugging Face Token": ["hf" + "_" + some(34, string.ascii_letters)],
    "npm Token": ["npm" + "_" + some(36), "//registry/:" + "_authToken=" + some(36, HEX)],
    "Stripe Key": ["sk" + "_live_" + some(24), "rk" + "_test_" + some(99), "wh" + "sec_" + some(32)],
    "Slack Token": ["xa" + "pp-1-A01-2345-" + some(64, HEX), "xo" + "xb-2345678901-2345678902-" + some(24)],
    "AWS Access Key": ["AK" + "IA" + some(16, UPPER)],
    "GitLab Token": ["gl" + "pat-" + some(20)],
    "JSON Web Token": ["ey" + "J" + some(30) + ".ey" + "J" + some(60) + "." + some(43)],
    "SendGrid API Key": ["SG" + "." + some(22) + "." + some(43)],
    "DigitalOcean Token": ["do" + "p_v1_" + some(64, HEX)],
    "age Key": ["AGE-SECRET-" + "KEY-1" + some(58, UPPER)],
}


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("around", [
    "{}", "my key is {}.", 'x = "{}"\n', "({}), then go on", "a\n{}\nb",
    # Beside letters of other scripts, and after a sign that is written as letters.
    "鍵は{}です", "ключ{}и", "naïveté{}é", r"a\n{}\nb", r"\u0022{}\u0022", "?q=a%3D{}%26b", "a=20{}",
])  # fmt: skip
def test_a_token_is_replaced_and_the_rest_stays(kind: str, around: str) -> None:
    for token in TOKENS[kind]:
        text, found = without_secrets(around.format(token))
        assert token[-16:] not in text
        assert f"[removed: {kind}]" in text
        assert dict(found) == {kind: 1}
        before, after = around.split("{}")
        assert text.startswith(before)
        assert text.endswith(after)


def test_keys_passwords_and_variables_are_replaced() -> None:
    begin, end = ("-----" + word + " RSA PRIVATE " + "KEY-----" for word in ("BEGIN", "END"))
    lines = f"{some(64)}\n{some(64)}"
    assert without_secrets(f"a\n{begin}\n{lines}\n{end}\nb")[0] == "a\n[removed: Private Key]\nb"
    assert without_secrets(f"{begin}\n{lines}")[0] == "[removed: Private Key]"  # cut off
    password = "k9" + "v-Lq7rT2"
    url = f"postgresql://anna:{password}@db.internal:5432/app"
    assert without_secrets(url)[0] == "postgresql://anna:[removed: Password]@db.internal:5432/app"
    line = f"export DB_PASSWORD='{password}zz'"
    assert without_secrets(line)[0] == "export DB_PASSWORD='[removed: Secret]'"
    assert without_secrets(f"API_KEY=7{some(20)}\nPORT=80")[0] == "API_KEY=[removed: Secret]\nPORT=80"
    line = f"  API_KEY=7{some(20)}\r\nPORT=80\r\n"
    assert without_secrets(line)[0] == "  API_KEY=[removed: Secret]\r\nPORT=80\r\n"
    assert without_secrets(f"接続{url}")[0].endswith(":[removed: Password]@db.internal:5432/app")
    assert without_secrets(f"{lines}\n{end}\nb")[0] == "[removed: Private Key]\nb"  # cut off before


MIXED = "kQ7" + "tZ92pLm4xW8rB3vN6"


@pytest.mark.parametrize("around", [
    "aws_secret_access_key = {}", '{{"user": "mira", "password": "{}"}}', "db_password: {}",
    "Password={};Encrypt=true", "?user=mira&password={}&ssl=true", "https://x.org/v1?key={}",
    "db.example:5432:app:mira:{}", "machine api\n  login mira\n  password {}", "ENV JWT_SECRET {}",
    "curl -u mira:{} https://x.org", "mysql -u root -p{} app", "Authorization: Bearer {}",
    "X-Api-Key:{}", "login --token {}", "<password>{}</password>",
    "git clone https://{}@github.com/mira/clock", "PrivateKey = {}", r'{{\"token\": \"{}\"}}',
    "my password for the router: {}", "I changed the password to {} today.",
    "the passphrase is “{}”", "sshpass -p '{}' ssh",
    "Das Passwort für den Server lautet {}, bitte.", "La contraseña es {}.",
    "la clave de la API es {}, guárdala",
    "Password:\n  {}\nThanks", "{} is my password", "use {} as the password", "пароль: {}",
    "user mira, pass: {}",
    "RAILS_MASTER_KEY={} rails c", "redis-cli -a {} ping",
])  # fmt: skip
def test_what_looks_random_is_replaced_where_a_secret_is_expected(around: str) -> None:
    before, after = around.format("|").split("|")
    text, found = without_secrets(around.format(MIXED))
    assert text in (f"{before}[removed: Secret]{after}", f"{before}[removed: Password]{after}")
    assert found.total() == 1
    assert without_secrets(text) == (text, {})


@pytest.mark.parametrize("password", ["Nordsee" + "2024!x", "Tk72!" + "pZmma", "Trondheim-" + "47-Fjord!"])
def test_a_password_of_words_is_replaced_after_its_name(password: str) -> None:
    for said in ("The wifi password is {}", "Das Passwort heißt {}", "cambié la contraseña a {}"):
        assert without_secrets(said.format(password))[0] == said.format("[removed: Secret]")


@pytest.mark.parametrize("said", [
    "my password is {}", "The password of the NAS is now \"{}\".", "the wifi password: {}", "pw: {}",
    "I changed my password to {}, finally", "the passphrase of the backup was {}; no more",
    "user: mira / pass: {}",
    "Mein Passwort lautet: {}", "Ich habe das Kennwort vom Router auf {} geändert", "mi contraseña es {}",
    "La clave del wifi es {}.", "la contraseña del correo era {}", "a senha do wifi é {}",
    "mon mot de passe est {}",
])  # fmt: skip
def test_a_password_that_a_sentence_tells_is_replaced(said: str) -> None:
    for password in ("sunflower" + "42", "tr0ub" + "ador", "correct-" + "horse-77-battery", "Igel" + "2023"):
        assert without_secrets(said.format(password)) == (said.format("[removed: Secret]"), {"Secret": 1})


def test_a_private_key_in_two_turns_is_left_out_of_both() -> None:
    begin, end = ("-----" + word + " PRIVATE " + "KEY-----" for word in ("BEGIN", "END"))
    lines = "\n".join([some(64)] * 6)
    for at in (70, 100, 195, 300):
        first, second = lines[:at], lines[at:]
        assert some(64)[:20] not in without_secrets(f"It is\n{begin}\n{first}")[0]
        assert some(64)[20:40] not in without_secrets(f"And the rest:\n{second}\n{end}\nThanks.")[0]


@pytest.mark.parametrize("text", [
    "The password is the name of the dog, the token of our friendship.",
    "postgresql://postgres:postgres@db/app and mysql://user:${PASSWORD}@db and redis://:changeme@cache",
    "postgresql://anna:k9vLq7rT2@localhost/app",
    "API_KEY=your_api_key_here_123\nSECRET_KEY=os.environ['SECRET_KEY']\nTOKEN=$(cat token1234567)",
    "commit 2f1c0de4f3a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5, sha256-" + some(43),
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "AK" + "IAIOSFODNN7EXAMPLE", "550e8400-e29b-41d4-a716-446655440000", "data:image/png;base64," + some(400),
    "sk-learn, ghp_short, eyJhbGciOi", "a" * 10_000,
    "token = parser.nextToken2(depth3)", "from transformers import AutoTokenizer, Qwen3MoeForCausalLM2",
    "password: str = Field(min_length=8)", "await bcrypt.hash(password, saltRounds10)",
    "Errors: `TokenExpiredError` and `JsonWebTokenError`.", "secret: ${{ secrets.DEPLOY_KEY_V2 }}",
    "pass the flag --utf8Mb4", "token expires at 2026-05-04T08:00:00Z", "The API key has 32 characters.",
    "The password is sha256-hashed, the password of mira77 is wrong, and the password is at least 8 long.",
    "password is 8chars minimum", "Das Passwort ist in Keepass2, la contraseña es obligatoria en paso2.",
    "kwargs to pass to httpx2request, my password manager is bitwarden2", "password: base64",
    "the secret is in vault/app1/db2/v3", "password = settings.db1.password2",
])  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == (text, {})


@given(st.text(max_size=400), st.sampled_from(sorted(TOKENS)), st.text(max_size=400))
def test_no_text_around_a_token_hides_it_or_is_lost(before: str, kind: str, after: str) -> None:
    token = TOKENS[kind][0]
    text, found = without_secrets(f"{before} {token} {after}")
    assert token not in text
    assert found[kind] == 1
    assert text.startswith(without_secrets(before + " ")[0].rstrip()[:20])


def test_a_chat_says_what_was_replaced_and_can_keep_it(tmp_path: Path) -> None:
    token = TOKENS["GitHub Token"][0]
    turns = [{"role": "user", "content": f"use {token}"}, {"role": "assistant", "content": "Done."}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(turns))
    drafts, skipped = read(path)
    assert [draft.body for draft in drafts] == ["use [removed: GitHub Token]", "Done."]
    assert token not in repr(drafts)  # nor in the context of the turn after it
    assert Skipped("secrets of the kind 'GitHub Token', replaced", 1) in skipped
    kept, skipped = read(path, keep_secrets=True)
    assert kept[0].body == f"use {token}"
    assert not any("secrets" in one.what for one in skipped)


def test_a_folder_a_branch_and_a_model_are_stored_without_secrets(tmp_path: Path) -> None:
    token = TOKENS["GitHub Token"][0]
    said = {"role": "user", "content": "Hello.", "model": token}
    line = {
        "type": "user",
        "uuid": "u1",
        "cwd": f"/srv/{token}",
        "gitBranch": f"fix/{token}",
        "message": said,
    }
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(line) + "\n")
    [draft] = [one for one in read_chats(path, "claude-code", source="chat") if isinstance(one, Draft)]
    assert set(draft.metadata) == {"project", "branch", "model"}
    assert token not in repr(draft)


def read(path: Path, *, keep_secrets: bool = False) -> tuple[list[Draft], list[Skipped]]:
    items = list(read_chats(path, "chat", source="chat", keep=Keep(secrets=keep_secrets)))
    drafts = [item for item in items if isinstance(item, Draft)]
    return drafts, [item for item in items if isinstance(item, Skipped)]
