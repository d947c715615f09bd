"""The forms of keys and tokens that open doors, provider by provider."""

import re
from typing import Final

# Each rule, what a text holds wherever it may match (a quick look that spares the search), and the pattern.
# Sources: what each provider documents of its tokens' form.
KEYS: Final = tuple(
    (rule, mark, re.compile(pattern))
    for rule, mark, pattern in (
        ("age secret key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
        ("Anthropic key", "sk-ant-", r"sk-ant-[a-z]{3,5}\d\d-[\w-]{32,}"),
        ("AWS access key", "AKIA", r"AKIA[A-Z2-7]{16}"),
        ("AWS access key", "ASIA", r"ASIA[A-Z2-7]{16}"),
        ("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}=="),
        ("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
        ("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
        ("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}"),
        ("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{27,}"),
        ("GitHub token", "gh", r"gh[oprsu]_[A-Za-z0-9]{36,}"),
        ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
        ("GitLab token", "gl", r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|agent|imt|oas)-[\w-]{20,}"),
        ("Google API key", "AIza", r"AIza[\w-]{35}"),
        ("Google OAuth secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
        ("Google OAuth token", "ya29.", r"ya29\.[\w-]{30,}"),
        ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{48,}"),
        ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{34,}"),
        ("JSON Web Token", "eyJ", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}"),
        ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
        ("OpenAI key", "T3BlbkFJ", r"sk-[\w-]{20,}T3BlbkFJ[\w-]{20,}"),
        ("OpenAI key", "sk-proj-", r"sk-proj-[\w-]{40,}"),
        ("OpenRouter key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
        ("PyPI token", "pypi-", r"pypi-AgE[\w-]{50,}"),
        ("SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
        ("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
        ("Slack token", "xox", r"xox[abeoprs]-(?:\d+-)+[A-Za-z0-9-]{16,}"),
        ("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{32,}"),
        ("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{8,}/B\w{8,}/\w{20,}"),
        ("Stripe key", "k_live_", r"[rs]k_live_[0-9A-Za-z]{24,}"),
        ("Stripe webhook secret", "whsec_", r"whsec_[0-9A-Za-z+/]{32,}"),
        ("Telegram bot token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
        ("Twilio key", "SK", r"SK[0-9a-f]{32}"),
        ("Vault token", "hvs.", r"hvs\.[\w-]{90,}"),
        (
            "private key",
            "PRIVATE KEY",
            r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+,\\])*"
            r"(?:(?:Proc-Type|Version|Comment): [^\n]*\n[^-]{0,200})?[A-Za-z0-9+/]{40,}",
        ),
    )
)
