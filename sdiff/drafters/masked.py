"""Drafts by masked (absorbing) diffusion: positions start as [MASK] and are revealed, never re-masked (MDLM 2406.07524)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import torch

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
)
from sdiff.sampling import Dice, Shape
from sdiff.trace import MASKED


@dataclass(frozen=True)
class MaskedDrafter:
    """`proposal`: monotone (at its `pace`), final_step, one_hot or any_order. The last three reveal by confidence."""

    denoiser: Denoiser
    shape: Shape
    proposal: str = "monotone"
    pace: Pace = early_first

    def propose(self, context: Sequence[int], gamma: int, steps: int, dice: Dice) -> Generator[Canvas, None, Draft]:
        """γ drafts behind `context` in at most min(steps, γ) passes: every pass reveals at least one position."""
        if gamma == 0:
            return empty_draft(self.denoiser.vocabulary, self.denoiser.ids.device)
        self.denoiser.start(context)
        blank = torch.full((gamma,), MASKED, device=self.denoiser.ids.device)
        by_confidence = self.proposal != "monotone"
        canvas, q, fixed_at, sound = yield from settle_in_groups(
            self.denoiser, self.shape, gamma, steps, dice, by_confidence, lambda: blank, self.pace
        )
        if self.proposal == "one_hot":
            q = one_hot(canvas, q)
        elif self.proposal == "final_step":  # given the state before the last step, what it carried over is certain
            q = torch.where((fixed_at == fixed_at.max())[:, None], q, one_hot(canvas, q))
        return on_verifier_vocabulary(self.denoiser, canvas, q, fixed_at, sound)
