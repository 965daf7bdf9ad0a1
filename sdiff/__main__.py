"""`python -m sdiff decode "prompt" …`: the command line. Knows commands; each one lives in its own module."""

from __future__ import annotations

import argparse
import sys

from sdiff import cli


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdiff", description="Speculative diffusion decoding of a real language model.")
    commands = parser.add_subparsers(dest="command", required=True)
    decode = commands.add_parser("decode", help="decode one prompt and show every step")
    decode.add_argument("prompt")
    cli.add_request_arguments(decode)
    decode.add_argument("--json", action="store_true", help="print the trace as JSON instead")
    decode.add_argument("--device", default="auto", help="auto, cpu or cuda (default auto)")
    decode.add_argument("--dtype", default="auto", help="auto, bfloat16 or float32 (default auto)")
    decode.add_argument("--threads", type=int, default=0, help="CPU threads, 0: all this process may use (default 0)")
    decode.set_defaults(run=cli.decode_command)
    args = parser.parse_args(argv)
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
