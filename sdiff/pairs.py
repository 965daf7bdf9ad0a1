"""Names to loaded pairs of verifier and drafters, and one request to one stream of events. Knows everything below it."""

from __future__ import annotations

import datetime
import importlib.metadata
import itertools
import logging
import os
import platform
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sdiff import bundled, request
from sdiff.acceptance import Rule, make_rule
from sdiff.compiled import CompileError, compiled
from sdiff.decode import Plan, decode
from sdiff.drafters import Denoiser, Drafter, NoDrafter
from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.fetch import PairError, Progress
from sdiff.layers import bf16_native
from sdiff.policy import Banked, Worthwhile
from sdiff.registry import BUNDLED, OWN, PAIRS
from sdiff.request import NOISES, Request, RequestError
from sdiff.sampling import Dice, Shape
from sdiff.sentence import Sentence
from sdiff.text import Prompts, Readable, TokenText
from sdiff.trace import MASKED, Denoise, Emit, Event, Pieces, Run, Verdict, Verify
from sdiff.verifier import ContextFull, Verifier

if TYPE_CHECKING:
    from sdiff.hub_verifier import HubVerifier

log = logging.getLogger(__name__)
__all__ = ["Pair", "PairError", "Request", "RequestError", "load_pair"]


@dataclass
class Pair:
    """A verifier, its denoiser and its tokenizer. Serves one run at a time: the caller keeps the line.

    `noises` that its drafter was trained with; `most` drafts per block and `trained` denoising passes (0: any); `ends`: further ids that
    end an answer; `template`: arguments of the chat template.
    """

    verifier: Verifier | HubVerifier
    denoiser: Denoiser
    tokenizer: Any
    names: dict[str, Any]
    load_original: Callable[[], tuple[Verifier, CachedDenoiser]] | None = None
    noises: tuple[str, ...] = NOISES
    most: int = 0
    trained: int = 0
    ends: frozenset[int] = frozenset()
    template: Mapping[str, Any] = field(default_factory=dict)
    plain_ms: float | None = None  # of one plainly decoded token, from `calibrate`
    compiled: bool = False

    def models(self, r: Request) -> tuple[Verifier | HubVerifier, Denoiser]:
        """The verifier that `r` asks for and the denoiser that reads its cache. The original is loaded when first asked for."""
        return self._original if r.original and self.load_original else (self.verifier, self.denoiser)

    @cached_property
    def _original(self) -> tuple[Verifier, CachedDenoiser]:
        return self.load_original()

    def encode(self, prompt: str, raw: bool) -> list[int]:
        """Token ids of the prompt, at least one. Special tokens written in the prompt stay plain text.

        Raises RequestError when they do not fit the context.
        """
        ids = self._prompts.encode(prompt, raw)
        if len(ids) > self.verifier.context - 1:
            long = "The prompt has {n:,} tokens; this verifier reads at most {most:,}. Shorten it."
            raise RequestError(Sentence(long, n=len(ids), most=self.verifier.context - 1))
        return ids

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self.tokenizer, self.template)

    def drafter(self, r: Request) -> Drafter:
        if r.plain:
            return NoDrafter(self.verifier.vocabulary, self.verifier.device)
        return make_drafter(self.models(r)[1], r.noise, r.proposal, Shape(r.temperature, r.top_k, r.top_p))

    def check(self, r: Request) -> None:
        """Raises RequestError for what this pair's drafter cannot do."""
        if not r.plain and r.noise not in self.noises:
            untrained = "This pair's drafter was trained with {known} noise, not {asked}. Choose that, or another pair."
            raise RequestError(Sentence(untrained, known=Sentence(" and ".join(self.noises)), asked=Sentence(r.noise)))
        if r.original and self.load_original is None:
            raise RequestError("This pair has one verifier only: switch “Verifier as published” off.")
        if not r.plain and 0 < self.most < r.gamma:
            wide = "This pair's drafter fills at most {most} positions per block, not {gamma}. Choose a smaller γ."
            raise RequestError(Sentence(wide, most=self.most, gamma=r.gamma))

    def is_lossless(self, r: Request) -> bool:
        return r.plain or request.is_lossless(r.rule, r.leniency, r.proposal, r.steps, r.gamma)

    def stream(self, r: Request, stop: Callable[[], bool] = lambda: False, detail: bool = True) -> Iterator[Event]:
        """Decode: Run, then the loop's events, each preceded by the labels of ids it uses first. Raises RequestError.

        `stop` is asked around every denoising pass; closing the iterator stops as soon.
        """
        self.check(r)
        prompt, texts = self.encode(r.prompt, r.raw), TokenText(self.tokenizer)
        yield Run(prompt=r.prompt, prompt_tokens=tuple(prompt), settings=self._settings(r), models=self._names(r), machine=self._machine(),
                  lossless=self.is_lossless(r), date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))  # fmt: skip
        plan = Plan(0 if r.plain else r.gamma, r.steps, r.max_tokens, self.eos(), detail)
        shape = Shape(r.temperature, r.top_k, r.top_p)
        run = partial(decode, self.models(r)[0], self.drafter(r), shape=shape, prompt=prompt, plan=plan, dice=Dice(r.seed),
                      readable=Readable(texts), stop=stop)  # fmt: skip
        events = ruled(r.rule, r.leniency, lambda rule: run(rule=rule))
        known: set[int] = set()
        try:
            for event in events:
                if fresh := [t for t in dict.fromkeys(_ids(event)) if t not in known and t != MASKED]:
                    known.update(fresh)
                    yield Pieces(pieces={t: texts.label(t) for t in fresh}, at=event.at)
                yield event
        except ContextFull:
            full = "The run does not fit into the verifier's context of {most:,} tokens. Shorten the prompt."
            raise RequestError(Sentence(full, most=self.verifier.context)) from None

    def calibrate(self, tokens: int = 24) -> None:
        """Measure what one plainly decoded token takes here (median, milliseconds), for `plain_ms` in the machine of later runs."""
        events = self.stream(Request(prompt="Count from one to fifty in words.", plain=True, max_tokens=tokens), detail=False)
        ats = [event.at for event in events if isinstance(event, Emit)]
        spent = [after - before for before, after in itertools.pairwise(ats)]
        self.plain_ms = statistics.median(spent) if spent else None

    def eos(self) -> frozenset[int]:
        """Ids that end an answer: end of turn and end of text."""
        end = self.tokenizer.convert_tokens_to_ids("<|endoftext|>")  # a tokenizer without it answers with its unknown token
        ends = (
            self.tokenizer.eos_token_id,
            end if end is not None and self.tokenizer.convert_ids_to_tokens(end) == "<|endoftext|>" else None,
        )
        return self.ends | frozenset(i for i in ends if i is not None)

    def _names(self, r: Request) -> dict[str, Any]:
        names = {**self.names, "adapter": "none"} if r.original else self.names
        if 0 < self.trained < r.steps and not r.plain:
            return {**names, "note": f"drafter trained for {self.trained} denoising pass; {r.steps} are beyond its training"}
        return names

    def _machine(self) -> dict[str, Any]:
        here = {**machine(self.verifier.device, self.verifier.dtype), "compiled": self.compiled}
        return here if self.plain_ms is None else {**here, "plain_ms": round(self.plain_ms, 3)}

    def about(self) -> dict[str, Any]:
        """Which models these are and where they compute, for who shows it."""
        here = machine(self.verifier.device, self.verifier.dtype)
        return {
            **{part: self.names[part] for part in ("verifier", "drafter")},
            "noises": self.noises,
            **{key: here[key] for key in ("device", "name", "dtype")},
        }

    def _settings(self, r: Request) -> dict[str, Any]:
        body = {k: v for k, v in asdict(r).items() if k != "prompt"}
        return {**body, "native": Sentence("plain decoding") if r.plain else request.KNOBS[r.rule].native(r.leniency)}


