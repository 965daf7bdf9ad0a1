"""Every pair of verifier and drafter that can be named, as a table. Knows names and facts; refuses to know torch and how anything is loaded."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

BUNDLED, OWN = "bundled", "own"
HUB_TESTS = "tiny random checkpoint through the same code: logits, enumeration, whole runs; the published weights have not been run here"


@dataclass(frozen=True)
class Entry:
    """One pair. `noises`: what its drafter was trained with, the default first; `family`: which code drafts; `options`: that code's arguments.

    `steps`: denoising passes it was trained for (0: any); `size`: parameters of verifier + drafter; `device`: memory for both in bfloat16.
    """

    name: str
    verifier: str
    drafter: str
    family: str
    noises: tuple[str, ...]
    size: str
    licence: str
    device: str
    tested: str = HUB_TESTS
    steps: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    template: Mapping[str, Any] = field(default_factory=dict)  # arguments of the verifier's chat template


QWEN_MASK = 151669
NO_THINKING = {"enable_thinking": False}
PAIRS = {entry.name: entry for entry in (
    Entry(BUNDLED, "SmolLM2-135M-Instruct", "precomputed/drafters", BUNDLED, ("masked", "uniform"), "135M + 18M", "Apache-2.0", "CPU, 1 GB",
          "on every change: laws, enumeration, decodes, measured frontier"),
    Entry("qwen3-4b-dflash", "Qwen/Qwen3-4B", "z-lab/Qwen3-4B-DFlash-b16", "dflash", ("masked",), "4.0B + 0.5B", "Apache-2.0, MIT",
          "GPU, 12 GB", steps=1, template=NO_THINKING),
    Entry("qwen3-8b-dflash", "Qwen/Qwen3-8B", "z-lab/Qwen3-8B-DFlash-b16", "dflash", ("masked",), "8.2B + 1.0B", "Apache-2.0, MIT",
          "GPU, 24 GB", steps=1, template=NO_THINKING),
    Entry("qwen3-coder-30b-dflash", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "z-lab/Qwen3-Coder-30B-A3B-DFlash", "dflash", ("masked",), "30B + 0.5B",
          "Apache-2.0, MIT", "GPU, 80 GB", steps=1),
    Entry("qwen3-4b-mdlm", "Qwen/Qwen3-4B", "dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1", "sequence", ("masked",), "4.0B + 0.6B", "Apache-2.0",
          "GPU, 12 GB", options={"mask_id": QWEN_MASK, "block": 64}, template=NO_THINKING),
    Entry("qwen3-8b-sdar", "Qwen/Qwen3-8B", "JetLM/SDAR-1.7B-Chat-b32", "sequence", ("masked",), "8.2B + 1.7B", "Apache-2.0", "GPU, 32 GB",
          options={"mask_id": QWEN_MASK, "block": 32, "causal_blocks": 32}, template=NO_THINKING),
    Entry("qwen2.5-14b-dream", "Qwen/Qwen2.5-14B-Instruct", "Dream-org/Dream-v0-Instruct-7B", "sequence", ("masked",), "14.8B + 7.6B",
          "Apache-2.0", "GPU, 56 GB", options={"mask_id": 151666, "block": 64, "shifted": True}),
    Entry("qwen2.5-coder-14b-diffucoder", "Qwen/Qwen2.5-Coder-14B-Instruct", "apple/DiffuCoder-7B-cpGRPO", "sequence", ("masked",),
          "14.8B + 7.6B", "Apache-2.0, Apple ML Research", "GPU, 56 GB", options={"mask_id": 151666, "block": 64, "shifted": True}),
    Entry("gpt2-duo", "openai-community/gpt2-large", "s-sahoo/duo", "dit", ("uniform",), "774M + 170M", "MIT, Apache-2.0", "CPU or GPU, 4 GB"),
    Entry("gpt2-duo-distilled", "openai-community/gpt2-large", "s-sahoo/duo-distilled", "dit", ("uniform",), "774M + 170M", "MIT, Apache-2.0",
          "CPU or GPU, 4 GB"),
    Entry("gpt2-mdlm", "openai-community/gpt2-large", "kuleshov-group/mdlm-owt", "dit", ("masked",), "774M + 170M", "MIT, Apache-2.0",
          "CPU or GPU, 4 GB"),
    Entry("gemma4-diffusiongemma", "google/gemma-4-31B-it", "google/diffusiongemma-26B-A4B-it", "diffusion_gemma", ("uniform",), "31B + 26B",
          "Apache-2.0", "GPUs, 140 GB together"),
    Entry(OWN, "any Llama, Qwen2 or Qwen3 (--verifier)", "a folder that train-drafter wrote (--drafter)", OWN, ("masked", "uniform"), "the verifier's, and its layers for the drafter",
          "the verifier's", "CPU or GPU, by size", template=NO_THINKING,
          tested="tiny random checkpoints of the three classes: logits, training, enumeration, whole runs; no published weights have been tried"),
)}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that choose a pair, or replace a part of one by another checkpoint of the same family."""
    parser.add_argument("--pair", choices=tuple(PAIRS), default=BUNDLED, help=f"see `pairs` (default {BUNDLED})")
    parser.add_argument("--verifier", help="another verifier for the pair: a folder, or owner/name[@revision] on the hub")
    parser.add_argument("--drafter", help="another drafter of the same family for the pair, in the same way")
    parser.add_argument("--context", type=int, default=4096, help="tokens that a hub pair keeps room for (default 4096)")
    parser.add_argument("--bits", type=int, default=0, choices=(0, 4, 8), help="load a hub verifier in 4 or 8 bits (needs bitsandbytes)")
    add_compile(parser)
    parser.add_argument("--remote-code", action="store_true", help="allow code that a drafter's checkpoint brings, at a pinned commit only")


def add_compile(parser: argparse.ArgumentParser) -> None:
    """The option of everything that loads the bundled pair to run it for long."""
    says = "native libraries of the bundled pair's layers, on a CPU with a C++ compiler: a minute at the first start, then faster"
    parser.add_argument("--compile", action="store_true", help=says)


def chosen(args: argparse.Namespace) -> dict[str, Any]:
    """These options as arguments of `pairs.load_pair`."""
    return {"name": args.pair, **{key: getattr(args, key) for key in ("verifier", "drafter", "context", "bits", "remote_code", "compile")}}


def listing(as_json: bool) -> str:
    """All pairs, as JSON or as a text of one paragraph each."""
    if as_json:
        return json.dumps([asdict(entry) for entry in PAIRS.values()], indent=1)
    return "\n\n".join(
        f"{e.name}\n  verifier  {e.verifier}\n  drafter   {e.drafter} ({' or '.join(e.noises)} noise, {'one step' if e.steps == 1 else 'any number of steps'}"
        f")\n  size      {e.size} parameters; {e.device}\n  licence   {e.licence}\n  tested    {e.tested}"
        for e in PAIRS.values()
    )
