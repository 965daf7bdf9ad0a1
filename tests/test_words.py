"""Sentences in every language: nothing missing, nothing renamed, every place to fill in kept."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
import sentences

from sdiff.fetch import PairError
from sdiff.request import KNOBS, Request, RequestError
from sdiff.sentence import Sentence, why
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


def places(sentence):
    """What is to be filled in, with how it is written."""
    return sorted(re.findall(r"\{\w*[^}]*\}", str(sentence)))


def test_there_is_more_than_one_language():
    assert OTHERS


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_every_sentence_and_every_place_to_fill_in(language):
    english, other = dict(leaves(strings.load("en"))), dict(leaves(strings.load(language)))
    other = {path: sentence for path, sentence in other.items() if path[0] != "SAID"}
    assert set(english) == set(other)
    for path, sentence in english.items():
        assert places(sentence) == places(other[path]), path
        assert bool(str(other[path])) == bool(str(sentence)), path


def test_what_is_missing_stays_english():
    assert strings.over({"a": "x", "b": {"c": "y", "d": "z"}}, {"b": {"c": "Y"}, "e": "?"}) == {"a": "x", "b": {"c": "Y", "d": "z"}}


def test_an_unknown_language_is_refused_in_words():
    with pytest.raises(ValueError, match="no language 'xx'; there are"):
        strings.load("xx")


def test_what_is_said_below_the_page_can_be_found():
    templates, unknown = sentences.found()
    assert unknown == [], "write the text there, values in its places: Sentence('… {n} …', n=n); or list it in tests/sentences.py"
    assert len(templates) > 100
    assert {"The prompt must be text.", "Lossless", "{axis} {value} is below {bound}{doubt}", "Timing plain decoding"} <= templates


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_said_below_the_page_is_translated(language):
    """Rules, proposals, refusals, reasons, loading: none is missing, none is stale, and each keeps its places."""
    templates, said = set(filter(sentences.has_words, sentences.found()[0])), strings.load(language)["SAID"]
    assert set(said) == templates
    for english, other in said.items():
        assert places(english) == places(other), english
        assert other.strip(), english
        assert english[-1] != "." or other[-1] == ".", english


@pytest.fixture
def german(monkeypatch):
    said = strings.load("de")["SAID"]
    monkeypatch.setattr(strings, "SAID", said)
    monkeypatch.setattr(strings, "RECOGNISED", strings.recognised(said))


def test_a_sentence_is_its_english_text_and_keeps_what_it_was_made_from():
    inner = Sentence("the {name} to {value}", name=Sentence("steps S"), value=2)
    lower = Sentence("Lower {changes}", changes=inner)
    assert lower == "Lower the steps S to 2"
    again = pickle.loads(pickle.dumps(lower))
    assert (again, again.template, again.values["changes"].template) == (lower, lower.template, inner.template)
    assert why(ValueError(lower)) is lower
    assert why(ValueError("plain {text}")) == "plain {text}"
    assert why(KeyError()) == ""


@pytest.mark.usefixtures("german")
def test_sentences_are_said_with_all_that_stands_in_them():
    lower = Sentence("Lower {changes}", changes=Sentence("the {name} to {value}", name=Sentence("steps S"), value=2))
    assert strings.said(lower) == "Bitte Entrauschungsschritte S auf 2 verringern"
    assert strings.said(ValueError(lower)) == strings.said(lower)
    assert strings.said("Loading the drafter") == "Der Entwerfer wird geladen"
    assert strings.all_said({"a": [[1, Sentence("speed")]], "b": "speed"}) == {"a": [[1, "Geschwindigkeit"]], "b": "speed"}


@pytest.mark.usefixtures("german")
def test_a_visitors_words_are_never_a_template_nor_translated():
    given = Sentence("Unknown {name} {given}; choose one of {known}.", name=Sentence("rule"), given="{name} speed", known="a")
    assert strings.said(given) == "Unbekannte Angabe für Annahmeregel: {name} speed. Zur Auswahl: a."
    assert strings.said("{name} unknown") == "{name} unknown"


@pytest.mark.usefixtures("german")
def test_what_a_run_holds_is_read_in_the_pages_language():
    for knob in KNOBS.values():
        for leniency in (0, 0.5, 1):
            assert strings.read(str(knob.native(leniency))) == strings.said(knob.native(leniency))
    assert strings.read("5-layer block denoiser") == "Block-Entrauscher mit 5 Schichten"
    assert strings.read("x86_64 CPU, 2 cores") == "x86_64-CPU, 2 Kerne"
    assert [strings.read(text) for text in ("δ = all", "λ = 0.3", "tv", "tvx", None, 4)] == [
        "δ = alle",
        "λ = 0.3",
        "TV-Interpolation",
        "tvx",
        None,
        4,
    ]


def test_in_english_everything_is_said_as_it_is():
    assert [strings.read(text) for text in ("masked", "x86_64 CPU, 2 cores", "δ = all")] == ["masked", "x86_64 CPU, 2 cores", "δ = all"]
    assert {rule: strings.read(rule) for rule in KNOBS} == {rule: knob.label for rule, knob in KNOBS.items()}
    assert strings.said(Sentence("{aim} {its} against {mine}{doubt}", aim="speed", its=2, mine=3, doubt="")) == "speed 2 against 3"


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_on_the_page_is_written_outside_the_words(language):
    """The whole page, built in two languages: what is the same in both is a prompt to try, since the bundled models know English."""
    program = "import json, sys; sys.path[:0] = ['tests', '.']; import sentences; print(json.dumps(sentences.shown()))"
    pages = {}
    for name in ("en", language):
        env = {**os.environ, "SDIFF_LANGUAGE": name}
        result = subprocess.run([sys.executable, "-c", program], cwd=sentences.ROOT, env=env, capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, result.stderr
        pages[name] = set(json.loads(result.stdout.splitlines()[-1]))
    assert len(pages["en"]) > 200
    assert pages["en"] & pages[language] == set(strings.EXAMPLES.values())


@pytest.mark.usefixtures("german")
def test_refusals_are_told_in_the_pages_language():
    from sdiff.ui.live import _sentence
    from sdiff.ui.page import _note
    from sdiff.ui.theory_view import _enumerate

    assert _note("masked", "99", 0, "tv", "", 8) == (
        "bad:Entrauschungsschritte S: nötig ist eine ganze Zahl von 1 bis 16 (angegeben: '99').",
        "bad:",
    )
    assert _note("masked", 4, 0, "lossless", "", 8)[0].endswith(
        "λ ohne Wirkung. Mit Wahrscheinlichkeit min(1, p/q) annehmen. Nachsicht hat keine Wirkung."
    )
    with pytest.raises(RequestError) as caught:
        Request("hi", rule="x")
    assert _sentence(caught.value).startswith("Unbekannte Angabe für Annahmeregel: 'x'. Zur Auswahl: lossless, tv,")
    assert _enumerate(9, 2, 2, "", "", 12, "tv", 0.3)[1] == "bad:Vokabular V: nötig ist eine ganze Zahl von 2 bis 4."
    assert _enumerate(4, 3, 3, "", "", 12, "tv", 0.3)[1].endswith("verringern oder nur ein Rauschen und nur einen Vorschlag wählen.")


@pytest.mark.usefixtures("german")
def test_loading_is_told_in_the_pages_language():
    from sdiff.ui.engine import Engine
    from sdiff.ui.pair_view import told

    def load(progress):
        progress("Loading the drafter", None)
        heard.append(engine.status()[1])
        raise PairError(
            Sentence(
                "{file} is missing. {again}", file="a", again=Sentence("Restore precomputed/{folder} from the repository.", folder="b")
            )
        )

    heard, engine = [], Engine(load)
    engine.load()
    assert "Der Entwerfer wird geladen" in heard[0]
    assert "a fehlt. Bitte precomputed/b aus dem Repository wiederherstellen." in engine.status()[1]
    drafter = Sentence("{n}-layer block denoiser", n=5)
    about = {"verifier": "v", "drafter": drafter, "noises": ("masked",), "device": "cpu", "name": "c", "dtype": "float32"}
    loaded = SimpleNamespace(about=lambda: about, ready=True, error="")
    assert "Block-Entrauscher mit 5 Schichten" in told(loaded, "bundled")
