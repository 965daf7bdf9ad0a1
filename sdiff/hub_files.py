"""Checkpoints of a hub or a folder: their configuration, weights and tokenizer, and what goes wrong with them in words.

Knows file names and exceptions; refuses to know what a model is for.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sdiff.fetch import PairError
from sdiff.sentence import Sentence

PINNED = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Source:
    """`owner/name` of a hub, or a folder, at a branch, tag or commit. Written as "owner/name@revision"."""

    repo: str
    revision: str = "main"

    @classmethod
    def parse(cls, text: str) -> Source:
        repo, _, revision = text.partition("@")
        return cls(text) if Path(text).is_dir() or not revision else cls(repo, revision)

    def __str__(self) -> str:
        return self.repo if self.revision == "main" else f"{self.repo}@{self.revision}"

    @property
    def arguments(self) -> dict[str, Any]:
        """Of every `from_pretrained`."""
        return {"pretrained_model_name_or_path": self.repo, "revision": self.revision}

    def file(self, name: str) -> Path:
        """A file of the repository, fetched into the hub's cache if needed. Raises what the hub's client raises."""
        from transformers.utils import cached_file

        found = cached_file(self.repo, name, revision=self.revision)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", name)
        return Path(found)

    def has(self, name: str) -> bool:
        from transformers.utils import cached_file

        return cached_file(self.repo, name, revision=self.revision, _raise_exceptions_for_missing_entries=False) is not None


def raw_config(source: Source) -> dict[str, Any]:
    """config.json as it is written. Raises PairError."""
    with explained(source):
        return json.loads(source.file("config.json").read_text(encoding="utf-8"))


def config_of(source: Source, remote_code: bool = False) -> Any:
    """The configuration as transformers understands it. Raises PairError."""
    from transformers import AutoConfig

    with explained(source):
        return AutoConfig.from_pretrained(**source.arguments, trust_remote_code=allowed(source, remote_code))


def allowed(source: Source, remote_code: bool) -> bool:
    """May code from the repository run? Only when asked for, and only a commit that cannot change. Raises PairError."""
    if remote_code and not Path(source.repo).is_dir() and not PINNED.fullmatch(source.revision):
        unpinned = (
            "Code of {source} would run on this machine, so its revision must be a full commit: read the code, then write "
            "{repo}@COMMIT (40 hexadecimal digits)."
        )
        raise PairError(Sentence(unpinned, source=source, repo=source.repo))
    return remote_code


def load_model(
    source: Source, where: torch.device | str, dtype: torch.dtype, config: Any = None, bits: int = 0, cls: Any = None, remote_code: bool = False
) -> Any:  # fmt: skip
    """A model of transformers, complete or not at all. Raises PairError.

    where: a device, or "auto": spread over all GPUs, then main memory. bits: 0, or 4 or 8 through bitsandbytes. cls: the class (default
    AutoModelForCausalLM).
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    extra = {"config": config} if config is not None else {}
    extra |= {"quantization_config": quantised(bits, dtype)} if bits else {}
    extra["trust_remote_code"] = allowed(source, remote_code)  # said either way: silence would make transformers ask on the terminal
    with explained(source):
        model, info = (cls or AutoModelForCausalLM).from_pretrained(
            **source.arguments, dtype=dtype, device_map=where if isinstance(where, str) else {"": where}, output_loading_info=True, **extra
        )
        if lacking := sorted(map(str, {*info["missing_keys"], *(key[0] for key in info["mismatched_keys"])})):
            incomplete = "{source} lacks {n} tensors of a {kind}, {one} among them."
            raise PairError(Sentence(incomplete, source=source, n=len(lacking), kind=type(model).__name__, one=lacking[0]))
    return model.requires_grad_(False).eval()


def quantised(bits: int, dtype: torch.dtype) -> Any:
    """transformers' setting for 4 or 8 bits. Raises PairError when the library is missing."""
    if bits not in (4, 8):
        raise PairError(Sentence("Weights can be loaded in 4 or 8 bits, not {bits}.", bits=bits))
    if importlib.util.find_spec("bitsandbytes") is None:
        raise PairError(Sentence("Loading in {bits} bits needs the library bitsandbytes: install it, or leave out --bits.", bits=bits))
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(load_in_4bit=bits == 4, load_in_8bit=bits == 8, bnb_4bit_compute_dtype=dtype)


def weight_files(source: Source) -> list[Path]:
    """Files that hold a checkpoint's weights: safetensors, one or in shards, or an older single file. Raises what the hub's client raises."""
    names = ["model.safetensors"]
    if source.has("model.safetensors.index.json"):
        names = sorted(set(json.loads(source.file("model.safetensors.index.json").read_text())["weight_map"].values()))
    elif not source.has("model.safetensors") and source.has("pytorch_model.bin"):
        names = ["pytorch_model.bin"]
    return [source.file(name) for name in names]


