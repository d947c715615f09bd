"""Find the commit of a change that was undone, and revert it in a new commit."""

from kith.agent.project import Project
from kith.core.events import Applied
from kith.trees.git import commit_paths, run_git


async def find_commit(project: Project, undone: Applied) -> str:
    """The commit of the change that was undone, where it is in the branch's history; else ""."""
    commit = project.log.commit_of(undone.undoes)
    ancestor = commit and (await run_git(project.root, "merge-base", "--is-ancestor", commit, "HEAD")).ok
    return commit if ancestor else ""


async def find_own_commit(project: Project, undone: Applied) -> str:
    """The person's last commit of the undone files, where it holds the change; else "".

    It does where the files now differ from that commit by the undone lines, and by nothing else.
    """
    paths = [file.path for file in undone.files]
    words = ("diff-index", "--numstat", "-z", "--no-renames", "HEAD", "--")  # `diff` would write the index
    ran = await run_git(project.root, *words, *paths)
    lines = ran.stdout.decode("utf-8", "surrogateescape").split("\0") if ran.ok else []
    found = {
        path: (added, removed) for added, removed, path in (each.split("\t", 2) for each in lines if each)
    }
    wanted = {file.path: (str(file.added), str(file.removed)) for file in undone.files}
    if not wanted or found != wanted:
        return ""
    named = await run_git(project.root, "log", "-1", "--format=%H", "--", *paths)
    return named.stdout.decode().strip()


async def is_exact(project: Project, undone: Applied, commit: str) -> bool:
    """True if the undone files are as before the commit: to commit them adds nothing else."""
    paths = [file.path for file in undone.files]
    return (await run_git(project.root, "diff", "--quiet", f"{commit}^", "--", *paths)).ok


async def revert(project: Project, undone: Applied, commit: str) -> str:
    """Commit the undone files, with the message of `git revert`; returns the hash. Raises TreeError."""
    title = (await run_git(project.root, "log", "-1", "--format=%s", commit)).stdout.decode(errors="replace")
    message = f'Revert "{title.strip()}"\n\nThis reverts commit {commit}.'
    return await commit_paths(project.root, [file.path for file in undone.files], message)
