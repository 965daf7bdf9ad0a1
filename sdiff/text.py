"""Between what people read and token ids: prompts, text without half characters, labels of tokens. Knows a tokenizer object only."""

from __future__ import annotations

import codecs
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tokenizers.pre_tokenizers import ByteLevel

# GPT-2's reversible map: every byte has one printable character in a byte-level vocabulary
_BYTES = {character: byte for byte, character in zip(
    [*range(33, 127), *range(161, 173), *range(174, 256), *(b for b in range(256) if not (33 <= b < 127 or 161 <= b < 173 or 174 <= b < 256))],
    [*map(chr, range(33, 127)), *map(chr, range(161, 173)), *map(chr, range(174, 256)), *map(chr, range(256, 256 + 68))], strict=True,
)}  # fmt: skip
assert set(_BYTES) == set(ByteLevel.alphabet())


class Prompts:
    """Prompts as a model reads them: in its chat template, whose further arguments are `template`, or as plain text."""

    def __init__(self, tokenizer: Any, template: Mapping[str, Any]) -> None:
        self.tokenizer, self.template = tokenizer, template

    def encode(self, prompt: str, raw: bool = False) -> list[int]:
        """Token ids, at least one. Special tokens written in the prompt stay plain text."""
        template, plain = self._encoders
        if raw or not self.tokenizer.chat_template:  # a model that was never taught to chat continues the text
            return [*self.tokenizer("")["input_ids"], *plain(prompt)] or [self.tokenizer.bos_token_id]
        # Split around a marker, so that nothing a visitor types can end their turn; the template's plain words right
        # before the prompt ("user⏎") are encoded with it, as in the whole string, because spaces merge across.
        marker = "\ue000"
        shell = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": marker}], add_generation_prompt=True, tokenize=False, **self.template
        )
        before, after = shell.split(marker)
        head = max((before.rfind(s) + len(s) for s in self.tokenizer.all_special_tokens if s in before), default=0)
        return [*template(before[:head]), *plain(before[head:] + prompt), *template(after)]

    @cached_property
    def _encoders(self) -> tuple[Callable[[str], list[int]], Callable[[str], list[int]]]:
        """Two encoders: special tokens recognised, and special tokens as ordinary characters.

        On copies, since the switch between the two is state of a tokenizer that others use as well.
        """

        def encoder(ordinary: bool) -> Callable[[str], list[int]]:
            tokenizer = copy.deepcopy(self.tokenizer.backend_tokenizer)
            tokenizer.encode_special_tokens = ordinary
            return lambda text: tokenizer.encode(text, add_special_tokens=False).ids

        return encoder(False), encoder(True)


class TokenText:
    """The bytes and labels of a tokenizer's tokens, byte-level or SentencePiece. Special tokens have no bytes; unknown ids neither."""

    def __init__(self, tokenizer: Any) -> None:
        named = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}  # more than those with a role
        self.tokenizer, self.special = tokenizer, named | set(tokenizer.all_special_ids)
        self.pieces = tokenizer.convert_tokens_to_ids("<0x0A>") not in (None, tokenizer.unk_token_id)  # SentencePiece with byte fallback

    def raw(self, token: int) -> bytes:
        piece = None if token in self.special else self.tokenizer.convert_ids_to_tokens(token)
        if self.pieces and piece:  # "▁" is a space, "<0x0A>" a byte
            return bytes.fromhex(piece[3:5]) if re.fullmatch("<0x[0-9A-F]{2}>", piece) else piece.replace("▁", " ").encode()
        return bytes(_BYTES[c] for c in piece) if piece and all(c in _BYTES for c in piece) else (piece or "").encode()

    def label(self, token: int) -> str:
        """A short readable name: the text itself, hexadecimal bytes where a character is split, the name of a special token."""
        if token in self.special:
            return str(self.tokenizer.convert_ids_to_tokens(token))
        raw = self.raw(token)
        try:
            return raw.decode() or f"⟨{token}⟩"
        except UnicodeDecodeError:
            return "⟨" + raw.hex(" ").upper() + "⟩"


class Readable:
    """Text that new tokens complete; the bytes of an unfinished character wait for the next call, at the end for ever."""

    def __init__(self, texts: TokenText) -> None:
        self.texts, self.decoder = texts, codecs.getincrementaldecoder("utf-8")("replace")

    def __call__(self, tokens: Sequence[int]) -> str:
        return self.decoder.decode(b"".join(map(self.texts.raw, tokens)))
