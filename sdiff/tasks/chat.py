"""Open prompts without a grader: questions, stories, advice, greetings. Knows text only."""

from __future__ import annotations

import random
from collections.abc import Callable

from sdiff.tasks import Item

TOPICS = (
    "the ocean", "photosynthesis", "a lighthouse", "the history of bread", "volcanoes", "gravity", "the water cycle", "bees", "the moon", "trains", "winter", "a small village",
    "friendship", "the human heart", "electric cars", "the Roman Empire", "rainbows", "whales", "computers", "music", "a lost dog", "the desert", "chess", "coffee", "libraries",
    "rivers", "birds that migrate", "bicycles", "the internet", "mountains", "sleep", "healthy food", "dinosaurs", "the Sun", "glass", "gardens", "time zones", "a brave mouse",
    "recycling", "the printing press", "bridges", "democracy", "vaccines", "maps", "tea", "robots", "the alphabet", "clouds", "castles", "languages", "an old clock", "honesty",
    "earthquakes", "penguins", "the stock market", "paper", "a rainy day", "swimming", "the violin", "airplanes", "salt", "the seasons", "a school play", "kindness", "wolves",
    "public transport", "Mars", "the telephone", "snow", "cheese", "a long journey", "teamwork", "solar power", "the brain", "cats", "painting", "lightning", "museums", "money",
    "football", "a hidden door", "courage", "the Amazon rainforest", "submarines", "rice", "a birthday party", "patience", "spiders", "the compass", "wind turbines", "poetry",
)  # fmt: skip
NAMES = "Ana Ben Chloe Dan Ella Finn Grace Hugo Iris Jack Kira Leo Mia Noah Olga Paul Rosa Sam Tara Umar Vera Will Zoe Amir".split()
PLACES = "Paris London Rome Tokyo Cairo Berlin Madrid Sydney Lima Oslo Boston Vienna Prague Nairobi Toronto Dublin".split()
KINDS = {  # family: (split, ways of asking)
    "story": ("train", ("Tell me a short story about {t}.", "Write a very short story about {t}.", "Make up a story about {t} with {a} in it.")),
    "explain": ("train", ("Explain {t} to a child.", "Explain {t} in simple words.", "Can you explain {t} briefly?")),
    "paragraph": ("train", ("Write a paragraph about {t}.", "Write a few sentences about {t}.", "Describe {t} in two sentences.")),
    "facts": ("train", ("What are three interesting facts about {t}?", "Tell me something interesting about {t}.", "Give me some facts about {t}.")),
    "poem": ("train", ("Write a short poem about {t}.", "Write four lines of verse about {t}.")),
    "why": ("train", ("Why is {t} important?", "Why do people like {t}?", "Why should I learn about {t}?")),
    "how": ("train", ("How does one learn more about {t}?", "How would you describe {t} to a friend?", "What should I know about {t}?")),
    "mail": ("train", ("Write an email to {a} about {t}.", "Write a short letter to {a} in which {b} talks about {t}.")),
    "advice": ("train", ("Give me some advice about {t}.", "I have to give a talk about {t}. What should I say first?", "How do I start a book about {t}?")),
    "compare": ("train", ("Compare {t} and {u}.", "What do {t} and {u} have in common?", "Which is more useful, {t} or {u}?")),
    "dialogue": ("train", ("Write a dialogue between {a} and {b} about {t}.", "{a} and {b} argue about {t}. Write what they say.")),
    "greeting": ("train", ("Hello!", "Hi, my name is {a}.", "Good morning! How are you?", "Hey there", "Hi! I am {a} from {p}. Who are you?", "Thank you, {a} says hello.",
                           "What can you do?", "Hello, can you help me with {t}?", "Good evening! Let's talk about {t}.")),
    "travel": ("train", ("What can I see in {p}?", "I am going to {p} with {a}. What should we pack?", "Plan a day in {p}.", "Is {p} a good place to learn about {t}?")),
    "list": ("train", ("Give me a list of five words related to {t}.", "List three books one could write about {t}.", "Name some jobs that have to do with {t}.")),
    "title": ("validation", ("Suggest a title for an essay about {t}.", "What would be a good name for a club about {t}?")),
    "opinion": ("validation", ("What do people think about {t}?", "Is {t} overrated?")),
    "daily": ("validation", ("What should I cook tonight for {a}?", "{a} cannot fall asleep. What helps?", "I forgot the birthday of {a}. What now?")),
    "summary": ("test", ("Summarize what is known about {t}.", "Give me the main idea of {t} in one sentence.")),
    "speech": ("test", ("Write the opening of a speech about {t}.", "Write a toast for {a}, who loves {t}.")),
    "quiz": ("test", ("Ask me a question about {t} and answer it.", "Make a small quiz about {t}.")),
    "conversation": ("test", ("Hello, I am {a}. I would like to hear about {t}.", "What would {a} ask about {t}?")),
}  # fmt: skip


def families(split: str) -> list[tuple[str, Callable[[random.Random], Item | None]]]:
    """(name, draw) of each kind of prompt in `split`."""
    return [(name, _draw(name, split, ways)) for name, (where, ways) in KINDS.items() if where == split]


def _draw(name: str, split: str, ways: tuple[str, ...]) -> Callable[[random.Random], Item | None]:
    kept = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}[split]  # of every five topics
    topics = [t for i, t in enumerate(TOPICS) if i % 5 in kept]

    def draw(rng: random.Random) -> Item | None:
        (a, b), (t, u), way = rng.sample(NAMES, 2), rng.sample(topics, 2), rng.choice(ways)
        return Item("chat", name, way.format(a=a, b=b, t=t, u=u, p=rng.choice(PLACES)))

    return draw
