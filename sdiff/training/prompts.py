"""Seeded open prompts for the corpus: sums in words, small functions, prose and questions. Knows text only."""

from __future__ import annotations

import random
from collections.abc import Iterator

NAMES = "Ana Ben Chloe Dan Ella Finn Grace Hugo Iris Jack Kira Leo Mia Noah Olga Paul Rosa Sam Tara Umar Vera Will Zoe Amir".split()
THINGS = "apples books marbles pencils stickers coins cookies cards tickets balloons shells oranges eggs stamps toys bottles flowers cups".split()
SUMS = (
    "{a} has {x} {thing}. {b} gives {a} {y} more. How many {thing} does {a} have now?",
    "{a} bought {x} boxes with {y} {thing} in each box. How many {thing} did {a} buy?",
    "There are {x} {thing} in a basket. {a} takes {y} of them and {b} adds {z}. How many are left?",
    "A shop sells {thing} for ${y} each. {a} buys {x} and pays with a ${big} note. How much change does {a} get?",
    "{a} reads {x} pages a day for {y} days. How many pages is that in total?",
    "{a} is {x} years old. {b} is {y} years older. How old will {b} be in {z} years?",
    "{a} shares {total} {thing} equally among {y} friends. How many does each friend get?",
    "A train travels at {x} km per hour for {y} hours. How far does it go?",
    "What is {x} plus {big} minus {y}?",
    "What is {x} times {y}?",
)
STYLES = ("", " Think step by step.", " Show your work.", " Explain briefly.", " Answer in one sentence.")
FUNCTIONS = (
    "returns the sum of all even numbers in a list", "checks whether a string is a palindrome", "counts the vowels in a string",
    "returns the largest number in a list", "reverses the words in a sentence", "computes the factorial of n", "returns the n-th Fibonacci number",
    "removes duplicates from a list while keeping the order", "checks whether a number is prime", "merges two sorted lists",
    "counts how often each word occurs in a text", "converts Celsius to Fahrenheit", "returns the common elements of two lists",
    "flattens a list of lists", "computes the greatest common divisor of two numbers", "sorts a list of tuples by the second element",
    "returns the longest word in a sentence", "checks whether two strings are anagrams", "computes the average of a list of numbers",
    "finds the index of a value in a sorted list", "capitalizes the first letter of every word", "sums the digits of an integer",
    "rotates a list by k positions", "transposes a matrix", "checks whether parentheses are balanced", "returns the second smallest number in a list",
    "zips two lists into a dictionary", "inverts a dictionary", "splits a list into chunks of size n", "counts the lines in a text file",
)  # fmt: skip
CODE = (
    "Write a Python function that {f}.", "Write a short Python function which {f}. Include a docstring.", "Implement a function in Python that {f} and show an example.",
    "How do I write a Python function that {f}?", "Give me Python code that {f}.", "Write a Python class with a method that {f}.",
)  # fmt: skip
TOPICS = (
    "the ocean", "photosynthesis", "a lighthouse", "the history of bread", "volcanoes", "gravity", "the water cycle", "bees", "the moon", "trains", "winter", "a small village",
    "friendship", "the human heart", "electric cars", "the Roman Empire", "rainbows", "whales", "computers", "music", "a lost dog", "the desert", "chess", "coffee", "libraries",
    "rivers", "birds that migrate", "bicycles", "the internet", "mountains", "sleep", "healthy food", "dinosaurs", "the Sun", "glass", "gardens", "time zones", "a brave mouse",
    "recycling", "the printing press", "bridges", "democracy", "vaccines", "maps", "tea", "robots", "the alphabet", "clouds", "castles", "languages",
)  # fmt: skip
PROSE = (
    "Tell me a short story about {t}.", "Explain {t} to a child.", "Write a paragraph about {t}.", "What are three interesting facts about {t}?", "Write a short poem about {t}.",
    "Give me a list of five words related to {t}.", "Why is {t} important?", "Describe {t} in two sentences.", "What should I know about {t}?", "Write an email to a friend about {t}.",
    "Summarize what people think about {t}.", "Give me some advice about {t}.", "Compare {t} and {u}.", "Write a dialogue between {a} and {b} about {t}.", "How does {t} work?",
)  # fmt: skip


def prompts(seed: int) -> Iterator[str]:
    """An endless stream, the same for the same seed: one third sums, one third code, one third prose."""
    rng = random.Random(seed)
    while True:
        a, b = rng.sample(NAMES, 2)
        t, u = rng.sample(TOPICS, 2)
        x, y, z = rng.randint(3, 40), rng.randint(2, 12), rng.randint(1, 9)
        words = {
            "a": a,
            "b": b,
            "x": x,
            "y": y,
            "z": z,
            "total": x * y,
            "big": rng.choice((50, 100, 200)),
            "thing": rng.choice(THINGS),
            "t": t,
            "u": u,
        }
        yield rng.choice(SUMS).format(**words) + rng.choice(STYLES)
        yield rng.choice(CODE).format(f=rng.choice(FUNCTIONS))
        yield rng.choice(PROSE).format(**words)
