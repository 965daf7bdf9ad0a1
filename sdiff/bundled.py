"""The bundled models on disk: verifier weights and tokenizer from the GGUF, adapter and drafters from `precomputed`.

Drafters trained for another verifier lie in folders of the same kind. Knows file formats; refuses to know decoding.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sdiff.fetch import SHA256, PairError, Progress, cache_folder, fetch_verifier, sha256, unwritten
from sdiff.layers import Dimensions
from sdiff.network import BlockDenoiser
from sdiff.sentence import Sentence, why
from sdiff.trace import MASKED
from sdiff.verifier import Llama, Verifier

PRECOMPUTED = Path(__file__).parent.parent / "precomputed"
DRAFTERS, ADAPTER = PRECOMPUTED / "drafters", PRECOMPUTED / "adapter"
NAME = "SmolLM2-135M-Instruct"
NEEDED = {"date", "training_temperature"}  # of a drafter's card


def load_verifier(
    device: torch.device, dtype: torch.dtype, progress: Progress = lambda text, done: None, adapter: Path | None = None
) -> tuple[Llama, Any]:
    """The verifier's weights, with the task adapter in folder `adapter` merged in, and its tokenizer.

    Fetches and dequantises on the first call. Raises PairError.
    """
    gguf = fetch_verifier(progress)
    folder = cache_folder() / f"{NAME}-{SHA256[:8]}"
    weights = folder / f"{str(dtype).removeprefix('torch.')}.safetensors"
    progress("Loading the verifier", None)
    if not _whole(folder, weights):
        progress("Dequantising the verifier (once, about 20 s)", None)
        _dequantise(gguf, folder, weights, dtype)
    from transformers import AutoTokenizer  # slow to import; nothing else here needs it

    try:
        with safe_open(weights, "pt", device="cpu") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            d = Dimensions(**json.loads(file.metadata()["dimensions"]))
        model = Llama.from_tensors(d, tensors, dtype, "cpu")
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise _damaged(weights, error) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if not tokenizer.chat_template or tokenizer.eos_token_id is None:
            raise ValueError(Sentence("the tokenizer lacks its template or special tokens"))
    except Exception as error:  # the tokenizers package raises bare Exception
        raise _damaged(folder / "tokenizer.json", error) from None
    if adapter:
        merge_adapter(model, adapter)
    return model.to(device), tokenizer


def _damaged(file: Path, error: Exception) -> PairError:
    """Remove a cached file, which makes the next start dequantise afresh."""
    file.unlink(missing_ok=True)
    damaged = "The cached copy of the verifier was damaged ({error}). It was removed; start again."
    return PairError(Sentence(damaged, error=why(error) if isinstance(error, ValueError) else str(error)[:200]))


def _whole(folder: Path, weights: Path) -> bool:
    return weights.exists() and (folder / "tokenizer.json").exists()


def _dequantise(gguf: Path, folder: Path, weights: Path, dtype: torch.dtype) -> None:
    """Through transformers' GGUF loader into one safetensors file and a tokenizer folder, each moved into place whole.

    A second process waits for the first one's work instead of repeating it.
    """
    unfinished = folder / "unfinished"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(str(folder / "write.lock")):
            shutil.rmtree(unfinished, ignore_errors=True)  # what a killed process left
            if _whole(folder, weights):
                return
            try:
                _write(gguf, unfinished, weights.name, dtype)
                for file in unfinished.iterdir():
                    os.replace(file, folder / file.name)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        raise unwritten(folder, error) from None


def _write(gguf: Path, folder: Path, name: str, dtype: torch.dtype) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    c = model.config
    d = Dimensions(
        width=c.hidden_size, heads=c.num_attention_heads, kv_heads=c.num_key_value_heads, head_width=c.head_dim, feed_forward=c.intermediate_size,
        layers=c.num_hidden_layers, vocabulary=c.vocab_size, rope_base=c.rope_parameters["rope_theta"], epsilon=c.rms_norm_eps,
    )  # fmt: skip
    tensors = {name: t.to(dtype).contiguous() for name, t in model.state_dict().items() if name != "lm_head.weight"}
    tokenizer.save_pretrained(folder)
    save_file(tensors, folder / name, {"dimensions": json.dumps(d.__dict__)})


def save(shards: dict[str, dict[str, Tensor]], folder: Path, card: dict[str, Any]) -> None:
    """Write float16 shards (of the bundled models each below 10 MB) and `card.json`, whose `files` are the manifest: sizes and hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensors in shards.items():
        save_file({k: (t.half() if t.is_floating_point() else t).cpu().contiguous() for k, t in tensors.items()}, folder / name)
    files = {name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size} for name in sorted(shards)}
    (folder / "card.json").write_text(json.dumps({**card, "files": files}, indent=1) + "\n")


