"""Drafts by uniform diffusion: positions start as random tokens and may all change at every step (UDLM, Duo 2506.10892)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from sdiff.drafters import (
    Canvas,
    Denoiser,
    Draft,
    Pace,
    early_first,
    empty_draft,
    on_verifier_vocabulary,
    one_hot,
    settle_in_groups,
    shown,
)
from sdiff.noise import grid, uniform_posterior
from sdiff.sampling import Dice, Shape, finite


@dataclass(frozen=True)
class UniformDrafter:
    """`proposal`: final_step and one_hot run the ancestral sampler; monotone (at its `pace`) and any_order settle
    positions in groups and draw the open ones afresh from the noise before each step.

    `clean_last`: the last ancestral step draws from the predicted clean law x instead of the posterior; either is
    exact because q is the law that was drawn from.
    """

    denoiser: Denoiser
    shape: Shape
    proposal: str = "final_step"
    clean_last: bool = True
    pace: Pace = early_first

    def propose(self, context: Sequence[int], gamma: int, steps: int, dice: Dice) -> Generator[Canvas, None, Draft]:
        """γ drafts behind `context` in `steps` passes (settling proposals: at most min(steps, γ))."""
        if gamma == 0:
            return empty_draft(self.denoiser.vocabulary, self.denoiser.ids.device)
        self.denoiser.start(context)
        flat = torch.ones(gamma, len(self.denoiser.ids), device=self.denoiser.ids.device)

        def noise() -> Tensor:
            return dice.draw(flat)

        if self.proposal in ("monotone", "any_order"):
            by_confidence = self.proposal == "any_order"
            canvas, q, fixed_at, sound = yield from settle_in_groups(
                self.denoiser, self.shape, gamma, steps, dice, by_confidence, noise, self.pace
            )
        else:
            canvas, q, fixed_at, sound = yield from self._ancestral(gamma, steps, dice, noise())
        if self.proposal == "one_hot":
            q = one_hot(canvas, q)
        return on_verifier_vocabulary(self.denoiser, canvas, q, fixed_at, sound)

    def _ancestral(self, gamma: int, steps: int, dice: Dice, canvas: Tensor) -> Generator[Canvas, None, tuple[Tensor, ...]]:
        """Reverse steps over the grid from t = 1 to 0. → draft ids, law of the last step, step of the final value, `Draft.finite`."""
        times = grid(steps)
        never = torch.zeros(gamma, dtype=torch.bool, device=canvas.device)
        history, sound = [canvas], ~never[0]
        yield shown(self.denoiser, canvas, never, steps)
        for step, (t, s) in enumerate(pairwise(times), 1):
            clean = self.shape.law(self.denoiser.predict(canvas, torch.full((gamma,), t, device=canvas.device)), self.denoiser.scale)
            sound = sound & finite(clean)
            law = clean if self.clean_last and step == steps else uniform_posterior(clean, canvas, t, s)
            canvas = dice.draw(law)
            history.append(canvas)
            yield shown(self.denoiser, canvas, ~never if step == steps else never, steps)
        same = torch.stack(history[1:]) == canvas  # [S, γ]
        settled = same.flip(0).long().cumprod(0).flip(0)  # the final value holds from this step on
        return canvas, law, steps + 1 - settled.sum(0), sound
