"""From an entry of the registry to a loaded verifier and denoiser, checked before a byte of weights is read. Refuses to know requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from sdiff import bundled
from sdiff.drafters import Denoiser
from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.dflash import DFlash, DFlashConfig, DFlashDenoiser
from sdiff.drafters.diffusion_gemma import DiffusionGemmaDenoiser
from sdiff.drafters.dit import DiT, DiTConfig, DiTDenoiser, tensors_of
from sdiff.drafters.sequence import NATIVE, SequenceDenoiser, draft_ids, native_config
from sdiff.fetch import PairError, Progress
from sdiff.hub_cache import RollbackCache
from sdiff.hub_files import Source, config_of, end_ids, explained, load_model, load_tensors, load_tokenizer, load_words, raw_config
from sdiff.hub_llama import dimensions, fingerprint, load_llama
from sdiff.hub_verifier import HubVerifier, longest
from sdiff.registry import OWN, PAIRS, Entry
from sdiff.sentence import Sentence, why
from sdiff.verifier import Verifier


@dataclass(frozen=True)
class Wanted:
    """Which checkpoints and how: device (or "auto": spread), dtype, bits of the verifier's weights (0: dtype), tokens of context."""

    entry: Entry
    verifier: Source
    drafter: Source
    where: torch.device | str
    dtype: torch.dtype
    bits: int
    context: int
    remote_code: bool


@dataclass(frozen=True)
class Fit:
    """A drafter that fits: `most` drafts per block (0: any), the verifier layers it wants to see, how to load it, `context` it reads at most.

    `open` loads the verifier in its own way, given the context; `names`: what else names the pair in a record.
    """

    parameters: int
    most: int
    taps: tuple[int, ...]
    load: Callable[[Any], Denoiser]
    context: int = 1 << 30
    open: Callable[[int], Verifier] | None = None
    names: Mapping[str, str] = field(default_factory=dict)


