"""Coroutines run in a thread of their own: the browser of other tests leaves an event loop in the main one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def run(coroutine):
    """Return what a coroutine returns."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
