"""Losslessness of whole runs by exact enumeration: every path of dice through the production `decode`, with its probability.

Several cycles, ends of text, shrunken blocks, foreign draft vocabularies, temperature, top-k and top-p, each against the
verifier's joint law to 1e-9. One cycle at every size with every rule: test_blocks.py. Where only the first cycle is
enumerated, the verifier continues what it emitted: the cycle is lossless iff that is the verifier's joint law.
"""

import pytest
from toys import EXACT, TableDenoiser, TableVerifier, continued, distance, output_law, verifier_law

from sdiff.decode import Plan
from sdiff.drafters import NoDrafter
from sdiff.sampling import Shape

EQUAL = 1e-9


def drafter(name, size, shape=None, verifier=None, **denoiser):
    return EXACT[name](TableDenoiser(size, verifier=verifier, **denoiser), shape or Shape())


@pytest.mark.parametrize(("name", "size", "gamma", "steps", "tokens"), [
    ("masked monotone", 3, 2, 2, 3), ("masked final_step", 3, 2, 2, 3), ("masked one_hot", 3, 2, 2, 3), ("masked final_step", 2, 2, 2, 4),
    ("masked monotone", 2, 3, 3, 4), ("uniform monotone", 2, 2, 2, 3), ("uniform final_step", 2, 2, 2, 3),
    ("uniform final_step posterior", 2, 1, 2, 3), ("uniform one_hot", 2, 2, 1, 3),
])  # fmt: skip
def test_whole_runs_of_several_cycles_are_lossless(name, size, gamma, steps, tokens):
    """Blocks shrink where the limit comes, prefixes are rolled back, and the joint law of the whole text is the verifier's."""
    verifier = TableVerifier(size)
    law = output_law(verifier, drafter(name, size, verifier=verifier), Plan(gamma, steps, tokens, (), False), prompt=(1, 0, 1))
    assert {len(k) for k in law} == {tokens}
    assert distance(law, verifier_law(verifier, tokens, prompt=(1, 0, 1))) < EQUAL


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("by", ["limit", "context"])
@pytest.mark.parametrize("name", ["masked monotone", "masked final_step", "uniform final_step", "uniform one_hot"])
def test_shrunken_blocks_are_lossless(name, by, limit):
    """Fewer than γ+1 tokens left, because of the token limit or of the context's end."""
    verifier = TableVerifier(3, context=limit if by == "context" else 100)
    plan = Plan(3, 2, limit if by == "limit" else 100, (), False)
    law = output_law(verifier, drafter(name, 3, verifier=verifier), plan)
    assert distance(law, verifier_law(verifier, limit)) < EQUAL


@pytest.mark.parametrize("name", ["masked monotone", "masked final_step", "masked one_hot", "uniform monotone"])
def test_texts_that_may_end_inside_a_block_are_lossless(name):
    verifier = TableVerifier(3 if name.startswith("masked") else 2)
    law = output_law(verifier, drafter(name, verifier.size, verifier=verifier), Plan(2, 2, 3, {1}, False))
    assert any(len(k) < 3 for k in law)
    assert distance(law, verifier_law(verifier, 3, eos={1})) < EQUAL


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("ids", [[2, 0], [3]])
def test_a_draft_vocabulary_that_is_a_strict_subset_stays_exact(name, ids):
    verifier = TableVerifier(4)
    law = output_law(verifier, drafter(name, 4, verifier=verifier, ids=ids), Plan(2, 2, 3, (), False), emits=1)
    assert distance(continued(law, verifier, 3), verifier_law(verifier, 3)) < EQUAL


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("shape", [Shape(0.6), Shape(1.3, 2), Shape(1.0, 0, 0.7), Shape(0.8, 2, 0.8), Shape(0)])
def test_shaped_laws_stay_exact(name, shape):
    size = 4 if name.startswith("masked") or shape.temperature == 0 else 2
    verifier = TableVerifier(size)
    law = output_law(verifier, drafter(name, size, shape, verifier), Plan(2, 2, 3, (), False), shape=shape, emits=1)
    reference = verifier_law(verifier, 3, shape)
    assert len(reference) == 1 or shape.temperature > 0
    assert distance(continued(law, verifier, 3, shape), reference) < EQUAL


def test_plain_decoding_is_the_verifier():
    verifier = TableVerifier(4)
    law = output_law(verifier, NoDrafter(4), Plan(0, 1, 4, {2}, False))
    assert distance(law, verifier_law(verifier, 4, eos={2})) < EQUAL
