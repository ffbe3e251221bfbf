"""How are the lines of a journal folded into a picture?"""

from reprieve.page.picture import Picture
from reprieve.runtime.journal import JournalError
from reprieve.runtime.journal_lines import Asked, Began, Entry, Observed, Recorded
from reprieve.scheduler.decision import Decision
from reprieve.scheduler.decision_document import UnreadableDecisionError, decoded


def fold_entry(picture: Picture, entry: Entry) -> None:
    match entry:
        case Began():
            picture.begin()
        case Observed(at, events):
            picture.observe(events, at)
        case Asked(at):
            decision = decision_in(entry)
            if decision is not None:
                picture.decide(decision, at)
        case Recorded(at, records):
            picture.record(records, at)


def decision_in(entry: Asked) -> Decision | None:
    """Raises JournalError."""
    if entry.decision is None:
        return None
    try:
        return decoded(entry.decision)
    except UnreadableDecisionError as error:
        raise JournalError(f"a decision of the journal cannot be read: {error}") from error
