"""A copy of a board to compute on, so that nobody who works waits for a manager's figures."""

from copy import copy

from contrafact.review.board import Board, Trainee

__all__ = ["snapshot"]


def snapshot(board: Board) -> Board:
    """Return a copy that later events do not change; what cannot change is shared.

    It tells how things stand, and is not to be worked on: keys of what was sent are left out.
    """
    made = Board(board.project)
    made.seq = board.seq
    made.people = dict(board.people)
    made.items = {name: copy(item) for name, item in board.items.items()}
    made.at = {stage: dict(names) for stage, names in board.at.items()}
    made.gold, made.gold_fields = dict(board.gold), dict(board.gold_fields)
    made.batches = {name: copy(batch) for name, batch in board.batches.items()}
    made.trainees = {
        key: Trainee([dict(answers) for answers in trainee.rounds], trainee.passed)
        for key, trainee in board.trainees.items()
    }
    made.held, made.last = dict(board.held), dict(board.last)
    made.closed = set(board.closed)
    return made