def load(folder: Path, needed: set[str], verifier: str = SHA256) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The card in `folder` and the tensors of all files in its manifest. Raises PairError on a missing or altered file, and where
    they were not made for the verifier whose hash is `verifier`."""
    again = _again(folder, verifier)
    try:
        card = json.loads((folder / "card.json").read_text())
        if missing := {*needed, "config", "files"} - set(card):
            raise ValueError(Sentence("card.json lacks {missing}", missing=", ".join(sorted(missing))))
        tensors: dict[str, Tensor] = {}
        for name, about in card["files"].items():
            if sha256(folder / name) != about["sha256"]:
                raise PairError(Sentence("{file} differs from its card. {again}", file=f"{folder.name}/{name}", again=again))
            with safe_open(folder / name, "pt") as file:
                tensors |= {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
        if card["config"]["verifier_sha256"] != verifier:
            named = f" ({card['verifier']})" if "verifier" in card else ""
            other = "What is in {folder} was trained for another verifier{named}. {again}"
            raise PairError(Sentence(other, folder=folder.name, named=named, again=again))
        return card, tensors
    except FileNotFoundError as error:
        file = f"{folder.name}/{Path(error.filename).name}"
        raise PairError(Sentence("{file} is missing. {again}", file=file, again=again)) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, SafetensorError) as error:
        raise _unreadable(folder, error, verifier) from None


def _again(folder: Path, verifier: str) -> Sentence:
    """What to do about a folder that is damaged or made for another verifier."""
    if verifier == SHA256:
        return Sentence("Restore precomputed/{folder} from the repository.", folder=folder.name)
    return Sentence("Name the verifier it was trained for, or train one for yours with `python -m sdiff train-drafter`.")


def _unreadable(folder: Path, error: Exception, verifier: str = SHA256) -> PairError:
    unusable = "What is in {folder} cannot be used: {error}. {again}"
    return PairError(Sentence(unusable, folder=folder.name, error=why(error), again=_again(folder, verifier)))


def merge_adapter(model: Llama, folder: Path) -> dict[str, Any]:
    """Add the low-rank update scale·B·A of every adapted matrix to its weight, in float32 (2106.09685, eq. 3). → card

    Raises PairError.
    """
    card, tensors = load(folder, {"date"})
    try:
        with torch.no_grad():
            for name in [name.removesuffix(".A") for name in tensors if name.endswith(".A")]:
                weight = model.get_submodule(name).weight
                weight.copy_(weight.float() + card["config"]["scale"] * tensors[f"{name}.B"].float() @ tensors[f"{name}.A"].float())
    except (LookupError, TypeError, AttributeError, RuntimeError) as error:
        raise _unreadable(folder, error) from None
    return card


def adapter_hash(folder: Path) -> str:
    """What names an adapter: the hash of its weights in the manifest. Raises PairError."""
    card, _ = load(folder, {"date"})
    return card["files"]["adapter.safetensors"]["sha256"]


def names(precomputed: Path) -> dict[str, str]:
    """What names the models that numbers were measured with: the beginnings of their hashes. Raises PairError."""
    card, _ = load(precomputed / DRAFTERS.name, {"date"})
    return {"verifier": SHA256[:12], "adapter": adapter_hash(precomputed / ADAPTER.name)[:12],
            "drafter": card["files"]["layer0.safetensors"]["sha256"][:12]}  # fmt: skip


def save_drafter(network: BlockDenoiser, folder: Path, card: dict[str, Any]) -> None:
    """One shard per layer and one for the rest. `card["config"]["verifier_sha256"]` names a verifier that is not the bundled one."""
    shards: dict[str, dict[str, Tensor]] = {"head.safetensors": {"ids": network.ids.int()}}
    for name, tensor in network.named_parameters():
        shard = f"layer{name.split('.')[1]}.safetensors" if name.startswith("layers.") else "head.safetensors"
        shards.setdefault(shard, {})[name] = tensor.detach()
    config = {
        "sources": network.sources,
        "block": network.block,
        "vocabulary": network.d.vocabulary,
        "mask_id": MASKED,
        "verifier_sha256": SHA256,
    }
    save(shards, folder, {**card, "config": {**config, **card.get("config", {})}})


def load_drafter(
    verifier: Llama | Verifier, folder: Path, device: torch.device, dtype: torch.dtype, named: str = SHA256
) -> tuple[BlockDenoiser, dict[str, Any]]:
    """The denoising network and its card; `named`: the verifier's hash. Raises PairError on a missing, altered or mismatched file."""
    card, tensors = load(folder, NEEDED, named)
    try:
        config, ids = card["config"], tensors.pop("ids").long()
        if not len(ids) or int(ids.min()) < 0 or int(ids.max()) >= verifier.d.vocabulary:  # a GPU would not survive the lookup
            raise ValueError(Sentence("its draft vocabulary is not part of the verifier's"))
        rows = verifier.embedding.to(dtype), config["block"], verifier.unembedding.to(dtype)
        network = BlockDenoiser(verifier.d, config["sources"], ids.to(device), *rows)
        for what, found, needed in (
            ("tokens in its vocabulary", config["vocabulary"], verifier.d.vocabulary),
            ("as the id of a masked position", config["mask_id"], MASKED),
            ("positions in a block", len(tensors["position"]), config["block"]),
        ):
            if found != needed:
                odd = "it has {found:,} {what} where {needed:,} is needed"
                raise ValueError(Sentence(odd, found=found, what=Sentence(what), needed=needed))
        network.load_state_dict({k: t.float() for k, t in tensors.items()})
    except (LookupError, TypeError, AttributeError, RuntimeError, ValueError) as error:
        raise _unreadable(folder, error, named) from None
    return network.to(device=device, dtype=dtype).requires_grad_(False).eval(), card
