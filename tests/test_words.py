"""Sentences in every language: nothing missing, nothing renamed, every place to fill in kept."""

from __future__ import annotations

import re

import pytest

from sdiff.ui import strings

OTHERS = [language for language in strings.LANGUAGES if language != "en"]


def leaves(value, path=()):
    """(path, sentence) of every sentence."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
    else:
        for key, item in items:
            yield from leaves(item, (*path, key))


def test_there_is_more_than_one_language():
    assert OTHERS


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_every_sentence_and_every_place_to_fill_in(language):
    english, other = dict(leaves(strings.load("en"))), dict(leaves(strings.load(language)))
    assert set(english) == set(other)
    for path, sentence in english.items():
        places = re.findall(r"\{\w*[^}]*\}", str(sentence))
        assert sorted(places) == sorted(re.findall(r"\{\w*[^}]*\}", str(other[path]))), path
        assert bool(str(other[path])) == bool(str(sentence)), path


def test_what_is_missing_stays_english():
    assert strings.over({"a": "x", "b": {"c": "y", "d": "z"}}, {"b": {"c": "Y"}, "e": "?"}) == {"a": "x", "b": {"c": "Y", "d": "z"}}


def test_an_unknown_language_is_refused_in_words():
    with pytest.raises(ValueError, match="no language 'xx'; there are"):
        strings.load("xx")
