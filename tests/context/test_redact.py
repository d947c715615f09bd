"""What leaves the machine holds no secret: known values, pieces of them, and what has the form of a key."""

import io
import random
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import Struct

from kith.context.redact import MARK, Redactor
from kith.context.secrets import is_guarded, is_secret_file, values_in, values_of_environment
from kith.core.model import Prompt
from kith.core.values import Message, Thinking, ToolCall, ToolResult, say

RANDOM = random.Random(11)
WORDS = string.ascii_letters + string.digits
VALUE = "kD83" + "".join(RANDOM.choices(WORDS, k=36))
secret_values = st.text(string.ascii_letters + string.digits + "+/_-=!$%&", min_size=8, max_size=64)


class Held(Struct, frozen=True):
    """One of the values that data is made of; so are these two."""

    value: object


@dataclass(frozen=True)
class HeldToo:
    value: object


class Named(NamedTuple):
    value: object


def cleaned_of(prompt: Prompt, values: Iterable[str] = (), own: str | None = None) -> tuple[Prompt, int]:
    return Redactor(values, own).redact(prompt)


def grow(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        *(st.builds(kind, inner) for kind in (Held, HeldToo, Named)),
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from([f"key of {VALUE}", "key"]), inner, max_size=2),
        inner.map(lambda value: {"deep": (value, None)}),
    )


LEAVES = st.one_of(
    st.sampled_from([None, True, 7, 0.5, date(2026, 1, 2), Path("/a")]),
    st.sampled_from([f"it is {VALUE}", f"{VALUE}\n".encode(), Path("/a") / VALUE, frozenset({VALUE})]),
    st.text(max_size=5),
)


@given(st.recursive(LEAVES, grow, max_leaves=12))
def test_no_kind_of_value_hides_a_secret(value: object) -> None:
    cleaned = Redactor((VALUE,)).strip(value)
    assert type(cleaned) is type(value)
    assert VALUE not in repr(cleaned)
    assert (cleaned is value) == (VALUE not in repr(value))


def test_a_value_nobody_can_look_into_is_refused() -> None:
    with pytest.raises(TypeError):
        Redactor((VALUE,)).strip([Held(io.StringIO(VALUE))])
    with pytest.raises(TypeError):
        cleaned_of(
            Prompt("", (Message("assistant", (ToolCall("1", "bash", {"a": [VALUE.encode()]}),)),)), (VALUE,)
        )


def thread(*parts: object) -> Prompt:
    messages = (
        say(f"use {VALUE} please"),
        Message("assistant", (Thinking(f"it is {VALUE}"), ToolCall("1", "bash", {"command": ["x", VALUE]}))),
        Message("tool", (ToolResult("1", f"exit code 0\n{VALUE}\n"),)),
    )
    return Prompt(f"You know {VALUE}.", messages)


def test_every_part_of_a_prompt_is_looked_at() -> None:
    cleaned, found = cleaned_of(thread(), (VALUE,))
    assert found == 5 and VALUE not in repr(cleaned)
    assert cleaned.messages[0].text == f"use {MARK} please"
    assert cleaned.messages[1].calls[0].args == {"command": ["x", MARK]}


def test_what_holds_no_secret_is_the_same_object() -> None:
    prompt = Prompt("system", (say("hello"),))
    assert cleaned_of(prompt, (VALUE,)) == (prompt, 0) and cleaned_of(prompt)[0] is prompt


def test_what_a_provider_signed_goes_back_to_it_unread_and_to_no_other() -> None:
    """A local model that has read a secret may have a server that signs, too."""
    signed = (Thinking(VALUE, "signature"), ToolCall("1", "bash", {"command": VALUE}, opaque="signature"))
    prompt = Prompt("", (Message("assistant", signed, "gemini/a"),))
    assert cleaned_of(prompt, (VALUE,), "gemini/a") == (prompt, 0)
    for own in ("anthropic/b", None):
        cleaned, found = cleaned_of(prompt, (VALUE,), own)
        assert found == 2 and VALUE not in repr(cleaned)


def test_the_names_of_arguments_are_looked_at_too() -> None:
    prompt = Prompt("", (Message("assistant", (ToolCall("1", "bash", {"env": {VALUE: "x"}}),)),))
    assert VALUE not in repr(cleaned_of(prompt, (VALUE,))[0])


@given(st.lists(secret_values, min_size=1, max_size=5), st.lists(st.text(max_size=40), max_size=8))
def test_no_value_is_left_and_the_same_bytes_come_out(values: list[str], texts: list[str]) -> None:
    assume(not any(value in MARK for value in values))
    words = "\n".join(f"{text}{values[n % len(values)]}{text}" for n, text in enumerate(texts))
    redactor = Redactor(values)
    once, _ = redactor.clean(words)
    assert not any(value in once for value in values)
    assert Redactor(reversed(values)).clean(words)[0] == once


