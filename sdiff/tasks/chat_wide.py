"""More open prompts, to learn from only: many more kinds and topics than `chat` has. Knows text only.

No kind and no topic of the validation and test splits is among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from sdiff.tasks import Item
from sdiff.tasks.chat import NAMES, PLACES

TOPICS = (
    "tides", "butterflies", "a broken umbrella", "ancient Egypt", "pottery", "magnets", "an apple orchard", "foxes", "the eclipse", "steam engines", "autumn leaves", "a fishing town",
    "loyalty", "the lungs", "sailing ships", "the Vikings", "fog", "dolphins", "video games", "jazz", "a stray cat", "the rainforest", "card games", "chocolate", "bookshops",
    "waterfalls", "owls", "skateboards", "social media", "canyons", "dreams", "vegetables", "fossils", "the stars", "mirrors", "greenhouses", "calendars", "a clumsy dragon",
    "composting", "newspapers", "tunnels", "elections", "antibiotics", "globes", "lemonade", "drones", "handwriting", "thunderstorms", "pyramids", "dialects", "a lost key", "trust",
    "avalanches", "elephants", "budgets", "cardboard", "a picnic", "running", "the piano", "helicopters", "sugar", "spring", "a dance contest", "generosity", "bears",
    "traffic jams", "Saturn", "radio", "icebergs", "bread baking", "a treasure hunt", "leadership", "hydropower", "memory", "dogs", "sculpture", "comets", "theatres", "taxes",
    "basketball", "a secret garden", "fear", "coral reefs", "hot air balloons", "corn", "a wedding", "curiosity", "ants", "telescopes", "batteries", "fairy tales", "a long bridge",
    "moving to a new city", "learning a language", "a job interview", "saving money", "public speaking", "gardening on a balcony", "camping", "writing every day", "a healthy breakfast",
    "time management", "making friends at school", "cycling to work", "online safety", "video calls", "homework", "stress before exams", "a first aid kit", "houseplants", "knitting",
    "photography", "walking in the woods", "a family dinner", "volunteering", "the price of food", "clean water", "air pollution", "plastic waste", "endangered animals", "space travel",
    "artificial intelligence", "remote work", "fashion", "architecture", "philosophy", "mathematics", "chemistry", "biology", "geography", "world history", "economics", "law", "medicine",
    "engineering", "astronomy", "folk songs", "board games", "science fiction", "detective stories", "old photographs", "a new neighbour", "a snowman", "a talking tree", "a time machine",
    "a shy robot", "a bakery", "a village fair", "a night train", "a storm at sea", "the first day of school", "a forgotten letter", "a small island", "a clockmaker", "a magic paintbrush",
)  # fmt: skip
KINDS: dict[str, tuple[str, ...]] = {
    "essay": ("Write an essay about {t}.", "Write the introduction of an essay on {t}.", "Draft a short essay that argues for {t}."),
    "outline": ("Make an outline for a lesson on {t}.", "Give me an outline of a book about {t}.", "Outline a blog post on {t}."),
    "news": ("Write a news report about {t} in {p}.", "Write a headline and two sentences of news about {t}.", "Report on {t} like a journalist."),
    "riddle": ("Tell me a riddle about {t}.", "Make up a riddle whose answer is {t}.", "Write a joke about {t}."),
    "interview": ("Write three questions for an interview with an expert on {t}.", "{a} is interviewed about {t}. Write the interview.", "What would you ask somebody who knows all about {t}?"),
    "advert": ("Write an advertisement for {t}.", "Write a slogan for a shop that sells things about {t}.", "How would you sell {t} to {a}?"),
    "diary": ("Write a diary entry of {a} about {t}.", "Write a page from a travel diary in {p} about {t}.", "What would {a} write in a diary after a day with {t}?"),
    "steps": ("Give me step by step instructions for {t}.", "How do I get started with {t}?", "What are the first three steps to understand {t}?"),
    "definition": ("What is {t}?", "What does it mean to talk about {t}?", "Define {t}."),
    "past": ("Tell me the history of {t}.", "How did people in the past think of {t}?", "When did {t} become important?"),
    "legend": ("Invent a legend about {t}.", "Tell a fairy tale about {t} and {u}.", "Tell me a bedtime story about {t}."),
    "debate": ("Give one argument for and one against {t}.", "What are the advantages and disadvantages of {t}?", "Is {t} good or bad for society?"),
    "recipe": ("Give me a recipe that makes one think of {p}.", "What can I cook for {n} people?", "Suggest a simple dinner with {n} ingredients."),
    "song": ("Write the chorus of a song about {t}.", "Write a song about {t} for {a}.", "Write a haiku about {t}."),
    "review": ("Write a review of a book about {t}.", "Write a short review of a film about {t}.", "Review a museum of {t} in {p}."),
    "problem": ("I have a problem with {t}. What can I do?", "What are common mistakes with {t}?", "How can I get better at {t}?"),
    "future": ("What will {t} be like in a hundred years?", "How will {t} change our lives?", "Imagine the future of {t}."),
    "science": ("What is the science behind {t}?", "How does {t} work?", "What do scientists say about {t}?"),
    "example": ("Give me an example of {t}.", "Give {n} examples that have to do with {t}.", "Show me with an example why {t} matters."),
    "metaphor": ("Find a metaphor for {t}.", "Complete the sentence: {t} is like", "Describe {t} without naming it."),
    "teaching": ("How would you teach {t} to a class of {n} children?", "Plan a school project about {t}.", "What should pupils know about {t}?"),
    "dialogue at work": ("{a} asks {b} for help with {t}. Write what {b} answers.", "Write a phone call between {a} and {b} about {t}.", "Write a chat between two friends about {t}."),
    "message": ("Write a message to {a} to say sorry about {t}.", "Write a thank you note to {a} for {t}.", "Write an invitation to an evening about {t}."),
    "character": ("Describe a character who loves {t}.", "Invent a hero named {a} who is afraid of {t}.", "Who is {a}? Make up somebody whose life is all about {t}."),
    "scene": ("Describe a scene with {t} in {p}.", "Describe what one sees, hears and smells near {t}.", "Set the scene for a play about {t}."),
    "effects": ("What are the causes and effects of {t}?", "How does {t} affect {u}?", "What happens if there is no {t}?"),
    "myths": ("What do most people get wrong about {t}?", "Is it true that {t} can be dangerous?", "Name a surprising thing about {t}."),
    "career": ("How do I find a job that has to do with {t}?", "What does somebody who works with {t} do all day?", "Should {a} study {t}?"),
    "plans": ("Make a plan for a week about {t}.", "Plan an evening about {t} for {n} friends.", "Make a checklist for {t}."),
    "gift": ("What should I give {a}, who likes {t}?", "What is a good present for somebody who is interested in {t}?"),
    "feelings": ("How does {t} make people feel?", "Why are some people afraid of {t}?", "{a} is sad because of {t}. What can I say?"),
    "rewrite": ("Say in other words: {t} is more important than {u}.", "Make this sentence longer: {a} likes {t}.", "Correct this sentence: {a} have seen {t} in {p} yesterday."),
    "continue": ("Continue the story: One morning {a} woke up and there was {t}.", "Continue: Nobody in {p} had ever heard of {t}, until",
                 "Finish this story: {a} and {b} were walking through {p} when they saw {t}."),
    "place": ("What is {p} famous for?", "What is the weather like in {p}?", "Tell me about the people of {p}."),
    "weekend": ("What can {a} do on a rainy weekend?", "I am bored. Suggest something about {t}.", "What game can {n} children play?"),
    "help": ("I need help with {t}.", "Can you help {a} understand {t}?", "I do not understand {t}. Please help me."),
    "belief": ("What do you think about {t}?", "Do you like {t}?", "What is your favourite thing about {t}?"),
    "words": ("Give me synonyms for {y}.", "Use the word {y} in a sentence about {t}.", "Which words describe {t} best?"),
    "numbers": ("Give me {n} tips about {t}.", "Write {n} sentences about {t}.", "List {n} reasons to care about {t}."),
    "style": ("Write about {t} in a {y} way.", "Write a {y} story about {t}.", "Explain {t} like a {y} teacher."),
    "rules": ("Write the rules of a game about {t}.", "What are the rules of good behaviour around {t}?", "Write {n} rules for a club that deals with {t}."),
    "products": ("Invent a product that has to do with {t}.", "What app could help people with {t}?", "Name a company that makes {t}."),
}  # fmt: skip
NUMBERS = "two three four five six seven eight ten".split()
STYLES = "funny sad simple scary polite old-fashioned poetic exciting calm serious friendly angry clever lazy proud gentle".split()


def families() -> list[tuple[str, Callable[[random.Random], Item | None]]]:
    """(name, draw) of each kind of prompt."""
    return [(name, _draw(name, ways)) for name, ways in KINDS.items()]


def _draw(name: str, ways: tuple[str, ...]) -> Callable[[random.Random], Item | None]:
    def draw(rng: random.Random) -> Item | None:
        (a, b), (t, u), way = rng.sample(NAMES, 2), rng.sample(TOPICS, 2), rng.choice(ways)
        return Item("chat", name, way.format(a=a, b=b, t=t, u=u, p=rng.choice(PLACES), n=rng.choice(NUMBERS), y=rng.choice(STYLES)))

    return draw