def load_tensors(source: Source) -> dict[str, Tensor]:
    """All tensors of a checkpoint on the CPU. Raises PairError."""
    tensors: dict[str, Tensor] = {}
    with explained(source):
        for path in weight_files(source):
            if path.suffix == ".bin":
                return torch.load(path, map_location="cpu", weights_only=True)
            with safe_open(path, "pt", device="cpu") as file:
                tensors |= {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    return tensors


def end_ids(source: Source, config: Any) -> frozenset[int]:
    """Ids that end an answer, from generation_config.json or, without one, from the configuration. Raises PairError."""
    ends = getattr(config.get_text_config(decoder=True), "eos_token_id", None)
    with explained(source):
        if source.has("generation_config.json"):
            ends = json.loads(source.file("generation_config.json").read_text(encoding="utf-8")).get("eos_token_id")
    return frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])


def load_tokenizer(source: Source, cls: Any = None, remote_code: bool = False) -> Any:
    """The tokenizer, by default through AutoTokenizer. Raises PairError."""
    from transformers import AutoTokenizer

    with explained(source):
        return (cls or AutoTokenizer).from_pretrained(**source.arguments, trust_remote_code=allowed(source, remote_code))


def load_words(source: Source) -> Any:
    """The tokenizer of a verifier, a fast one. Raises PairError."""
    tokenizer = load_tokenizer(source)
    if not tokenizer.is_fast:
        raise PairError(Sentence("{source} has no fast tokenizer (tokenizer.json), which this decoder needs.", source=source))
    return tokenizer


@contextmanager
def explained(source: Source | str) -> Iterator[None]:
    """Turns whatever goes wrong with a checkpoint into a PairError with one sentence."""
    try:
        yield
    except PairError:
        raise
    except Exception as error:  # hub client, transformers, tokenizers and torch raise what they like, bare Exceptions among it
        raise PairError(told(error, str(source))) from error


def told(error: BaseException, name: str) -> Sentence:
    """What happened and what to do, in a sentence. transformers wraps what the hub's client raises: the whole chain is looked at."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    for link in chain[::-1]:  # the first cause says most
        if sentence := _sentence(link, name):
            return sentence
    why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Sentence("{name} could not be loaded ({why}).", name=name, why=why)


def _sentence(error: BaseException, name: str) -> Sentence | None:
    from huggingface_hub import errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    kinds = {kind.__name__ for kind in type(error).__mro__}  # by name: the hub's client changes its HTTP library between versions
    code = getattr(error, "errno", None)
    if isinstance(error, errors.GatedRepoError):
        return Sentence("{name} is gated: accept its terms on its page, log in with `hf auth login`, then start again.", name=name)
    if isinstance(error, errors.RepositoryNotFoundError):
        return Sentence("There is no {name} on the hub, or it is private: check the name, or log in with `hf auth login`.", name=name)
    if isinstance(error, errors.RevisionNotFoundError):
        return Sentence("{name} has no such revision: check the branch, tag or commit behind the @.", name=name)
    if isinstance(error, errors.HFValidationError):
        return Sentence("{name} is neither a folder nor a name on the hub (owner/name).", name=name)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return Sentence(
            "{name} is not on this machine, and the hub's client is offline (HF_HUB_OFFLINE). Unset it, or name a folder.", name=name
        )
    if isinstance(error, errors.LocalEntryNotFoundError) or kinds & {"ConnectError", "ConnectTimeout", "ProxyError", "ConnectionError"}:
        return Sentence(
            "{name} is not on this machine and the hub cannot be reached. Connect to it, or name a folder that holds the checkpoint.",
            name=name,
        )
    if isinstance(error, errors.HfHubHTTPError) and status in (401, 403, 429):
        return Sentence("The hub refuses {name} for now (HTTP {status}): log in with `hf auth login`, or wait.", name=name, status=status)
    if isinstance(error, errors.EntryNotFoundError) or (
        isinstance(error, OSError) and re.search("does not appear to have|no file named", str(error))
    ):
        return Sentence("{name} lacks a file that is needed ({why}).", name=name, why=" ".join(str(error).split())[:120])
    if code in (errno.ENOSPC, errno.EDQUOT):
        return Sentence(
            "The disk is full: {name} does not fit into the hub's cache. Free some space, or set HF_HOME to another disk.", name=name
        )
    if isinstance(error, FileNotFoundError):
        file = Path(error.filename).name if error.filename else Sentence("a file")
        return Sentence("{name} lacks {file}.", name=name, file=file)
    if code in (errno.EACCES, errno.EROFS):
        return Sentence(
            "The hub's cache cannot be written, so {name} cannot be fetched. Set HF_HOME to a folder you can write to.", name=name
        )
    if isinstance(error, SafetensorError | json.JSONDecodeError | EOFError):
        damaged = "A file of {name} is damaged or cut short ({why}). Remove it from the hub's cache and start again."
        return Sentence(damaged, name=name, why=str(error)[:100])
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "not enough memory" in str(error):
        return Sentence(
            "{name} is too large for this machine's memory. Take a smaller pair, --bits 4, or --device auto over several GPUs.", name=name
        )
    if "loading state_dict" in str(error):
        unlike = "The tensors of {name} have not the names or sizes that its config.json implies ({why})."
        return Sentence(unlike, name=name, why=" ".join(str(error).split())[:160])
    if "trust_remote_code" in str(error):
        return Sentence("{name} brings code of its own. Read it, then allow it with --remote-code at a pinned commit.", name=name)
    if "does not recognize this architecture" in str(error) or "Unrecognized model" in str(error):
        return Sentence("This version of transformers does not know what {name} is.", name=name)
    return None
