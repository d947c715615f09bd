"""Names of trials: the session, and the number of its task."""


def trial_name(session: str, task: int) -> str:
    """The trial of a session's task, by its number."""
    return f"{trials_of(session)}{task}"


def trials_of(session: str) -> str:
    """How the names of all trials of a session begin, and of no other's."""
    return f"{session}-"


def session_of(trial: str) -> str:
    """The session whose trial is called so."""
    return trial.rpartition("-")[0]


def trial_after(trial: str, steps: int) -> str:
    """The trial of the same session so many numbers later."""
    return trial_name(session_of(trial), int(trial.rpartition("-")[2]) + steps)
