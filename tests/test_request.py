"""What a person may ask for: every limit from both sides, and one clear sentence for whatever is outside."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest

from sdiff.request import (
    DEFAULT_PROPOSAL,
    KNOBS,
    LIMITS,
    MAX_PROMPT_CHARACTERS,
    NOISES,
    PROPOSALS,
    RULES,
    Request,
    RequestError,
    is_lossless,
)

WHOLE = ("steps", "gamma", "top_k", "seed", "max_tokens")
REAL = ("leniency", "temperature", "top_p")


class Unprintable:
    def __repr__(self) -> str:
        return "x" * 10_000


NO_NUMBERS = [None, "", "four", "nan", "4 px", "'; DROP TABLE", [], [4], {}, (), object(), True, False, math.nan, math.inf, -math.inf, 1j, Unprintable(), "9" * 10_000]  # fmt: skip
HUGE = [10**30, -(10**30), 10**400, -(10**400), 10**5000, 1e300, 2**63]


def refused(**settings: object) -> str:
    with pytest.raises(RequestError) as caught:
        Request("hi", **settings)  # type: ignore[arg-type]
    sentence = str(caught.value)
    assert sentence[0].isupper()
    assert sentence[-1] == "."
    assert "\n" not in sentence
    assert len(sentence) < 250
    return sentence


def test_the_fields_with_limits_are_the_numbers():
    assert set(LIMITS) == {f.name for f in dataclasses.fields(Request) if f.type in ("int", "float")} == {*WHOLE, *REAL}


@pytest.mark.parametrize("name", LIMITS)
def test_both_limits_are_allowed_and_nothing_beyond(name):
    low, high = LIMITS[name]
    kind, step = (int, 1) if name in WHOLE else (float, 1e-9)
    for value in (low, high):
        kept = getattr(Request("hi", **{name: value}), name)
        assert kept == value
        assert type(kept) is kind
    for value in (low - step, high + step):
        sentence = refused(**{name: value})
        assert name.replace("_", " ").capitalize() in sentence
        assert f"from {low:,.16g} to {high:,.16g}" in sentence


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", NO_NUMBERS + HUGE, ids=lambda v: repr(v)[:20] if not isinstance(v, int) or abs(v) < 10**31 else "huge")
def test_what_is_not_a_number_within_limits_is_refused(name, value):
    assert "must be" in refused(**{name: value})


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [1.5, 0.1, Fraction(3, 2), 2 - 1e-9])
def test_whole_numbers_only(name, value):
    assert "must be a whole number" in refused(**{name: value})


def test_whole_floats_and_numeric_text_become_numbers():
    """Sliders send 4.0, forms may send "4"."""
    r = Request("hi", steps=4.0, gamma="3", temperature=1, leniency="0.25", seed=2.0**52)
    assert (r.steps, r.gamma, r.temperature, r.leniency, r.seed) == (4, 3, 1.0, 0.25, 2**52)
    assert [type(v) for v in (r.steps, r.gamma, r.temperature, r.leniency, r.seed)] == [int, int, float, float, int]


def test_the_seeds_sentence_names_the_limit_in_digits():
    assert refused(seed=-1) == "Seed must be a whole number from 0 to 9,007,199,254,740,991, not '-1'."


@pytest.mark.parametrize(("name", "choices"), [("noise", NOISES), ("rule", tuple(KNOBS)), ("proposal", tuple(PROPOSALS))])
def test_names_are_chosen_from_a_list(name, choices):
    for choice in choices:
        assert getattr(Request("hi", **{name: choice}), name) == choice
    for value in (
        "nonsense",
        choices[0].upper(),
        f" {choices[0]}",
        None,
        3,
        [],
        [choices[0]],
        {},
        {choices[0]},
        math.nan,
        10**5000,
        Unprintable(),
        "x" * 10_000,
    ):
        sentence = refused(**{name: value})
        assert sentence.startswith(f"Unknown {name}")
        assert ", ".join(choices) in sentence


@pytest.mark.parametrize("name", ["raw", "plain"])
def test_switches_are_true_or_false(name):
    assert getattr(Request("hi", **{name: True}), name) is True
    for value in (None, 0, 1, "no", "true", [], math.nan):
        assert "must be true or false" in refused(**{name: value})


@pytest.mark.parametrize("prompt", [None, 3, b"bytes", ["hi"], math.nan, True])
def test_a_prompt_is_text(prompt):
    with pytest.raises(RequestError, match=r"^The prompt must be text\.$"):
        Request(prompt)


def test_the_length_of_a_prompt():
    for prompt in ("", " ", "\x00", "\ue000", "🙂" * MAX_PROMPT_CHARACTERS):
        assert Request(prompt).prompt == prompt
    with pytest.raises(RequestError, match=r"^The prompt has 20,001 characters; the most is 20,000\. Shorten it\.$"):
        Request("x" * 20_001)


@pytest.mark.parametrize("prompt", ["\ud800", "a\udcffb", "\udc00\ud800"])
def test_a_prompt_with_half_a_character_is_refused(prompt):
    """A terminal or JSON can deliver lone surrogates; the tokenizer and the trace could not take them."""
    with pytest.raises(RequestError, match="half a character"):
        Request(prompt)


def test_defaults():
    r = Request("hi")
    assert (r.noise, r.steps, r.leniency, r.rule, r.gamma, r.temperature, r.top_k, r.top_p) == ("masked", 4, 0.0, "tv", 8, 0.7, 0, 1.0)
    assert (r.seed, r.max_tokens, r.raw, r.plain) == (0, 128, False, False)
    for noise in NOISES:
        assert Request("hi", noise=noise).proposal == DEFAULT_PROPOSAL[noise] == {"masked": "monotone", "uniform": "final_step"}[noise]
        assert Request("hi", noise=noise, proposal="one_hot").proposal == "one_hot"
        assert is_lossless(r.rule, r.leniency, DEFAULT_PROPOSAL[noise], r.steps, r.gamma), (
            "the defaults change nothing in what the verifier says"
        )


def test_a_request_cannot_be_changed_and_equals_its_twin():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Request("hi").steps = 3  # type: ignore[misc]
    assert Request("hi", steps=4.0) == Request("hi")
    assert hash(Request("hi")) == hash(Request("hi"))


@pytest.mark.parametrize(("rule", "leniency", "text"), [
    ("lossless", 0.0, "λ unused"), ("lossless", 1.0, "λ unused"),
    ("tv", 0.2, "λ = 0.2"), ("tv", 1.0, "λ = 1"), ("tv_budget", 0.05, "ε = 0.05"),
    ("lenience", 0.2, "ℓ = 0.8"), ("lenience", 1.0, "ℓ = 0"),
    ("cactus", 0.5, "δ = 0.5"), ("cactus_exact", 1.0, "δ = all"),
    ("typical", 0.7, "ε = 0.09"), ("typical", 1.0, "ε = 0"),
    ("top_k", 0.01, "k = 1"), ("top_k", 0.5, "k = 222"), ("top_k", 1.0, "k = all"),
])  # fmt: skip
def test_the_native_setting_in_words(rule, leniency, text):
    assert RULES[rule].native(leniency) == text


@pytest.mark.parametrize("rule", RULES)
def test_at_leniency_zero_every_rule_is_called_lossless(rule):
    assert RULES[rule].native(0.0) == RULES[rule].native(0) == RULES[rule].native(-0.0) == ("λ unused" if rule == "lossless" else "λ = 0")
    assert RULES[rule].label
    assert RULES[rule].help.endswith(".")


@pytest.mark.parametrize("rule", [r for r in RULES if r != "lossless"])
def test_knobs_are_monotone(rule):
    values = [RULES[rule].value(i / 50) for i in range(51)]
    assert values in (sorted(values), sorted(values, reverse=True))
    assert all(map(math.isfinite, values[:-1]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("leniency", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize(("steps", "gamma"), [(1, 8), (8, 1), (1, 1), (2, 2), (4, 8), (16, 2)])
def test_the_table_of_what_is_lossless(rule, proposal, leniency, steps, gamma):
    strict = rule == "lossless" or leniency == 0
    exact = {"monotone": True, "paced": True, "final_step": True, "one_hot": True, "any_order": steps == 1 or gamma == 1}[proposal]
    assert is_lossless(rule, leniency, proposal, steps, gamma) is (strict and exact)
