"""A sentence that a page may tell in another language: what it says in English, and what that was made from. Refuses to know languages."""

from __future__ import annotations

from typing import Any


class Sentence(str):
    """`template` with `values` in its places, as plain English text; a value may be a Sentence itself.

    Text from outside belongs into `values`: only templates of this project are ever formatted.
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, **values: Any) -> Sentence:
        self = super().__new__(cls, template.format(**values) if values else template)
        self.template, self.values = template, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.values  # a borrowed GPU's worker sends what it raises through a pipe


def why(error: BaseException) -> str:
    """What an exception says; still a Sentence if it was raised with one."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Sentence) else str(error)