def parts(
    name: str, where: torch.device | str, dtype: torch.dtype, progress: Progress, verifier: str | None = None, drafter: str | None = None,
    context: int = 4096, bits: int = 0, remote_code: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """What a `pairs.Pair` of the registry's pair `name` is made of; `verifier` and `drafter` replace the entry's. Raises PairError."""
    entry = PAIRS[name]
    if name == OWN and not (verifier and drafter):
        half = "The pair {own!r} is made of --verifier and of --drafter, a folder that `train-drafter` wrote: name both."
        raise PairError(Sentence(half, own=OWN))
    sources = Source.parse(verifier or entry.verifier), Source.parse(drafter or entry.drafter)
    wanted = Wanted(entry, *sources, where, dtype, bits, context, remote_code)
    progress("Checking the pair", None)
    config = config_of(wanted.verifier)
    model, denoiser, tokenizer, plan = load(wanted, config, progress)
    return {
        "verifier": model, "denoiser": denoiser, "tokenizer": tokenizer, "most": plan.most, "trained": entry.steps, "noises": entry.noises,
        "names": {"verifier": str(sources[0]), "drafter": str(sources[1]), "pair": name, **plan.names}, "template": entry.template,
        "ends": end_ids(wanted.verifier, config),
    }  # fmt: skip


def load(wanted: Wanted, config: Any, progress: Progress) -> tuple[HubVerifier | Verifier, Denoiser, Any, Fit]:
    """→ verifier, denoiser, tokenizer, what fits. Raises PairError before loading weights where the parts do not fit."""
    text = config.get_text_config(decoder=True)
    RollbackCache(config, 1)  # refuses models without one
    tokenizer = load_words(wanted.verifier)
    try:
        plan = FAMILIES[wanted.entry.family](wanted, text, tokenizer)
    except (KeyError, TypeError, ValueError) as error:
        unfit = "{drafter} does not fit {verifier}: {why}."
        raise PairError(Sentence(unfit, drafter=wanted.drafter, verifier=wanted.verifier, why=_words(error))) from None
    context = min(wanted.context, longest(text), plan.context)
    if context < 16:
        raise PairError(Sentence("A context of {n} tokens is too short to decode in. Choose --context 16 or more.", n=context))
    check_memory(wanted, memory_needed(wanted, config, text, context, plan.parameters), memory_there(wanted.where))
    progress(Sentence("Loading {model}", model=wanted.verifier), None)
    if plan.open:
        verifier = plan.open(context)
    else:
        verifier = HubVerifier(load_model(wanted.verifier, wanted.where, wanted.dtype, bits=wanted.bits), context, plan.taps)
    progress(Sentence("Loading {model}", model=wanted.drafter), None)
    return verifier, plan.load(verifier), tokenizer, plan


def _words(error: Exception) -> str:
    return Sentence("its config.json lacks {error}", error=str(error)) if isinstance(error, KeyError) else why(error)


# ── families ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_dflash(wanted: Wanted, text: Any, _tokenizer: Any) -> Fit:
    """Raises ValueError in words where the drafter was made for another verifier."""
    raw = raw_config(wanted.drafter)
    c = DFlashConfig.read(raw)
    agree("floats per hidden state", c.width, text.hidden_size)
    agree("layers in its verifier", raw.get("num_target_layers", text.num_hidden_layers), text.num_hidden_layers)
    agree("tokens in its vocabulary", raw.get("vocab_size", text.vocab_size), text.vocab_size)
    check_mask(c.mask_id, text.vocab_size)
    if c.block < 2 or not c.taps or max(c.taps) >= text.num_hidden_layers:
        wants = "it wants blocks of {block} tokens and layers {taps} of a verifier with {n}"
        raise ValueError(Sentence(wants, block=c.block, taps=str(list(c.taps)), n=text.num_hidden_layers))
    with torch.device("meta"):
        size = sum(p.numel() for p in DFlash(c).parameters())

    def load(verifier: HubVerifier) -> Denoiser:
        network = DFlash(c)
        with explained(wanted.drafter):
            network.load_state_dict(load_tensors(wanted.drafter))
        network.to(device=verifier.device, dtype=verifier.dtype).requires_grad_(False).eval()
        return DFlashDenoiser(network, verifier, draft_ids(verifier.vocabulary, verifier.vocabulary, c.mask_id).to(verifier.device))

    return Fit(size, c.block - 1, c.taps, load, raw.get("max_position_embeddings", 1 << 30) - c.block)


def plan_sequence(wanted: Wanted, text: Any, tokenizer: Any) -> Fit:
    """Raises ValueError in words where vocabularies or masks differ, PairError where code of its own would be needed and is not allowed."""
    from transformers import AutoModel, AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2TokenizerFast

    raw, options = raw_config(wanted.drafter), dict(wanted.entry.options)
    own = raw.get("model_type") not in NATIVE
    if own and not wanted.remote_code:
        code = "{name} brings code of its own. Read it, then allow it with --remote-code at a pinned commit."
        raise PairError(Sentence(code, name=wanted.drafter))
    config = config_of(wanted.drafter, remote_code=True) if own else native_config(raw)
    # a class is named for conversions, because AutoTokenizer would look for the code that their configuration mentions
    cls = None if own else PreTrainedTokenizerFast if wanted.drafter.has("tokenizer.json") else Qwen2TokenizerFast
    words, told = load_tokenizer(wanted.drafter, cls, remote_code=own), options.pop("mask_id", None)
    mask_id = next(i for i in (raw.get("mask_token_id"), words.mask_token_id, told) if i is not None)
    check_mask(mask_id, config.vocab_size)
    check_tokens(tokenizer, words, min(text.vocab_size, config.vocab_size))
    auto = AutoModelForCausalLM if not own or "AutoModelForCausalLM" in raw.get("auto_map", {}) else AutoModel
    with torch.device("meta"), explained(wanted.drafter):
        empty = auto.from_config(config, trust_remote_code=own)
        size = sum(p.numel() for p in empty.parameters())

    def load(verifier: HubVerifier) -> Denoiser:
        model = load_model(wanted.drafter, verifier.device, wanted.dtype, config, cls=auto, remote_code=own)
        ids = draft_ids(verifier.vocabulary, config.vocab_size, mask_id).to(verifier.device)
        return SequenceDenoiser(model, mask_id, ids, verifier.vocabulary, context=verifier.context, **options)

    return Fit(size, 0, (), load, longest(config) - options.get("block", 0))


def plan_dit(wanted: Wanted, text: Any, _tokenizer: Any) -> Fit:
    """Raises ValueError in words where the drafter does not speak the verifier's (GPT-2's) tokens and one more, the mask."""
    raw = raw_config(wanted.drafter)
    c = DiTConfig.read(raw)
    agree("tokens in its vocabulary and a mask", c.vocabulary, text.vocab_size + 1)
    kind = "uniform" if raw["model_type"].lower() == "duo" else "masked"
    if kind not in wanted.entry.noises:
        known = {"kind": Sentence(kind), "noises": Sentence(" or ".join(wanted.entry.noises))}
        raise ValueError(Sentence("it was trained with {kind} noise, the pair is for {noises} noise", **known))
    with torch.device("meta"):
        size = sum(p.numel() for p in DiT(c).parameters())

    def load(verifier: HubVerifier) -> Denoiser:
        network = DiT(c)
        with explained(wanted.drafter):
            network.load_state_dict(tensors_of(load_tensors(wanted.drafter)))
        network.to(device=verifier.device, dtype=wanted.dtype).requires_grad_(False).eval()
        return DiTDenoiser(network, torch.arange(text.vocab_size, device=verifier.device), text.vocab_size, text.vocab_size)

    return Fit(size, c.length // 2, (), load)


def plan_diffusion_gemma(wanted: Wanted, text: Any, tokenizer: Any) -> Fit:
    """Raises ValueError in words where the two vocabularies differ."""
    from transformers import DiffusionGemmaForBlockDiffusion

    config = config_of(wanted.drafter)
    if config.model_type != "diffusion_gemma":
        raise ValueError(Sentence("its family is {kind!r}, not diffusion_gemma", kind=config.model_type))
    size = config.get_text_config().vocab_size
    agree("tokens in its vocabulary", size, text.vocab_size)
    check_tokens(tokenizer, load_tokenizer(wanted.drafter), size)
    block = wanted.entry.options.get("block", 0) or config.canvas_length
    with torch.device("meta"):
        parameters = sum(p.numel() for p in DiffusionGemmaForBlockDiffusion(config).parameters())

    def load(verifier: HubVerifier) -> Denoiser:
        model = load_model(wanted.drafter, wanted.where, wanted.dtype, cls=DiffusionGemmaForBlockDiffusion)
        return DiffusionGemmaDenoiser(model, torch.arange(size, device=verifier.device), size, verifier.context, block)

    return Fit(parameters, block, (), load, longest(config.get_text_config()) - block)


def plan_own(wanted: Wanted, text: Any, _tokenizer: Any) -> Fit:
    """Raises PairError where the drafter was trained for another verifier, and for verifiers that the project's own engine does not compute."""
    if wanted.bits:
        raise ValueError(Sentence("the project's own engine does not load weights in 4 or 8 bits, so leave out --bits"))
    d, folder = dimensions(wanted.verifier, text), Path(wanted.drafter.repo)
    named = fingerprint(wanted.verifier, d)
    card, tensors = bundled.load(folder, bundled.NEEDED, named)

    def load(verifier: Verifier) -> Denoiser:
        network, card = bundled.load_drafter(verifier, folder, verifier.device, verifier.dtype, named)
        network.pack_for_inference()
        return CachedDenoiser(network, verifier, card["training_temperature"])

    def open_verifier(context: int) -> Verifier:
        return Verifier(load_llama(wanted.verifier, d, wanted.where, wanted.dtype), context)

    names = {"drafter_date": card["date"], "drafter_sha256": card["files"]["layer0.safetensors"]["sha256"][:12], "sha256": named[:12]}
    return Fit(sum(t.numel() for t in tensors.values()), card["config"]["block"], (), load, open=open_verifier, names=names)


FAMILIES: dict[str, Callable[[Wanted, Any, Any], Fit]] = {
    "dflash": plan_dflash, "sequence": plan_sequence, "dit": plan_dit, "diffusion_gemma": plan_diffusion_gemma,
    OWN: plan_own,
}  # fmt: skip


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def agree(what: str, drafter: int, verifier: int) -> None:
    if drafter != verifier:
        apart = "the drafter expects {drafter:,} {what}, the verifier has {verifier:,}"
        raise ValueError(Sentence(apart, drafter=drafter, what=Sentence(what), verifier=verifier))


def check_mask(mask_id: int, size: int) -> None:
    if not 0 <= mask_id < size:
        raise ValueError(Sentence("the id of a masked position, {id:,}, lies outside a vocabulary of {size:,}", id=mask_id, size=size))


def check_tokens(verifier: Any, drafter: Any, size: int, sample: int = 256) -> None:
    """Do the two tokenizers mean the same by an id? Looks at `sample` ids evenly spread over those that both know as ordinary text."""
    known = min(size, len(verifier), len(drafter))
    special = {*verifier.added_tokens_decoder, *drafter.added_tokens_decoder}
    for i in range(0, known, max(1, known // sample)):
        ours, theirs = verifier.convert_ids_to_tokens(i), drafter.convert_ids_to_tokens(i)
        if i not in special and ours != theirs:
            differ = "the two vocabularies differ: token {i:,} is {ours!r} for the verifier and {theirs!r} for the drafter"
            raise ValueError(Sentence(differ, i=i, ours=ours, theirs=theirs))


def memory_needed(wanted: Wanted, config: Any, text: Any, context: int, drafter_parameters: int) -> int:
    """Bytes: both models' weights, the verifier's cache for `context` tokens, and a tenth for what passes through."""
    from transformers import AutoModelForCausalLM

    with torch.device("meta"), explained(wanted.verifier):
        parameters = sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())
    each = wanted.dtype.itemsize
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = 2 * text.num_hidden_layers * heads * width * context * each
    return int(1.1 * (parameters * (wanted.bits / 8 or each) + drafter_parameters * each + cache))


def memory_there(where: torch.device | str) -> int:
    """Free bytes on the device, or on all GPUs and in main memory where a model may be spread."""
    import psutil  # comes with accelerate

    gpus = range(torch.cuda.device_count()) if where == "auto" else [where] if torch.device(where).type == "cuda" else []
    free = sum(torch.cuda.mem_get_info(gpu)[0] for gpu in gpus)
    return free if gpus and where != "auto" else free + psutil.virtual_memory().available


def check_memory(wanted: Wanted, needed: int, there: int) -> None:
    if needed > there:
        large = (
            "{verifier} with {drafter} needs about {needed:,.1f} GB at {context:,} tokens of context; {there:,.1f} GB are free. "
            "Take a smaller pair, --bits 4, or a smaller --context."
        )
        known = {"verifier": wanted.verifier, "drafter": wanted.drafter, "context": wanted.context}
        raise PairError(Sentence(large, **known, needed=needed / 1e9, there=there / 1e9))
