"""Is an answer right? Apart from `sdiff.tasks`, so that what only draws problems, the app above all, never reaches the sandbox."""

from __future__ import annotations

from sdiff.tasks import Grade, Item, coding_grade, humaneval_grade, reasoning

GRADERS = {"reasoning": reasoning.grade, "coding": coding_grade.grade, "humaneval": humaneval_grade.grade}


def grade(item: Item, answer: str) -> Grade:
    """Grade an answer. Code runs in the sandbox. Raises ValueError for a task without a grader."""
    if item.task not in GRADERS:
        raise ValueError(f"{item.task} has no grader")
    return GRADERS[item.task](item, answer)