@given(st.integers(0, 20), st.integers(15, 40))
def test_a_piece_of_a_long_value_is_taken_out_too(start: int, length: int) -> None:
    piece = VALUE[start : start + max(length, 15)]
    assume(len(piece) >= 15)
    cleaned, found = Redactor((VALUE,)).clean(f"expected '{piece}...' to equal 'x'")
    assert found == 1 and cleaned == f"expected '{MARK}...' to equal 'x'"


def test_words_and_addresses_are_taken_out_only_whole() -> None:
    redactor = Redactor(("correct horse battery staple", "https://api.example.org/v1/models"))
    assert redactor.clean("a correct horse; https://api.example.org/v2")[1] == 0
    assert redactor.clean("correct horse battery staple")[0] == MARK


def test_prompts_that_grow_keep_their_beginning() -> None:
    redactor, prompt = Redactor((VALUE,)), thread()
    longer = Prompt(prompt.system, (*prompt.messages, say(f"again {VALUE}")))
    short, long = redactor.redact(prompt)[0], redactor.redact(longer)[0]
    assert long.messages[: len(short.messages)] == short.messages and long.system == short.system


def test_a_private_key_goes_as_a_whole_also_between_line_numbers() -> None:
    lines = ["".join(RANDOM.choices(WORDS + "+/", k=64)) for _ in range(6)]
    key = ["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"]
    numbered = [f"{number}\t{line}" for number, line in enumerate(key, 7)]
    quoted = [f'    "{line}\\n"' for line in key]
    for rows in (key, numbered, quoted):
        cleaned, _ = cleaned_of(Prompt("", (say("\n".join(["before", *rows, "after"])),)))
        text = cleaned.messages[0].text
        assert not any(line in text for line in lines)
        assert text.startswith("before") and text.endswith("after")


def test_keys_are_known_without_being_told() -> None:
    key = "ghp_" + "".join(RANDOM.choices(WORDS, k=36))
    assert cleaned_of(Prompt("", (say(f"remote: {key}"),)))[0].messages[0].text == f"remote: {MARK}"


# --- where values come from ------------------------------------------------------------------


def test_the_values_of_a_file_of_variables() -> None:
    text = f"""# a comment
export DB_PASSWORD="hunter2x"
DEBUG=true
PORT=8080
POSTGRES_PASSWORD=postgres
AUTH_MODE=development
TOKEN_URL=https://auth.example.org/token
DATABASE_URL=postgres://app:s3cr3tpw@db/main
SOMETHING={VALUE}
"""
    assert values_in(text) == ("hunter2x", "s3cr3tpw", VALUE)


def test_the_values_of_other_files() -> None:
    assert values_in('{"client_secret": "q8f7h3f7h3f", "name": "myproject"}') == ("q8f7h3f7h3f",)
    assert values_in("machine x login y password zzz12345") == ("zzz12345",)
    assert values_in("//registry.npmjs.org/:_authToken=abcdefghij") == ("abcdefghij",)
    assert values_in("db:\n  password: correct horse battery staple\n") == ("correct horse battery staple",)
    assert values_in(f"-----BEGIN PRIVATE KEY-----\n{VALUE}\n") == (VALUE,)


def test_code_that_only_speaks_of_secrets_gives_none() -> None:
    code = "password = os.environ['DB_PASSWORD']\ntoken = get_token(1)\nAPI_KEY_FILE = '/etc/key'\nx = 5\n"
    assert values_in(code, sure=False) == ()
    assert values_in("PASSWORD = 'swordfish'", sure=False) == ("swordfish",)


def test_the_values_of_an_environment() -> None:
    environ = {"GITHUB_TOKEN": VALUE, "HOME": "/home/me", "PGURL": "pg://me:pa55word@h/x", "LANG": "C.UTF-8"}
    assert values_of_environment(environ) == (VALUE, "pa55word")


def test_what_local_servers_are_given_as_a_key_is_no_secret() -> None:
    """It would be taken out of every text: "ollama" stands in many."""
    given = ("ollama", "lm-studio", "not-needed", "sk-no-key-required", "none", "EMPTY", "test", "dummy", "")
    assert not any(map(is_guarded, given)) and is_guarded("sk-q8f7h3f7h3f")
    assert values_of_environment({"OPENAI_API_KEY": "ollama"}) == ()


def test_names_of_files_that_hold_secrets() -> None:
    secret = [".env", "a/.env.local", "id_rsa", "x/server.pem", "Credentials.json", "secrets.yaml", ".netrc"]
    plain = [".env.example", "id_rsa.pub", "id_map.py", "secrets.py", "environment.py", "key.py", "a.txt"]
    assert all(is_secret_file(path) for path in secret)
    assert not any(is_secret_file(path) for path in plain)
    assert is_secret_file("secrets.py", ignored=True) and not is_secret_file("id_map.py", ignored=True)
