"""Coroutines on a thread of their own: browser tests keep an event loop running in the main one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def run_async(coroutine):
    """As asyncio.run."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
