"""What a machine could do at best, in plain arithmetic: bandwidth floor, cycle cost, break-even. Refuses to measure."""

from __future__ import annotations

# what `weight_bytes` asks for, of a model's dimensions
SIZES = ("width", "heads", "kv_heads", "head_width", "feed_forward", "layers", "vocabulary")


def weight_bytes(
    width: int, heads: int, kv_heads: int, head_width: int, feed_forward: int, layers: int, vocabulary: int, bytes_each: int
) -> int:
    """Bytes of weights that one forward pass of a Llama must read: every matrix once, and the output head (tied: once)."""
    attention = width * head_width * (2 * heads + 2 * kv_heads)
    return bytes_each * (layers * (attention + 3 * width * feed_forward + 2 * width) + width + vocabulary * width)


def floor_ms(weights: int, gigabytes_per_second: float) -> float:
    """Least milliseconds of a forward pass at that bandwidth, whatever the number of rows."""
    return weights / gigabytes_per_second / 1e6


def cycle_cost(draft_ms: float, verify_ms: float, examine_ms: float, plain_ms: float) -> float:
    """Time of one cycle in units of one plainly decoded token. Also the tokens per cycle at which speculation breaks even."""
    return (draft_ms + verify_ms + examine_ms) / plain_ms


def speed_up(tau: float, cost: float) -> float:
    """Modelled ratio to plain decoding: tokens per cycle ÷ cycle cost."""
    return tau / cost
