"""Starts the explorer: binds its port at once, loads the models behind the first screen."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdiff.ui.engine import Progress

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from sdiff.registry import PAIRS, add_arguments, chosen

LANGUAGES = sorted(folder.name for folder in (Path(__file__).parent / "sdiff" / "ui" / "words").iterdir())


def port(text: str) -> int:
    if not 1 <= (number := int(text)) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: use 1 to 65535")
    return number


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Watch a language model decode with a diffusion drafter.")
    host = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")
    parser.add_argument("--host", default=host, help="address to listen on; 0.0.0.0 for the whole network")
    parser.add_argument(
        "--measure", action=argparse.BooleanOptionalAction, help="offer a sweep of this machine (default: on 127.0.0.1 only)"
    )
    parser.add_argument("--port", type=port, default=None, help="port; by default the first free one from 7860")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--dtype", default="auto", choices=("auto", "bfloat16", "float32"))
    parser.add_argument("--threads", type=int, default=0, help="CPU threads for the models; by default one core is left for the page")
    parser.add_argument("--language", default=os.environ.get("SDIFF_LANGUAGE", "en"), choices=LANGUAGES, help="of the page (default en)")
    add_arguments(parser)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    os.environ["SDIFF_LANGUAGE"] = args.language  # read when the page's sentences are first imported
    from sdiff.ui.engine import Engine
    from sdiff.ui.page import build, launch
    from sdiff.ui.strings import TITLE
    from sdiff.ui.zero import is_zero

    def load(progress: Progress) -> object:
        from sdiff.pairs import load_pair, usable_cores  # pulls torch; kept out of the first screen's way

        pair = load_pair(args.device, args.dtype, progress, args.threads or max(1, usable_cores() - 1), **chosen(args))
        if not is_zero():  # no GPU is there yet: a token's time on another device must not stand beside this one's cycles
            progress("Timing plain decoding")
            pair.calibrate()
        return pair

    engine = Engine(load, PAIRS[args.pair].size)
    if is_zero():
        engine.load()
    alone = args.host in ("127.0.0.1", "localhost") and "SPACE_ID" not in os.environ
    demo = build(engine, measure=alone if args.measure is None else args.measure, pair=args.pair)
    try:
        url = launch(demo, args.host, args.port, prevent_thread_lock=True, quiet=True)
    except Exception:  # Gradio reports a busy port and a wrong address alike, and misnames the latter
        where = f"{args.host}, port {args.port or 'any'}"
        raise SystemExit(f"The page cannot be served at {where}: it is busy, or no address of this machine.") from None
    print(f"{TITLE}: {url}", flush=True)
    if not is_zero():
        engine.start()  # after the port answers: loading must not slow the first screen
    demo.block_thread()


if __name__ == "__main__":
    main()
