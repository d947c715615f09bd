"""`kith comment`: put a review on a pull request, each finding once, and one summary for all."""

import argparse
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kith.core.errors import EXIT_DONE, BusyError, KithError, UsageError
from kith.core.event_loop import run_until_signal
from kith.features.forges import ForgesSettings
from kith.features.forges.client import ForgeKind, LimitedError, Patience, RefusedError
from kith.features.forges.comments import MARK, SUMMARY, Comments, Remark, comments_of, marked
from kith.features.forges.refusals import tell, word_limit, word_refusal
from kith.features.forges.reviews import MOST_BYTES, Found, Review, read_review
from kith.features.forges.settings import (
    Place,
    find_forges,
    find_place,
    take_tokens,
    token_name,
)
from kith.features.forges.texts import block, code, cut, plain
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.terminal.streams import read_input
from kith.view.lines import count
from kith.view.printing import on_one_line, printable

_TEXT: Final = 2_000  # characters of a finding
_SUGGESTION: Final = 4_000
_LISTED: Final = 100  # findings in a summary
_LONGEST: Final = 60_000  # GitHub takes 65,536


class Posted(Struct, frozen=True):
    """The outcome: new comments on lines, findings that have one already, and those that got none.

    `gone` are earlier comments whose finding is not there any more.
    """

    new: int
    known: int
    left: int
    gone: int


def comment_command(args: argparse.Namespace) -> int:
    """Put a review on a pull request; nothing of it runs or trusts anything of the branch."""
    tokens = take_tokens()
    settings = load_settings(find_root(args.folder), {})
    own = settings.section(ForgesSettings)
    place = find_place(args.url, "pull request", find_forges(own, tokens, Patience(tell)))
    name = "standard input" if args.file == "-" else args.file
    review = read_review(read_input(args.file, name, MOST_BYTES), name)
    if args.dry_run:
        print("\n".join(_shown(review, own.comments)))
        return EXIT_DONE
    if settings.offline:
        raise UsageError("kith is offline (offline = true), so nothing is posted.")
    if not tokens[place.forge.kind]:
        raise UsageError(f"Nothing is posted without a token in {token_name(place.forge.kind)}.")
    posted = run_until_signal(_post(place, review, own.comments))
    print(_words(posted))
    return EXIT_DONE


async def _post(place: Place, review: Review, most: int) -> Posted:
    try:
        async with place.forge.client() as client:
            return await post(comments_of(place, client), review, most)
    except RefusedError as error:
        raise KithError(word_refusal(place, "pull request", error)) from error
    except LimitedError as error:
        raise word_limit(error) from error


async def post(comments: Comments, review: Review, most: int) -> Posted:
    """Add a comment for each finding that has none yet, at most so many, and update the summary.

    Raises RefusedError, BusyError, and KithError for a review of another commit.
    """
    pull = await comments.pull()
    if not pull.open:
        raise KithError("The pull request is closed, so nothing is posted.")
    if not pull.head:
        raise BusyError("The forge is still preparing the diff; try again in a moment.")
    if pull.head != review.head:
        raise KithError(
            f"The review is of {review.head[:12]}, and the pull request is at {pull.head[:12]}: nothing is "
            "posted. Review the head of its branch, not a merge."
        )
    there = {each.mark for each in await comments.on_lines()} - {SUMMARY}
    fresh = [each for each in review.findings if each.fingerprint not in there]
    chosen = [each for each in fresh if each.place][:most]
    remarks = {_remark(each, comments.forge.kind): each for each in chosen}
    refused = await comments.remark(pull, [*remarks]) if remarks else []
    without = {each.fingerprint for each in fresh} - {each.fingerprint for each in chosen}
    without |= {remarks[each].fingerprint for each in refused}
    gone = there - {each.fingerprint for each in review.findings}
    posted = Posted(len(chosen) - len(refused), len(review.findings) - len(fresh), len(without), len(gone))
    body, said = marked(summary_of(review, without, posted), SUMMARY), await comments.summary()
    if said is None:
        await comments.say(body)
    elif said.body != body:
        await comments.edit(said, body)
    return posted


# --- words -----------------------------------------------------------------------------------


