"""Speculative diffusion decoding, live: drafters, acceptance rules, one loop, its trace and an explorer."""