def make_drafter(denoiser: Denoiser, noise: str, proposal: str, shape: Shape) -> Drafter:
    """The drafter of a noise and a proposal."""
    cls = {"masked": MaskedDrafter, "uniform": UniformDrafter}[noise]
    return cls(denoiser, shape, "monotone", pace=Worthwhile()) if proposal == "paced" else cls(denoiser, shape, proposal)


def ruled(name: str, leniency: float, run: Callable[[Rule], Iterator[Event]]) -> Iterator[Event]:
    """The events of `run(rule)` under the rule called `name`; one that keeps books reads them on the way."""
    if name == "tv_bank":
        rule = Banked(leniency)
        return rule.booking(run(rule))
    return run(make_rule(name, leniency))


def _ids(event: Event) -> Iterator[int]:
    """Every token id that an event mentions."""
    if isinstance(event, Denoise):
        yield from event.canvas
    elif isinstance(event, Verify):
        yield from (event.anchor, *event.tokens)
    elif isinstance(event, Verdict):
        yield from (i for i, _ in (*event.top_p, *event.top_q))
    elif isinstance(event, Emit):
        yield from (*event.tokens, *(i for i, _ in event.top_p))


def machine(device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """Where a number was measured: device, threads, load, versions."""
    cores = Sentence("{kind} CPU, {n} cores", kind=platform.machine(), n=os.cpu_count())
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else cores
    versions = {package: importlib.metadata.version(package) for package in ("torch", "transformers")}
    return {"device": device.type, "name": name, "dtype": str(dtype).removeprefix("torch."), "threads": torch.get_num_threads(),
            "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None, **versions}  # fmt: skip


def choose(device: str, dtype: str) -> tuple[torch.device, torch.dtype]:
    """auto: CUDA if there is one; bfloat16 where the device computes it natively, else float32. Raises PairError."""
    try:
        chosen = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise PairError(Sentence("Unknown device {device!r}; use auto, cpu or cuda.", device=device))
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise PairError("This torch sees no CUDA device. Use --device cpu, or install a CUDA build of torch.")
    native = torch.cuda.is_bf16_supported(including_emulation=False) if chosen.type == "cuda" else bf16_native()
    kind = ("bfloat16" if native else "float32") if dtype == "auto" else dtype
    if kind not in ("bfloat16", "float32"):
        raise PairError(Sentence("Unknown dtype {dtype!r}; use auto, bfloat16 or float32.", dtype=dtype))
    return chosen, getattr(torch, kind)


def usable_cores() -> int:
    """Cores this process may really use: torch's own count, capped by a container's quota, which torch does not see."""
    cores = torch.get_num_threads()
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def load_pair(
    device: str = "auto", dtype: str = "auto", progress: Progress = lambda text, done: None, threads: int = 0, name: str = BUNDLED,
    compile: bool = False, **hub: Any,
) -> Pair:  # fmt: skip
    """The pair called `name` (registry.py), ready to decode. `progress(sentence, fraction or None)` tells how far it is. Raises PairError.

    `threads` for CPU arithmetic, 0: `usable_cores()`. One too many beside another load can cost a factor of ten. `hub`: `verifier` and
    `drafter` as a folder or owner/name[@revision] in place of the entry's, `context`, `bits`, `remote_code` (registry.add_arguments).
    `compile`: the bundled pair's layers as native libraries (compiled.py); where that fails it goes on without, in a sentence.
    """
    if not 0 <= threads <= 256:
        raise PairError(Sentence("The number of threads must be from 0 to 256, not {threads}.", threads=threads))
    if name not in PAIRS:
        raise PairError(Sentence("There is no pair called {name!r}. Choose one of {known}.", name=name, known=", ".join(PAIRS)))
    torch.set_num_threads(threads or usable_cores())
    where, kind = choose(device, dtype)
    if compile and (name != BUNDLED or where.type != "cpu"):
        raise PairError(Sentence("Compiling (--compile) is for the bundled pair on a CPU. Leave it out."))
    if name != BUNDLED:
        from sdiff import hub_pairs  # needs more of transformers than the bundled pair does: seconds

        spread = device == "auto" and torch.cuda.device_count() > 1 and name != OWN
        return Pair(**hub_pairs.parts(name, "auto" if spread else where, kind, progress, **hub))
    if any(hub.get(part) for part in ("verifier", "drafter", "bits")):
        raise PairError("The bundled pair comes as it is: choose a hub pair (--pair) to replace its verifier or drafter.")
    if compile:
        try:
            return load_bundled_pair(where, kind, progress, compile=compiled)
        except CompileError as error:
            log.warning("going on without compiling: %s", error)
    return load_bundled_pair(where, kind, progress)


def load_bundled_pair(
    where: torch.device, kind: torch.dtype, progress: Progress, compile: Callable[..., Callable[..., Tensor]] | None = None
) -> Pair:
    """The pair that comes with this repository. Raises PairError, and CompileError where `compile` does."""
    model, tokenizer = bundled.load_verifier(where, kind, progress, bundled.ADAPTER)
    progress("Loading the drafter", None)
    network, card = bundled.load_drafter(model, bundled.DRAFTERS, where, kind)
    adapter = bundled.adapter_hash(bundled.ADAPTER)
    if card["config"].get("adapter_sha256") != adapter:
        raise PairError("The drafter was trained for another task adapter. Restore precomputed from the repository.")
    if compile:
        progress(Sentence("Compiling the models (two minutes, once per machine)"), None)
    verifier, scale = Verifier(model, compile=compile), card["training_temperature"]
    network.pack_for_inference(compile, verifier)

    def original() -> tuple[Verifier, CachedDenoiser]:
        published = Verifier(bundled.load_verifier(where, kind)[0])
        return published, CachedDenoiser(network, published, scale)

    names = {
        "verifier": bundled.NAME,
        "drafter": Sentence("{n}-layer block denoiser", n=len(network.sources)),
        "drafter_date": card["date"],
        "drafter_sha256": card["files"]["layer0.safetensors"]["sha256"][:12],
        "adapter": adapter[:12],
        "sha256": card["config"]["verifier_sha256"][:12],
    }
    return Pair(
        verifier, CachedDenoiser(network, verifier, scale), tokenizer, names, original, most=network.block, compiled=compile is not None
    )
