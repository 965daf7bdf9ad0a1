"""`python -m sdiff decode "prompt" …`: the command line. Knows commands; each one lives in its own module."""

from __future__ import annotations

import argparse
import os
import sys

from sdiff import cli, registry
from sdiff.training import command as own


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sdiff", description="Speculative diffusion decoding of a real language model.")
    commands = parser.add_subparsers(dest="command", required=True)
    decode = commands.add_parser("decode", help="decode one prompt and show every step")
    decode.add_argument("prompt", help="what to decode; write -- before a prompt that begins with a dash")
    cli.add_request_arguments(decode)
    registry.add_arguments(decode)
    decode.add_argument("--json", action="store_true", help="print the trace as JSON instead")
    cli.add_machine_arguments(decode)
    decode.set_defaults(run=cli.decode_command, noise=None)  # the pair's own, unless asked for
    pairs = commands.add_parser("pairs", help="every verifier and drafter that can be decoded with")
    pairs.add_argument("--json", action="store_true", help="machine-readable")
    pairs.set_defaults(run=cli.pairs_command)
    train = commands.add_parser("train-drafter", help="train a drafter for another verifier, on that verifier's own answers")
    own.add_arguments(train)
    cli.add_machine_arguments(train)
    train.set_defaults(run=own.train_drafter)
    record = commands.add_parser("record", help="make the stored runs of the page again")
    cli.add_record_arguments(record)
    record.set_defaults(run=cli.record_command)
    lesson = commands.add_parser("lesson", help="write a run as one page that plays without a network")
    cli.add_lesson_arguments(lesson)
    lesson.set_defaults(run=cli.lesson_command)
    doctor = commands.add_parser("doctor", help="what this machine reaches, beside what it could reach at best")
    cli.add_doctor_arguments(doctor)
    doctor.set_defaults(run=cli.measure_command)
    bench = commands.add_parser("bench", help="measure quality and speed over many settings")
    cli.add_bench_arguments(bench)
    bench.set_defaults(run=cli.measure_command)
    frontier = commands.add_parser("frontier", help="what the stored measurements amount to")
    cli.add_frontier_arguments(frontier)
    frontier.set_defaults(run=cli.measure_command)
    recommend = commands.add_parser("recommend", help="the measured setting for a stated quality or speed")
    cli.add_recommend_arguments(recommend)
    recommend.set_defaults(run=cli.measure_command)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 shows escapes instead of failing
    args = parser.parse_args(argv)
    try:
        status = args.run(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's own last flush stays quiet
        if not isinstance(error, BrokenPipeError):
            print(f"The output could not be written ({error.strerror or error}).", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