def _remark(found: Found, kind: ForgeKind) -> Remark:
    """The comment for a finding: over all its lines, where one hunk shows them all."""
    place, end = found.place, max(found.line, found.end)
    assert place
    whole = place.first <= found.line and end <= place.last
    body = f"**{found.severity}**: {plain(cut(found.text, _TEXT))} ({code(_rule(found))})"
    suggestion = _suggestion(found, kind) if whole else ""
    body = marked("\n\n".join(filter(None, (body, suggestion))), found.fingerprint)
    last = end if whole and kind == "github" else found.line
    return Remark(found.path, found.line, last, place.old, body)


def _rule(found: Found) -> str:
    return found.by if found.rule in ("review", found.by) else f"{found.by} {found.rule}"


def _suggestion(found: Found, kind: ForgeKind) -> str:
    """The suggested lines, in the form that the forge can apply; "" where there are none to show.

    Text with hidden characters is only shown: nobody should apply it unseen.
    """
    text = found.replacement
    if text is None or len(text) > _SUGGESTION:
        return ""
    if printable(text) != text:
        return block("text", printable(text))
    match kind:
        case "github":
            return block("suggestion", text)
        case "gitlab":
            return block(f"suggestion:-0+{max(found.line, found.end) - found.line}", text)
        case "gitea":
            return block("text", text)


def summary_of(review: Review, without: set[str], posted: Posted) -> str:
    """The summary: every finding, and what was not reviewed."""
    lines = [*_summary_lines(review, without, posted)]
    body = "\n".join(lines)
    while len(body) > _LONGEST:
        lines = [*lines[: len(lines) // 2], "", "The rest is too long for a comment."]
        body = "\n".join(lines)
    return body


def _summary_lines(review: Review, without: set[str], posted: Posted) -> Iterator[str]:
    number = len(review.findings)
    yield f"**kith review: {count(number, 'finding') if number else 'nothing found'}** in " + count(
        len(review.files), "file"
    )
    yield ""
    for each in review.findings[:_LISTED]:
        mark = "" if each.fingerprint not in without else ", not on a line of the diff"
        where = code(f"{each.path}:{each.line}")
        yield f"- **{each.severity}** {where}{mark}: {plain(cut(each.text, _TEXT))}"
    if number > _LISTED:
        yield f"- and {number - _LISTED} more"
    if number:
        yield ""
    if posted.gone:
        were = "finding is" if posted.gone == 1 else "findings are"
        yield f"{posted.gone} earlier {were} gone."
    if review.parts.unanswered:
        yield f"The model did not review {review.parts.unanswered} of {count(review.parts.all, 'part')}."
    if review.status != "done":
        yield "The review did not end well; the log of its job says why."  # the reason may name a server
    if review.not_reviewed:
        yield f"Not reviewed: {', '.join(code(each) for each in review.not_reviewed[:_LISTED])}."
    model = f", model {code(review.model)}" if review.model else ", no model"
    yield f"Commit {review.head[:12]}{model}. Findings can be wrong; nobody has checked them."


def _shown(review: Review, most: int) -> Iterator[str]:
    """Show the comments and the summary as the first run would post them."""
    chosen = [each for each in review.findings if each.place][:most]
    for each in chosen:
        remark = _remark(each, "github")
        yield f"{on_one_line(remark.path)}:{remark.line}"
        yield from (f"    {line}" for line in printable(_unbroken(remark.body)).split("\n"))
        yield ""
    without = {each.fingerprint for each in review.findings} - {each.fingerprint for each in chosen}
    yield printable(_unbroken(summary_of(review, without, Posted(len(chosen), 0, len(without), 0))))


def _unbroken(text: str) -> str:
    return MARK.sub("", text).rstrip().replace("\u200b", "")


def _words(posted: Posted) -> str:
    parts = [f"{count(posted.new, 'new comment')}"]
    parts += [f"{posted.known} already there"] if posted.known else []
    parts += [f"{posted.left} only in the summary"] if posted.left else []
    parts += [f"{posted.gone} earlier gone"] if posted.gone else []
    return f"{', '.join(parts)}. The summary is up to date."
