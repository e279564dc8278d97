"""Whether a session's file, a model and a table belong together: names of objects, and the model that showed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from badac.triage.journal import Journal


def checked_ids(ids: Sequence[Any] | None, n: int) -> list[str]:
    """Return a name for each of n objects, their rows by default; names that are too few or not different are refused."""
    names = [str(row) for row in range(n)] if ids is None else [str(name) for name in ids]
    if len(names) != n:
        raise ValueError(f"`ids` must name each of the {n} objects: got {len(names)} names.")
    if len(set(names)) < n:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(
            f"`ids` must be different: {twice!r} is there twice. A session knows its objects by name."
        )
    return names


def refuse_other_session(
    journal: Journal, model_identity: str, ids: Sequence[str], *, other_model: bool
) -> None:
    """Refuse a file that another model's objects were looked at in, or that is about none of these objects.

    Parameters
    ----------
    journal : Journal
    model_identity : str
    ids : sequence of str
        Names of the objects.
    other_model : bool
        Whether another model's session may be gone on with.
    """
    models = {head["model"] for head in journal.heads}
    if models and model_identity not in models and not other_model:
        raise ValueError(
            f"{journal.path} is the session of another model ({journal.heads[-1]['model'][:8]}; this one is "
            f"{model_identity[:8]}). Give that model, or replay what was said for the objects of the same names: "
            "Session.open(..., other_model=True), on the command line --other-model."
        )
    said_of = {each.object for each in journal.statements if each.said}
    if said_of and not said_of & set(ids):
        raise ValueError(
            f"{journal.path} is about other objects: none of the {len(said_of)} it names (such as {sorted(said_of)[0]!r}) is "
            f"among the {len(ids)} of this table (such as {ids[0]!r}). Give the table that the session was about."
        )
