"""A program of its own: HTML on its input becomes Markdown on its output.

kith starts it for each page, with limits of time and memory: a page that a parser chokes on must not take
kith with it. It imports nothing of kith.
"""

import sys

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

_MEMORY = 2 << 30  # bytes of address space
_CPU_S = 20  # in case nobody stops it


def main() -> int:
    """Convert the page; its address is the one argument."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    options = ConversionOptions(
        preprocessing=PreprocessingOptions(preset="aggressive"),
        skip_images=True,
        extract_metadata=False,
        compact_tables=True,
        base_url=sys.argv[1],
    )
    sys.stdout.buffer.write((convert(html, options).content or "").encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
