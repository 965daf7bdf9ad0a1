"""Specifications written out one by one: functions with a plan of their own, and small classes. Knows words, code and inputs of each;
refuses to know how requests and solutions are put together.

Templates: $a, $b, $c are the arguments; other names are roles, each with alternatives in ROLES or in the specification.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from sdiff.tasks.coding_specs import WORDS, Way

ROLES = {
    "acc": "result answer output",
    "total": "total result current",
    "i": "i index position",
    "x": "n number value",
    "w": "word w item",
    "count": "counts result table",
    "groups": "groups result table",
}


class Function(NamedTuple):
    """A function: `names` and `arguments` are alternatives; `edges` are always tested; `pieces`: what it is made of."""

    split: str
    names: str
    arguments: tuple[str, ...]
    whats: tuple[str, ...]
    ways: tuple[Way, ...]
    answer: Callable[..., Any]
    draw: Callable[[Random], tuple]
    edges: tuple[tuple, ...]
    pieces: tuple[str, ...]


class Class(NamedTuple):
    """A class whose objects hold one state. `roles`: alternatives for its methods, attribute and arguments.

    `effects`: method → what it does to the state, as (state, argument) → (state, what it returns); `takes`: method → the kind of its argument.
    """

    split: str
    names: str
    roles: dict[str, str]
    whats: tuple[str, ...]
    bodies: tuple[str, ...]
    effects: dict[str, Callable[[Any, Any], tuple[Any, Any]]]
    takes: dict[str, str]
    pieces: tuple[str, ...]
    start: Any = 0  # the state at first
    given: str = ""  # the role of the constructor's argument, which then is the state at first


def ints(rng: Random, least: int = 1, most: int = 6, low: int = -9, high: int = 20) -> list[int]:
    return [rng.randint(low, high) for _ in range(rng.randint(least, most))]


def words(rng: Random, least: int = 1, most: int = 5) -> list[str]:
    return rng.choices(WORDS, k=rng.randint(least, most))


def runs(step: Callable[[Any, Any], Any], start: Any) -> Callable[[list], list]:
    """The results up to each position, from `start` on."""
    return lambda numbers: list(accumulate(numbers, step, initial=start))[1:]


def grouped(key: Callable[[Any], Any]) -> Callable[[list], dict]:
    def group(elements: list) -> dict:
        return {k: [e for e in elements if key(e) == k] for k in map(key, elements)}

    return group


NUMBERS = ("numbers", "values", "nums")
STRINGS = ("words", "strings", "items")
TWO_LISTS = ("first second", "xs ys", "left right")
LOOP = ("You can do this with a loop:", "A short loop is enough:")
LINE = ("You can write it in one line:", "One line is enough for this:")


def running(split: str, names: str, what: str, start: str, change: str, step: Callable, pieces: tuple[str, ...]) -> Function:
    """A list of the results up to each position."""
    return Function(
        split, names, NUMBERS, (f"a list of the running {what} of $a", f"the list of running {what} of the list $a"),
        (Way(f"$acc = []\n$total = {start}\nfor $x in $a:\n    {change}\n    $acc.append($total)\nreturn $acc", LOOP,
             ("Each step appends $total so far.", "The list gets one entry for each element.")),
         Way(f"$total = {start}\n$acc = []\nfor $x in $a:\n    {change}\n    $acc = $acc + [$total]\nreturn $acc",
             ("Keep the value so far and add it to a list:", "Go through the list from left to right:"),
             ("Each step adds $total to the end of $acc.", "An empty list gives an empty list."))),
        runs(step, int(start)), lambda rng: (ints(rng, 1, 5, -4, 6),), (([],), ([0, -3],)), ("form:running", *pieces),
    )  # fmt: skip


def pairwise(split: str, names: str, what: str, joined: str, join: Callable, pieces: tuple[str, ...]) -> Function:
    """A list joined from two lists of equal length, position by position."""
    return Function(
        split, names, TWO_LISTS,
        (f"a list of the {what} of the elements of $a and $b at each position", f"a list with the {what} of $a and $b, position by position"),
        (Way(f"$acc = []\nfor x, y in zip($a, $b):\n    $acc.append({joined})\nreturn $acc",
             ("You can walk through both lists with zip:", "A loop over zip takes them in pairs:"),
             ("The loop takes one element of each list at a time.", "zip pairs the elements by position.")),
         Way(f"return [{joined} for x, y in zip($a, $b)]", LINE, ("The list comprehension goes over the pairs.", "zip pairs the elements by position.")),
         Way(f"$acc = []\nfor $i in range(len($a)):\n    x, y = $a[$i], $b[$i]\n    $acc.append({joined})\nreturn $acc",
             ("You can go through the positions one by one:", "Use the position to reach both lists:"),
             ("Both lists are read at the same position.", "The loop runs once for each position."))),
        lambda a, b: [join(x, y) for x, y in zip(a, b)],
        lambda rng: tuple(map(list, zip(*((rng.randint(-9, 20), rng.randint(-9, 20)) for _ in range(rng.randint(1, 5)))))),
        (([], []), ([3, -2], [3, 5])), ("form:pairwise", *pieces),
    )  # fmt: skip


def grouping(
    split: str, names: str, lists: tuple[str, ...], what: str, code: str, key: Callable, draw: Callable, pieces: tuple[str, ...]
) -> Function:
    """A dictionary from a key to the list of elements that have it."""
    return Function(
        split, names, lists, (f"a dictionary that maps each {what} to the list of elements of $a that have it", f"a dictionary that groups the elements of $a by their {what}"),
        (Way(f"$groups = {{}}\nfor $w in $a:\n    $groups.setdefault({code}, []).append($w)\nreturn $groups",
             ("The dictionary method setdefault helps here:", "You can fill a dictionary of lists:"),
             ("A new list is started whenever a key is new.", "The method setdefault starts each list.")),
         Way(f"$groups = {{}}\nfor $w in $a:\n    key = {code}\n    if key not in $groups:\n        $groups[key] = []\n    $groups[key].append($w)\nreturn $groups",
             ("You can loop and start a new list for each new key:", "Go through the list and fill a dictionary:"),
             ("A new list is started whenever a key is new.", "Elements keep their order within a group."))),
        grouped(key), draw, (([],),), ("form:grouping", *pieces),
    )  # fmt: skip


def tally(
    split: str, names: str, lists: tuple[str, ...], what: str, code: str, key: Callable, draw: Callable, pieces: tuple[str, ...]
) -> Function:
    """A dictionary from a key to how many elements have it."""
    return Function(
        split, names, lists, (f"a dictionary that maps each {what} to how many elements of $a have it", f"a dictionary that counts how often each {what} occurs in $a"),
        (Way(f"$count = {{}}\nfor $w in $a:\n    $count[{code}] = $count.get({code}, 0) + 1\nreturn $count",
             ("The dictionary method get helps here:", "You can fill a dictionary of counts:"),
             ("The method get gives 0 for a new key.", "Each element adds 1 to its key.")),
         Way(f"$count = {{}}\nfor $w in $a:\n    key = {code}\n    if key not in $count:\n        $count[key] = 0\n    $count[key] += 1\nreturn $count",
             ("You can loop and count in a dictionary:", "Go through them and start each count at 0:"),
             ("A new key starts at 0.", "Each element adds 1 to its key."))),
        lambda elements: dict(Counter(map(key, elements))), draw, (([],),), ("form:tally", *pieces),
    )  # fmt: skip


def some_words(rng: Random) -> tuple:
    return (words(rng, 2, 6),)


def some_ints(rng: Random) -> tuple:
    return (ints(rng),)


def repeated(rng: Random) -> tuple:
    return (ints(rng, 3, 8, 0, 4),)


def a_phrase(rng: Random) -> tuple:
    return (rng.choice((rng.choice(WORDS), " ".join(words(rng, 2, 2)), rng.choice(("level", "radar", "noon", "anna")))),)


def fizz(n: int, k: int, said: str, over: bool = False) -> list:
    return [said if (i > k if over else i % k == 0) else i for i in range(1, n + 1)]


def merged(a: dict, b: dict) -> dict:
    return {**a, **b}


def entries(rng: Random) -> dict:
    return {word: rng.randint(-5, 20) for word in words(rng, 1, 3)}


FUNCTIONS = {
    "running-sum": running("train", "running_totals running_sums cumulative_sums", "totals", "0", "$total += $x", lambda a, b: a + b, ("result:sum",)),
    "running-largest": Function(
        "train", "running_max running_largest highest_so_far", NUMBERS, ("a list of the largest element so far at each position of $a",),
        (Way("$acc = []\nfor $x in $a:\n    if $acc and $acc[-1] > $x:\n        $acc.append($acc[-1])\n    else:\n        $acc.append($x)\nreturn $acc", LOOP,
             ("The last entry of $acc is the largest so far.", "An empty list gives an empty list.")),
         Way("return [max($a[:$i + 1]) for $i in range(len($a))]", LINE, ("Each slice ends at one position.", "An empty list gives an empty list."))),
        runs(max, -100), some_ints, (([],), ([-4, -5],)), ("form:running", "result:largest"),
    ),
    "running-product": running("test", "running_products cumulative_products product_so_far", "products", "1", "$total *= $x", lambda a, b: a * b, ("result:product",)),
    "running-squares": running("validation", "running_squares cumulative_squares squares_so_far", "totals of the squares", "0", "$total += $x ** 2",
                               lambda a, b: a + b * b, ("result:sum", "change:square")),
    "pairwise-sum": pairwise("train", "add_lists pairwise_sums add_pairs", "sums", "x + y", lambda x, y: x + y, ("op:plus",)),
    "pairwise-difference": pairwise("train", "subtract_lists pairwise_differences subtract_pairs", "differences", "x - y", lambda x, y: x - y, ("op:minus",)),
    "pairwise-larger": pairwise("train", "pairwise_max larger_of_each max_pairs", "larger ones", "max(x, y)", max, ("op:max",)),
    "pairwise-product": pairwise("test", "multiply_lists pairwise_products multiply_pairs", "products", "x * y", lambda x, y: x * y, ("result:product",)),
    "pairwise-smaller": pairwise("validation", "pairwise_min smaller_of_each min_pairs", "smaller ones", "min(x, y)", min, ("result:smallest",)),
    "group-initial": grouping("train", "group_by_first_letter group_by_initial by_first_letter", STRINGS, "first letter", "$w[0]", lambda w: w[0], some_words, ("key:first",)),
    "group-remainder": grouping("train", "group_by_remainder by_remainder group_remainders", ("numbers", "nums", "data"), "remainder after division by 3", "$w % 3", lambda n: n % 3,
                             some_ints, ("key:remainder",)),
    "group-length": grouping("test", "group_by_length by_length group_lengths", STRINGS, "length", "len($w)", len, some_words, ("key:length",)),
    "tally-length": tally("train", "count_lengths length_counts tally_lengths", STRINGS, "length", "len($w)", len, some_words, ("key:length",)),
    "tally-same": tally("train", "count_each occurrences frequencies", ("items", "values", "elements"), "element", "$w", lambda x: x, repeated, ("key:same",)),
    "tally-last": tally("train", "count_last_letters last_letter_counts tally_last_letters", STRINGS, "last letter", "$w[-1]", lambda w: w[-1], some_words, ("key:last",)),
    "tally-initial": tally("test", "count_first_letters first_letter_counts tally_initials", STRINGS, "first letter", "$w[0]", lambda w: w[0], some_words, ("key:first",)),
    "gcd": Function(
        "train", "gcd greatest_common_divisor common_divisor", ("a b", "x y", "m n"), ("the greatest common divisor of two positive integers $a and $b",),
        (Way("while $b:\n    $a, $b = $b, $a % $b\nreturn $a", ("Euclid's method works well here:", "You can divide until nothing remains:"),
             ("The remainder gets smaller in every step.", "The loop ends when the remainder is 0.")),
         Way("return math.gcd($a, $b)", ("The standard library has math.gcd for this:", "The module math can do this:"),
             ("The function math.gcd does the work.", "Nothing else is needed."), "import math")),
        math.gcd, lambda rng: (rng.randint(1, 12) * (f := rng.randint(1, 9)), rng.randint(1, 12) * f), ((1, 7), (6, 6)), ("form:two numbers",),
    ),
    "power": Function(
        "train", "power raise_to to_the_power", ("base exponent", "x n", "number times"), ("$a raised to the power $b, where $b is a whole number from 0 up",),
        (Way("$total = 1\nfor _ in range($b):\n    $total *= $a\nreturn $total", ("You can multiply in a loop:", "Start from 1 and multiply again and again:"),
             ("The loop multiplies $b times.", "For the power 0 it returns 1.")),
         Way("return $a ** $b", LINE, ("The operator ** raises to a power.", "For the power 0 it returns 1."))),
        lambda a, b: a**b, lambda rng: (rng.randint(-5, 9), rng.randint(0, 5)), ((5, 0), (-2, 3)), ("form:two numbers",),
    ),
    "larger": Function(
        "train", "larger larger_of bigger", ("a b", "x y", "left right"), ("the larger of the two numbers $a and $b",),
        (Way("if $a > $b:\n    return $a\nreturn $b", ("A comparison is enough:", "You can compare the two:"), ("If both are equal it does not matter which.", "The comparison decides.")),
         Way("return max($a, $b)", ("The built-in max does this:", "You can write it in one line:"), ("The built-in max compares them.", "Nothing else is needed."))),
        max, lambda rng: (rng.randint(-20, 30), rng.randint(-20, 30)), ((4, 4), (-1, -2)), ("form:two numbers",),
    ),
    "clamp": Function(
        "train", "clamp limit_to keep_between", ("value low high", "x smallest largest", "n lower upper"), ("$a, but at least $b and at most $c",),
        (Way("if $a < $b:\n    return $b\nif $a > $c:\n    return $c\nreturn $a", ("Two comparisons are enough:", "You can check both limits:"),
             ("Values between the limits stay as they are.", "The two checks handle the limits.")),
         Way("return max($b, min($a, $c))", ("The built-ins min and max do this:", "You can write it in one line:"),
             ("Values between the limits stay as they are.", "min takes care of the upper limit."))),
        lambda a, b, c: max(b, min(a, c)), lambda rng: (rng.randint(-20, 40), (low := rng.randint(-10, 10)), low + rng.randint(1, 15)), ((0, 0, 5), (9, 1, 5)), ("form:limits",),
    ),
    "reverse": Function(
        "train", "reverse_text reverse_string backwards", ("text", "line", "s"), ("the string $a spelled backwards", "$a with its characters in reverse order"),
        (Way('$acc = ""\nfor char in $a:\n    $acc = char + $acc\nreturn $acc', LOOP, ("Each character is put in front.", "An empty string stays empty.")),
         Way("return $a[::-1]", ("A slice with step -1 does this:", "You can write it in one line:"), ("The step -1 walks from the end.", "An empty string stays empty."))),
        lambda s: s[::-1], a_phrase, (("",), ("a",)), ("form:reversal",),
    ),
    "palindrome": Function(
        "train", "is_palindrome reads_the_same same_backwards", ("text", "line", "s"), ("True if $a reads the same backwards, and False otherwise",),
        (Way("return $a == $a[::-1]", ("You can compare it with its reverse:", "A slice with step -1 gives the reverse:"),
             ("The comparison gives True or False.", "An empty string counts as a palindrome.")),
         Way("backwards = $a[::-1]\nreturn $a == backwards", ("First turn the string around:", "You can build the reverse first:"),
             ("The comparison gives True or False.", "An empty string counts as a palindrome."))),
        lambda s: s == s[::-1], a_phrase, (("",), ("abca",), ("abba",)), ("form:reversal", "form:palindrome"),
    ),
    "symmetric": Function(
        "test", "reversed_list_equal is_symmetric same_from_both_ends", ("numbers", "values", "items"),
        ("True if the list $a is the same when read backwards, and False otherwise",),
        (Way("return $a == $a[::-1]", ("You can compare it with its reverse:", "A slice with step -1 gives the reverse:"),
             ("The comparison gives True or False.", "An empty list counts as the same.")),
         Way("backwards = $a[::-1]\nreturn $a == backwards", ("First turn the list around:", "You can build the reverse first:"),
             ("The comparison gives True or False.", "An empty list counts as the same."))),
        lambda s: s == s[::-1], lambda rng: ((x := ints(rng, 1, 3)) + rng.choice((x[::-1], x[-2::-1], ints(rng, 1, 2))),), (([],), ([1, 2],), ([1, 2, 1],)),
        ("form:reversal", "form:palindrome", "source:numbers"),
    ),
    "chunks": Function(
        "train", "chunks split_into_chunks in_groups", ("items size", "values n", "data length"), ("a list of the pieces of $a with $b elements each (the last may be shorter)",),
        (Way("$acc = []\nfor $i in range(0, len($a), $b):\n    $acc.append($a[$i:$i + $b])\nreturn $acc", LOOP,
             ("The step of the range is the size of a piece.", "An empty list gives an empty list.")),
         Way("return [$a[$i:$i + $b] for $i in range(0, len($a), $b)]", LINE, ("The step of the range is the size of a piece.", "An empty list gives an empty list."))),
        lambda a, k: [a[i : i + k] for i in range(0, len(a), k)], lambda rng: (ints(rng, 2, 7), rng.randint(1, 4)), (([], 2), ([1, 2, 3], 5)), ("form:slices",),
    ),
    "first-few": Function(
        "train", "first_few take_first first_elements", ("items count", "values k", "data size"), ("a list of the first $b elements of $a (all of them if there are fewer)",),
        (Way("return $a[:$b]", ("A slice does this:", "You can write it in one line:"), ("A slice may end behind the list.", "An empty list gives an empty list.")),
         Way("$acc = []\nfor $w in $a:\n    if len($acc) < $b:\n        $acc.append($w)\nreturn $acc", LOOP, ("The loop stops adding when there are enough.", "The order stays the same."))),
        lambda a, k: a[:k], lambda rng: (ints(rng, 1, 7), rng.randint(0, 5)), (([], 2), ([1, 2], 5)), ("form:slices",),
    ),
    "merge": Function(
        "train", "merge_dicts combine merged", TWO_LISTS, ("a new dictionary with the entries of $a and $b, where $b wins if a key is in both",),
        (Way("$acc = dict($a)\n$acc.update($b)\nreturn $acc", ("Copy the first one and update it:", "The method update does this:"),
             ("The copy leaves $a unchanged.", "Entries of $b replace those of $a.")),
         Way("return {**$a, **$b}", LINE, ("Entries of $b come later and win.", "Both dictionaries stay unchanged."))),
        merged, lambda rng: (entries(rng), entries(rng)), (({}, {}), ({"tea": 1}, {"tea": 2}), ({}, {"cup": 3})), ("form:dict",),
    ),
    "invert": Function(
        "train", "invert swap_keys flip", ("mapping", "data", "table"), ("a dictionary with keys and values of $a swapped (all values are different)",),
        (Way("$acc = {}\nfor key, value in $a.items():\n    $acc[value] = key\nreturn $acc", LOOP, ("Each value becomes a key.", "The loop sets one entry at a time.")),
         Way("return {value: key for key, value in $a.items()}", LINE, ("Each value becomes a key.", "The dictionary comprehension builds it at once."))),
        lambda d: {v: k for k, v in d.items()}, lambda rng: (dict(zip(rng.sample(WORDS, 3), rng.sample(range(20), rng.randint(1, 3)))),), (({},),), ("form:dict",),
    ),
    "zip-dict": Function(
        "train", "pair_up make_dict to_dict", ("keys values", "names numbers", "labels amounts"), ("a dictionary that maps each element of $a to the one of $b at the same position",),
        (Way("$acc = {}\nfor key, value in zip($a, $b):\n    $acc[key] = value\nreturn $acc", LOOP, ("zip pairs the elements by position.", "The loop sets one entry at a time.")),
         Way("return dict(zip($a, $b))", LINE, ("zip pairs the elements by position.", "The built-in dict takes the pairs."))),
        lambda a, b: dict(zip(a, b)), lambda rng: (rng.sample(WORDS, k := rng.randint(1, 4)), ints(rng, k, k)), (([], []),), ("form:dict", "form:pairwise"),
    ),
    "unique": Function(
        "train", "unique without_repeats remove_duplicates", ("items", "values", "elements"), ("a list of the elements of $a without repeats, in the order of their first appearance",),
        (Way("$acc = []\nfor $w in $a:\n    if $w not in $acc:\n        $acc.append($w)\nreturn $acc", LOOP, ("An element is added only once.", "The order stays the same.")),
         Way("return list(dict.fromkeys($a))", ("A dictionary keeps each key once:", "You can write it in one line:"), ("A dictionary keeps the order of its keys.", "The order stays the same."))),
        lambda a: list(dict.fromkeys(a)), repeated, (([],), ([2, 2, 2],)), ("form:unique",),
    ),
    "fizz": Function(
        "train", "fizz fizz_list replace_multiples", ("n k", "end k", "last divisor"), ("a list of the numbers from 1 to $a, with 'Fizz' in place of those divisible by $b",),
        (Way('$acc = []\nfor i in range(1, $a + 1):\n    if i % $b == 0:\n        $acc.append("Fizz")\n    else:\n        $acc.append(i)\nreturn $acc', LOOP,
             ("Only the multiples are replaced.", "All other numbers stay as they are.")),
         Way('return ["Fizz" if i % $b == 0 else i for i in range(1, $a + 1)]', LINE, ("Only the multiples are replaced.", "All other numbers stay as they are."))),
        lambda n, k: fizz(n, k, "Fizz"), lambda rng: (rng.randint(3, 12), rng.randint(2, 5)), ((0, 3), (4, 5)), ("form:fizz", "filter:multiple"),
    ),
    "mark-large": Function(
        "train", "mark_large replace_large mark_above", ("n limit", "end bound", "last threshold"), ("a list of the numbers from 1 to $a, with 'big' in place of those greater than $b",),
        (Way('$acc = []\nfor i in range(1, $a + 1):\n    if i > $b:\n        $acc.append("big")\n    else:\n        $acc.append(i)\nreturn $acc', LOOP,
             ("Only the large ones are replaced.", "All other numbers stay as they are.")),
         Way('return ["big" if i > $b else i for i in range(1, $a + 1)]', LINE, ("Only the large ones are replaced.", "All other numbers stay as they are."))),
        lambda n, k: fizz(n, k, "big", over=True), lambda rng: (rng.randint(3, 12), rng.randint(2, 8)), ((0, 3), (4, 4), (4, 9)), ("form:fizz", "filter:above"),
    ),
    "flatten": Function(
        "train", "flatten join_lists flat", ("lists", "rows", "parts"), ("one list with all elements of the lists in $a, in order",),
        (Way("$acc = []\nfor part in $a:\n    $acc.extend(part)\nreturn $acc", LOOP, ("Each inner list is added at the end.", "An empty list gives an empty list.")),
         Way("return [x for part in $a for x in part]", LINE, ("The comprehension has two loops.", "An empty list gives an empty list."))),
        lambda a: [x for part in a for x in part], lambda rng: ([ints(rng, 0, 3) for _ in range(rng.randint(1, 4))],), (([],), ([[], [1]],)), ("form:flat",),
    ),
    "countdown": Function(
        "train", "countdown count_down down_from", ("n", "start", "number"), ("a list that counts down from $a to 1 (empty if $a is 0)",),
        (Way("$acc = []\nwhile $a > 0:\n    $acc.append($a)\n    $a -= 1\nreturn $acc", ("A while loop can count down:", "Take away 1 until nothing is left:"),
             ("The loop ends at 0.", "The list gets one number in each step.")),
         Way("return list(range($a, 0, -1))", ("A range with step -1 does this:", "You can write it in one line:"), ("The range stops before 0.", "The step -1 counts down."))),
        lambda n: list(range(n, 0, -1)), lambda rng: (rng.randint(2, 12),), ((0,), (1,)), ("form:range",),
    ),
    "repeat": Function(
        "train", "repeat_word repeat_text say_again", ("word times", "text count", "s n"), ("the string $a repeated $b times, with no space between",),
        (Way('$acc = ""\nfor _ in range($b):\n    $acc += $a\nreturn $acc', LOOP, ("The loop adds the string again and again.", "For 0 times it returns an empty string.")),
         Way("return $a * $b", ("The operator * repeats a string:", "You can write it in one line:"), ("The operator * works on strings too.", "For 0 times it returns an empty string."))),
        lambda s, k: s * k, lambda rng: (rng.choice(WORDS), rng.randint(1, 4)), (("tea", 0), ("", 3)), ("form:repeat",),
    ),
}  # fmt: skip


def methods(*parts: str, start: str = "0", argument: str = "") -> str:
    """The body of a class: its constructor, then `parts`."""
    first = f"def __init__(self{argument}):\n    self.$state = {start}"
    return "\n\n".join((first, *parts))


def plus(amount: str, method: str = "$add", argument: str = ", $n", sign: str = "+") -> tuple[str, str]:
    """A method that adds to (or takes from) the state, in two spellings."""
    head = f"def {method}(self{argument}):\n    self.$state"
    return f"{head} {sign}= {amount}", f"{head} = self.$state {sign} {amount}"


def extreme_of(sign: str, builtin: str) -> tuple[str, str]:
    """A method that keeps the largest or smallest so far, in two spellings."""
    head = "def $add(self, $n):\n    if self.$state is None"
    return (
        f"{head} or $n {sign} self.$state:\n        self.$state = $n",
        f"{head}:\n        self.$state = $n\n    self.$state = {builtin}(self.$state, $n)",
    )


SHOW = "def $show(self):\n    return self.$state"
SIZE = "def $show(self):\n    return len(self.$state)"
PUSH = ("def $add(self, $n):\n    self.$state.append($n)", "def $add(self, $n):\n    self.$state = self.$state + [$n]")
POP = "def $take(self):\n    if not self.$state:\n        return None\n    return self.$state.pop()"
GAIN, LOSE = plus("$n"), plus("$n", "$take", sign="-")
UP, DOWN = plus("1", "$add", ""), plus("1", "$take", "", "-")
AMOUNT = "amount n value"
ITEM = "item thing element"
SHOWS = {"show": lambda s, n: (s, s)}
ADDS = {"add": lambda s, n: (s + n, None)}
TAKES = {"take": lambda s, n: (s - n, None)}
PUSHES = {"add": lambda s, n: ([*s, n], None)}
OF_NUMBERS = {"add": "number"}
BOTH_OF_NUMBERS = {"add": "number", "take": "number"}
OF_WORDS = {"add": "word"}

CLASSES = {
    "counter": Class(
        "train", "Counter Tally Clicker", {"state": "count number clicks", "add": "increment add_one step", "show": "value current get"},
        ("with a method `$add()` that adds 1 to a count, which starts at 0, and a method `$show()` that returns the count",),
        tuple(methods(up, SHOW) for up in UP), {"add": lambda s, n: (s + 1, None), **SHOWS}, {}, ("class:show", "class:step"),
    ),
    "total": Class(
        "train", "RunningTotal Sum Adder", {"state": "total amount_so_far value", "add": "add include put", "show": "result current get", "n": "n number amount"},
        ("with a method `$add($n)` that adds $n to a total, which starts at 0, and a method `$show()` that returns the total",),
        tuple(methods(gain, SHOW) for gain in GAIN), {**ADDS, **SHOWS}, OF_NUMBERS, ("class:show", "class:gain"),
    ),
    "account": Class(
        "train", "Account BankAccount Savings", {"state": "balance money total", "add": "deposit pay_in put", "take": "withdraw pay_out remove", "show": "get_balance current left", "n": AMOUNT},
        ("with methods `$add($n)` and `$take($n)` that add $n to the balance and take $n from it, and a method `$show()` that returns the balance, which starts at 0",),
        tuple(methods(gain, lose, SHOW) for gain, lose in zip(GAIN, LOSE)), {**ADDS, **TAKES, **SHOWS}, BOTH_OF_NUMBERS, ("class:show", "class:gain", "class:lose"),
    ),
    "dial": Class(
        "train", "Thermostat Dial Lift", {"state": "level degree position", "add": "up raise_it higher", "take": "down lower_it lower", "show": "value current get", "n": "start first initial"},
        ("that is made with a number $n and has methods `$add()` and `$take()` that add 1 to the number and take 1 from it, and a method `$show()` that returns it",),
        tuple(methods(up, down, SHOW, start="$n", argument=", $n") for up, down in zip(UP, DOWN)),
        {"add": lambda s, n: (s + 1, None), "take": lambda s, n: (s - 1, None), **SHOWS}, {}, ("class:show", "class:step", "class:start"), 0, "n",
    ),
    "stack": Class(
        "train", "Stack Pile Tower", {"state": "items data elements", "add": "push put add", "take": "pop take remove_last", "n": ITEM},
        ("with a method `$add($n)` that puts $n on top and a method `$take()` that removes and returns the top one, or returns None if it is empty",),
        tuple(methods(push_it, POP, start="[]") for push_it in PUSH), {**PUSHES, "take": lambda s, n: (s[:-1], s[-1] if s else None)}, OF_WORDS, ("class:push",), [],
    ),
    "basket": Class(
        "train", "Basket Box Shelf", {"state": "items content elements", "add": "add put insert", "show": "get_all show everything", "n": ITEM},
        ("with a method `$add($n)` that stores $n and a method `$show()` that returns a list of everything stored so far, in order",),
        tuple(methods(push_it, SHOW, start="[]") for push_it in PUSH), {**PUSHES, **SHOWS}, OF_WORDS, ("class:push", "class:show"), [],
    ),
    "bag": Class(
        "train", "Bag Group Team", {"state": "items members elements", "add": "add put join", "show": "size count how_many", "n": ITEM},
        ("with a method `$add($n)` that stores $n and a method `$show()` that returns how many were stored so far",),
        tuple(methods(push_it, SIZE, start="[]") for push_it in PUSH), {**PUSHES, "show": lambda s, n: (s, len(s))}, OF_WORDS, ("class:push", "class:size"), [],
    ),
    "highest": Class(
        "train", "Highest Record Maximum", {"state": "best largest top", "add": "add see put", "show": "result current get", "n": "n number value"},
        ("with a method `$add($n)` that takes in $n and a method `$show()` that returns the largest number so far, or None if there was none",),
        tuple(methods(see_it, SHOW, start="None") for see_it in extreme_of(">", "max")), {"add": lambda s, n: (n if s is None else max(s, n), None), **SHOWS}, OF_NUMBERS, ("class:extreme", "class:show", "result:largest"), None,
    ),
    "score": Class(
        "validation", "Score Points Game", {"state": "points total marks", "add": "add win gain", "take": "lose drop minus", "show": "result current get", "n": AMOUNT},
        ("with a method `$add($n)` that adds $n to the points, which start at 0, a method `$take()` that takes 1 away, and a method `$show()` that returns the points",),
        tuple(methods(gain, down, SHOW) for gain, down in zip(GAIN, DOWN)), {**ADDS, "take": lambda s, n: (s - 1, None), **SHOWS}, OF_NUMBERS,
        ("class:gain", "class:step", "class:show"),
    ),
    "wallet": Class(
        "test", "Wallet Purse MoneyBox", {"state": "money cash total", "add": "earn put receive", "take": "spend pay give", "show": "left current get", "n": AMOUNT, "first": "start initial first"},
        ("that is made with an amount $first and has methods `$add($n)` and `$take($n)` that add $n to it and take $n from it, and a method `$show()` that returns what is left",),
        tuple(methods(gain, lose, SHOW, start="$first", argument=", $first") for gain, lose in zip(GAIN, LOSE)), {**ADDS, **TAKES, **SHOWS}, BOTH_OF_NUMBERS,
        ("class:start", "class:gain", "class:lose", "class:show"), 0, "first",
    ),
    "lowest": Class(
        "test", "Lowest Minimum Coldest", {"state": "best smallest bottom", "add": "add see put", "show": "result current get", "n": "n number value"},
        ("with a method `$add($n)` that takes in $n and a method `$show()` that returns the smallest number so far, or None if there was none",),
        tuple(methods(see_it, SHOW, start="None") for see_it in extreme_of("<", "min")), {"add": lambda s, n: (n if s is None else min(s, n), None), **SHOWS}, OF_NUMBERS, ("class:extreme", "class:show", "result:smallest"), None,
    ),
}  # fmt: skip
