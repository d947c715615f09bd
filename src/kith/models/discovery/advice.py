"""What to do when there is no model yet: what was looked for, what fits here, how to get one."""

import os
from collections.abc import Sequence

from kith.models.discovery.places import Places
from kith.models.discovery.servers import USUAL, Server, ollama_url
from kith.models.providers.wire import Endpoint, is_loopback

GIB = 1 << 30
# Names in Ollama's library and on Hugging Face, with the size of the file in GiB at 4 bits.
SUGGESTIONS = (
    (18.6, "qwen3-coder:30b", "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF"),
    (5.2, "qwen3:8b", "Qwen/Qwen3-8B-GGUF"),
    (2.5, "qwen3:4b", "Qwen/Qwen3-4B-GGUF"),
)


def advise(places: Places, servers: Sequence[Server] = ()) -> str:
    """Sentences and commands for a machine without a model; `servers` answer, but have none."""
    looked = [("Ollama", ollama_url(places.ollama_host)), *(("a server", url) for url in USUAL)]
    looked += [(name, Endpoint(url).url) for name, (_, url, _) in places.named.items()]
    if places.openai_base_url:
        looked.append(("OPENAI_BASE_URL", Endpoint(places.openai_base_url).url))
    looked = [each for each in looked if not places.offline or is_loopback(each[1])]
    there = {server.url for server in servers}
    memory = total_memory()
    carries = memory * 0.7
    size, ollama, gguf = next((each for each in SUGGESTIONS if each[0] <= carries / GIB), SUGGESTIONS[-1])
    return "\n".join(
        [
            "No model was found. kith looked for:",
            *(f"  {name} at {url}{', which runs but has no model' * (url in there)}" for name, url in looked),
            f"This machine has {memory / GIB:.0f} GiB of memory: a model file of up to about "
            f"{carries / GIB:.0f} GiB fits. To get one ({size:.0f} GiB):",
            f"  ollama pull {ollama}",
            f"  llama-server -hf {gguf}:Q4_K_M -c 16384 --jinja",
            "To see kith work without a model:",
            "  kith demo",
        ]
    )


def total_memory() -> int:
    """The machine's memory in bytes; 8 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * GIB
