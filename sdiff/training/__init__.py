"""Commands that make the bundled drafters: `python -m sdiff.training corpus`, then `… drafter`."""
