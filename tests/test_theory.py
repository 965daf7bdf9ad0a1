"""The enumerator itself: it must agree with the real dice, which it replaces."""

import pytest
import torch
from toys import EXACT, TableDenoiser, TableVerifier, output_law

from sdiff.acceptance import make_rule
from sdiff.decode import Plan, decode
from sdiff.sampling import Dice, Shape
from sdiff.theory import Branches, enumerate_outcomes, law_of


def test_probabilities_multiply_along_paths_and_add_up_to_one():
    def run(dice):
        n = int(dice.draw(torch.tensor([[1.0, 2.0, 1.0]])))
        return n, tuple(dice.draw(torch.ones(n, 2)).tolist())

    outcomes = list(enumerate_outcomes(run))
    assert len(outcomes) == 1 + 2 + 4
    assert sum(weight for _, weight in outcomes) == pytest.approx(1)
    assert law_of(run)[2, (0, 1)] == pytest.approx(1 / 16)
    assert law_of(lambda dice: 7) == {7: 1.0}


def test_the_enumeration_visits_every_outcome_once():
    def run(dice):
        first = int(dice.draw(torch.tensor([[1.0, 0.0, 3.0]])))
        return (
            first,
            int(dice.draw(torch.tensor([[1.0, 1.0]]))) if first else -1,
            tuple(dice.coins(torch.tensor([0.5, 2.0]), torch.tensor([1.0, 1.0])).lt(0.5).tolist()),
        )

    outcomes = list(enumerate_outcomes(run))
    assert {o: w for o, w in outcomes} == {
        (0, -1, (True, True)): 0.125, (0, -1, (False, True)): 0.125,
        **{(2, second, (kept, True)): 0.1875 for second in (0, 1) for kept in (True, False)},
    }  # fmt: skip
    assert len(outcomes) == 6
    behind = dict(enumerate_outcomes(run, [1, 0]))  # the token 2, then the token 0
    assert behind == {(2, 0, (True, True)): 0.5, (2, 0, (False, True)): 0.5}


def test_a_coin_has_two_outcomes_unless_it_is_certain():
    f, q = torch.tensor([0.2, 0.5, 0.0]), torch.tensor([0.8, 0.5, 0.3])
    law = law_of(lambda dice: tuple((dice.coins(f, q) * q < f).tolist()))
    assert law == {(True, True, False): pytest.approx(0.25), (False, True, False): pytest.approx(0.75)}


def test_an_enumeration_has_no_random_numbers():
    with pytest.raises(TypeError, match="no random numbers"):
        Branches([]).uniform(1)


@pytest.mark.parametrize("rule", ["lossless", "tv"])
def test_real_dice_follow_the_enumerated_law(rule):
    """Chi-square of 600 seeded runs against the enumeration. False alarm: 1e-6, were the seeds drawn afresh."""
    verifier, made, plan = TableVerifier(2), make_rule(rule, 0.5), Plan(2, 2, 2, (), False)
    drafter = EXACT["uniform final_step"](TableDenoiser(2, verifier=verifier), Shape())
    law = output_law(verifier, drafter, plan, made)
    counts = dict.fromkeys(law, 0)
    for seed in range(600):
        *_, end = decode(verifier, drafter, made, Shape(), [0], plan, Dice(seed))
        counts[end.tokens] += 1
    assert min(law.values()) * 600 > 5
    statistic = sum((counts[k] - 600 * w) ** 2 / (600 * w) for k, w in law.items())
    assert float(torch.special.gammaincc(torch.tensor((len(law) - 1) / 2), torch.tensor(statistic / 2))) > 1e-6
