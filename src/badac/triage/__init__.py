"""Look, say, learn: sessions in which a person looks at objects and the queue learns from what they say.

`session` is the session; `statement` what a person says, `journal` the file it is kept in; `positions` where objects lie,
`young_class` what objects put together are like, `tendency` what is worth a look, `learning` what follows from all that was
said; `figures` where a session stands. `widget` has the page, and the picture of one explained object, for notebooks.
"""

from badac.triage.figures import Figures
from badac.triage.journal import Journal, merge
from badac.triage.options import TriageOptions
from badac.triage.session import Session
from badac.triage.statement import SAID, Statement

__all__ = ["SAID", "Figures", "Journal", "Session", "Statement", "TriageOptions", "merge"]
