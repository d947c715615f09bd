"""Secrets are found by their form or their name; placeholders are not."""

import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.secrets import entropy, find_secrets

WORDS = string.ascii_letters + string.digits
RANDOM = random.Random(7)  # the same keys in every run; nothing that looks like a key stands in this file


def make(length: int, alphabet: str = WORDS) -> str:
    while True:
        value = "".join(RANDOM.choices(alphabet, k=length))
        if sum(character.isdigit() for character in value) > 1 or not any(map(str.isdigit, alphabet)):
            return value


HEX, UPPER, BASE32 = (
    "0123456789abcdef",
    string.ascii_uppercase + string.digits,
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
)
KEYS = {
    "age secret key": "AGE-SECRET-KEY-1" + make(58, UPPER),
    "Anthropic key": "sk-ant-api03-" + make(95),
    "AWS access key": "AKIA" + make(16, BASE32),
    "Azure storage key": "AccountKey=" + make(86) + "==",
    "Databricks token": "dapi" + make(32, HEX),
    "DigitalOcean token": "dop_v1_" + make(64, HEX),
    "Discord webhook": "https://discord.com/api/webhooks/" + make(18, "123456789") + "/" + make(68),
    "Docker token": "dckr_pat_" + make(27),
    "GitHub token": "ghp_" + make(36),
    "GitLab token": "glpat-" + make(20),
    "Google API key": "AIza" + make(35),
    "Google OAuth secret": "GOCSPX-" + make(28),
    "Google OAuth token": "ya29." + make(60),
    "Groq key": "gsk_" + make(52),
    "Hugging Face token": "hf_" + make(34),
    "JSON Web Token": f"eyJ{make(30)}.eyJ{make(60)}.{make(43)}",
    "npm token": "npm_" + make(36),
    "OpenAI key": "sk-proj-" + make(80),
    "OpenRouter key": "sk-or-v1-" + make(64, HEX),
    "PyPI token": "pypi-AgEIcHlwaS5vcmc" + make(60),
    "SendGrid key": f"SG.{make(22)}.{make(43)}",
    "Shopify token": "shpat_" + make(32, HEX),
    "Slack token": f"xoxb-{make(12, '123456789')}-{make(12, '123456789')}-{make(24)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{make(9)}/B{make(9)}/{make(24)}",
    "Stripe key": "sk_live_" + make(24),
    "Stripe webhook secret": "whsec_" + make(32),
    "Telegram bot token": make(10, "123456789") + ":AA" + make(33),
    "Twilio key": "SK" + make(32, HEX),
    "Vault token": "hvs." + make(95),
}


@pytest.mark.parametrize("rule", KEYS)
def test_a_key_is_known_by_its_form(rule: str) -> None:
    text = f"import x\n\nclient = x.Client({KEYS[rule]!r})\n"
    assert find_secrets(text) == ((3, rule),)
    assert find_secrets(f"word{KEYS[rule]}" if not rule.endswith("webhook") else "") in ((), ((1, rule),))


def test_a_private_key_counts_and_its_header_alone_does_not() -> None:
    for kind in ("", "RSA ", "OPENSSH ", "EC "):
        begin = f"-----BEGIN {kind}PRIVATE KEY-----"
        assert find_secrets(f"x\n{begin}\n{make(64)}\n{make(64)}\n") == ((2, "private key"),)
        assert find_secrets(f'KEY = "{begin}\\n{make(64)}\\n"') == ((1, "private key"),)
        assert not find_secrets(f'if text.startswith("{begin}"):\n    return load(text)\n')
    assert not find_secrets(
        f"-----BEGIN PUBLIC KEY-----\n{make(64)}\n-----BEGIN CERTIFICATE-----\n{make(64)}\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "api_key = '{}'",
        'password: "{}",',
        '{{"client_secret": "{}"}}',
        'const authToken = "{}";',
        'self.db_password="{}"',
        "export STRIPE_API_KEY={}",
        "DB_PASSWORD={}",
        "url = 'postgres://app:{}@db.internal/main'",
    ],
)
def test_a_name_says_what_it_holds(line: str) -> None:
    assert len(find_secrets(line.format("fK9x2Lq7Zw4Rt8Vb"))) == 1
    for placeholder in ("your-key-goes-here1", "xxxxxxxxxxxxxxxx", "changeme12345678", "example-token-12"):
        assert not find_secrets(line.format(placeholder))


@pytest.mark.parametrize(
    "line",
    [
        "token = 'django.contrib.auth.tokens'",
        "password = getpass.getpass('Password: ')",
        "secret = os.environ['API_SECRET_KEY_2024_V1']",
        "token = tokenizer.next_token(position=12)",
        "checksum = 'd41d8cd98f00b204e9800998ecf8427e'",
        "API_KEY=${SOME_VARIABLE_1234}",
        "AKIAIOSFODNN7EXAMPLE",
        "'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
        "commit = '3f786850e387550fdab836ed7e6dc881de23001b'",
        "password = 'correct horse battery staple'",
        "git@github.com:someone/some-repository-2024.git",
        "http://localhost:8080/path@x",
    ],
)
def test_what_is_no_secret_is_left_alone(line: str) -> None:
    assert find_secrets(line) == ()


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    lines = text.count("\n") + 1
    assert all(1 <= line <= lines for line, _ in find_secrets(text))


@given(st.text(WORDS + ".-_/+ ", max_size=200))
def test_entropy_is_between_none_and_that_of_all_different(text: str) -> None:
    assert -1e-9 <= entropy(text) <= max(len(text), 1).bit_length()


def test_source_code_holds_none() -> None:
    """The standard library says token and password on thousands of lines."""
    import http
    import json
    import token

    folders = (Path(module.__file__).parent for module in (http, json) if module.__file__)
    files = [*(file for folder in folders for file in folder.glob("*.py")), Path(str(token.__file__))]
    assert len(files) > 8
    assert [file.name for file in files if find_secrets(file.read_text(encoding="utf-8"))] == []
