"""Specifications composed of pieces: what to return, over what, which of them, changed how. Knows words, code and meaning of each piece;
refuses to know requests, solutions and tests as a whole.

Templates ($a: first argument, $x: the element, $y: the element as changed, $k: the constant, $acc: what is built up) are filled in `coding`.
A line of a way with "?" behind its indent stands under the filter's `if`, where there is a filter. `$some` is "y for x in it if filter".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

WORDS = (
    "apple banana cherry grape lemon melon peach plum bread cheese butter honey sugar salt tea milk cat dog horse mouse sheep tiger lion "
    "bear red blue green pink silver house garden river stone paper train bus car boat road lamp table pen book eye map art ice ant sea top "
    "cup hat park ship tree bed star moon rain snow storm cloud leaf light night noon level radar ox"
).split()
NUMBERS = tuple(range(-12, 31))


class Constant(NamedTuple):
    """A constant of a specification: a value written into it, or an argument under one of `names`."""

    values: tuple
    names: str


CONSTANTS = {
    "limit": Constant(tuple(range(2, 16)), "limit threshold bound"),
    "divisor": Constant((2, 3, 4, 5, 6, 7), "divisor k factor"),
    "prefix": Constant(tuple("abcghlmprst"), "letter prefix start"),
    "suffix": Constant(tuple("adehkmnrty"), "letter suffix end"),
    "part": Constant(tuple("abeghilmnorst"), "letter part piece"),
    "size": Constant((3, 4, 5), "size limit length"),
    "amount": Constant(tuple(range(1, 13)), "amount step extra"),
    "times": Constant(tuple(range(3, 11)), "factor k times"),
    "letter": Constant(tuple("abeghilmnorst"), "letter target symbol"),
}


class Source(NamedTuple):
    """What is gone through. `kind` of its elements: number, word, char, or pair (filters then look at the value)."""

    one: str
    many: str
    places: tuple[str, ...]
    arguments: str
    elements: str  # alternatives; a pair is written key,value
    iterated: str
    kind: str
    tag: str
    empty: str  # words for the input without elements, "" where there is none
    make: Callable[[list], Any]  # elements → the argument


def counted(elements: list) -> int:
    return len(elements)


def read(elements: list) -> int:
    """The number that has these digits."""
    return int("".join(map(str, elements)) or "0")


KEEPERS = "scores prices ages stock"
PAIRS = "key,value name,number label,amount"
DICT = ("in the dictionary $a", "in $a")
SOURCES = {
    "numbers": Source("number", "numbers", ("in the list $a", "in $a"), "numbers values nums data", "n number value", "$a", "number", "numbers", "an empty list", list),
    "words": Source("word", "words", ("in the list $a", "in $a"), "words strings items", "word w s", "$a", "word", "words", "an empty list", list),
    "text": Source("character", "characters", ("in the string $a", "in $a"), "text line s", "char c ch", "$a", "char", "chars", "an empty string", "".join),
    "values": Source("value", "values", DICT, KEEPERS, "value v number", "$a.values()", "number", "values", "an empty dictionary", list),
    "keys": Source("key", "keys", DICT, KEEPERS, PAIRS, "$a.items()", "pair", "keys", "an empty dictionary", dict),
    "items": Source("pair", "pairs", DICT, KEEPERS, PAIRS, "$a.items()", "pair", "pairs", "an empty dictionary", dict),
    "digits": Source("digit", "digits", ("of the whole number $a", "of the non-negative integer $a"), "n num", "digit d x", "map(int, str($a))", "digit", "digits", "", read),
    "range": Source("number", "numbers", ("from 1 to $a", "from 1 up to and including $a"), "n end last", "i number value", "range(1, $a + 1)", "count", "up_to", "", counted),
    "sentence": Source("word", "words", ("in the sentence $a", "of the sentence $a"), "text line phrase", "word w part", "$a.split()", "word", "words", "an empty string", " ".join),
}  # fmt: skip


class Filter(NamedTuple):
    """Which elements count: `before` or `after` the noun in words, `verb` for "every number … is even". `nouns`: words of its own."""

    code: str
    holds: Callable[[Any, Any], bool]
    verb: str
    before: str = ""
    after: str = ""
    tag: str = ""
    constant: str = ""
    nouns: tuple[str, str] | None = None


FILTERS = {
    "all": Filter("", lambda x, k: True, ""),
    "even": Filter("$x % 2 == 0", lambda x, k: x % 2 == 0, "is even", "even"),
    "odd": Filter("$x % 2 == 1", lambda x, k: x % 2 == 1, "is odd", "odd"),
    "positive": Filter("$x > 0", lambda x, k: x > 0, "is positive", "positive"),
    "negative": Filter("$x < 0", lambda x, k: x < 0, "is negative", "negative"),
    "above": Filter("$x > $k", lambda x, k: x > k, "is greater than $k", "", "greater than $k", "above", "limit"),
    "below": Filter("$x < $k", lambda x, k: x < k, "is less than $k", "", "less than $k", "below", "limit"),
    "multiple": Filter("$x % $k == 0", lambda x, k: x % k == 0, "is divisible by $k", "", "divisible by $k", "divisible", "divisor"),
    "starting": Filter("$x.startswith($k)", lambda x, k: x.startswith(k), "starts with $k", "", "starting with $k", "starting_with", "prefix"),
    "ending": Filter("$x.endswith($k)", lambda x, k: x.endswith(k), "ends with $k", "", "ending with $k", "ending_with", "suffix"),
    "containing": Filter("$k in $x", lambda x, k: k in x, "contains $k", "", "containing $k", "containing", "part"),
    "longer": Filter("len($x) > $k", lambda x, k: len(x) > k, "is longer than $k", "", "longer than $k", "longer_than", "size"),
    "shorter": Filter("len($x) < $k", lambda x, k: len(x) < k, "is shorter than $k", "", "shorter than $k", "shorter_than", "size"),
    "vowel": Filter('$x in "aeiouAEIOU"', lambda x, k: x in "aeiouAEIOU", "is a vowel", nouns=("vowel", "vowels")),
    "upper": Filter("$x.isupper()", lambda x, k: x.isupper(), "is an uppercase letter", nouns=("uppercase letter", "uppercase letters")),
    "lower": Filter("$x.islower()", lambda x, k: x.islower(), "is a lowercase letter", nouns=("lowercase letter", "lowercase letters")),
    "digit": Filter("$x.isdigit()", lambda x, k: x.isdigit(), "is a digit", nouns=("digit", "digits")),
    "letter": Filter("$x.isalpha()", lambda x, k: x.isalpha(), "is a letter", nouns=("letter", "letters")),
    "equal": Filter("$x == $k", lambda x, k: x == k, "is equal to $k", "", "equal to $k", "equal_to", "letter"),
    "other": Filter("$x != $k", lambda x, k: x != k, "is not $k", "", "other than $k", "without", "letter"),
}  # fmt: skip


class Change(NamedTuple):
    """What is done to each element; `words` around the elements that it changes."""

    codes: tuple[str, ...]
    apply: Callable[[Any, Any], Any]
    words: tuple[str, ...]
    tag: str = ""
    constant: str = ""


CHANGES = {
    "same": Change(("$x",), lambda x, k: x, ("the $these",)),
    "square": Change(("$x ** 2", "$x * $x"), lambda x, k: x * x, ("the squares of the $these",), "squares"),
    "double": Change(("$x * 2", "2 * $x"), lambda x, k: 2 * x, ("the $these, each doubled", "the doubles of the $these"), "doubles"),
    "abs": Change(("abs($x)",), lambda x, k: abs(x), ("the absolute values of the $these",), "abs"),
    "plus": Change(("$x + $k",), lambda x, k: x + k, ("the $these, each increased by $k", "the $these with $k added to each"), "plus", "amount"),
    "times": Change(("$x * $k",), lambda x, k: x * k, ("the $these, each multiplied by $k",), "scaled", "times"),
    "upper": Change(("$x.upper()",), lambda x, k: x.upper(), ("the $these, in upper case", "the $these, each in upper case"), "upper"),
    "reversed": Change(("$x[::-1]",), lambda x, k: x[::-1], ("the $these, each reversed", "the $these, each spelled backwards"), "reversed"),
    "length": Change(("len($x)",), lambda x, k: len(x), ("the lengths of the $these",), "lengths"),
    "first": Change(("$x[0]",), lambda x, k: x[0], ("the first letters of the $these",), "initials"),
}  # fmt: skip


class Row(NamedTuple):
    """One element of an input: itself (the key, of a pair), as changed, and does the filter hold."""

    x: Any
    y: Any
    holds: bool


def kept(rows: list[Row]) -> list:
    return [row.y for row in rows if row.holds]


class Way(NamedTuple):
    """One way to write it: the body, and sentences that can stand before and behind it."""

    body: str
    openings: tuple[str, ...] = ()
    closings: tuple[str, ...] = ()
    imports: str = ""


class Result(NamedTuple):
    """What is returned: in words, under which function names, from which body; `answer` is what the tests compare with."""

    whats: tuple[str, ...]
    verbs: str
    built: str  # names for $acc
    none: str  # what it returns when nothing counts, as code
    answer: Callable[[list[Row]], Any]
    ways: tuple[Way, ...]


COLLECT = ("You can first collect the $bare in a list:", "A list comprehension finds the $bare:")


def listed(last: str, *closings: str) -> Way:
    """The way that first makes a list, then returns `last`."""
    return Way(f"$found = [$some]\nreturn {last}", COLLECT, closings)


def extreme(sign: str, word: str, builtin: str) -> tuple[Way, ...]:
    return (
        Way(f"$acc = None\nfor $target in $it:\n    ?if $acc is None or $y {sign} $acc:\n    ?    $acc = $y\nreturn $acc",
            (f"Go through the $many and remember the {word} so far:", "You can loop over the $many and keep the best one:"),
            (f"After the loop $acc holds the {word} one.", "The loop replaces $acc whenever it meets a better one.")),
        Way(f"return {builtin}($gen, default=None)",
            (f"The built-in {builtin} finds the {word} one:", f"You can pass the $bare to {builtin}:"),
            (f"The built-in {builtin} does the comparing.", "The default is returned when there are none.")),
        listed(f"{builtin}($found) if $found else None", "It returns None when the list is empty.", f"Then {builtin} picks the {word} one."),
    )  # fmt: skip


RESULTS = {
    "sum": Result(
        ("the sum of $group", "the total of $group"), "sum total add_up", "total result answer", "0", lambda rows: sum(kept(rows)),
        (Way("$acc = 0\nfor $target in $it:\n    ?$acc += $y\nreturn $acc",
             ("You can loop over the $many and keep a running total:", "Start from 0 and add to it in a loop:"),
             ("The loop adds to $acc step by step.", "After the loop $acc holds the sum.")),
         Way("return sum($stream)",
             ("The built-in sum does the work:", "You can pass the $bare to sum:"),
             ("The built-in sum adds them up.", "Everything happens in one line.")),
         listed("sum($found)", "Then sum adds them up.", "The list holds what has to be added.")),
    ),
    "count": Result(
        ("how many $bare there are $place", "the number of $bare $place", "the count of $bare $place"), "count number_of how_many", "count total result", "0",
        lambda rows: len(kept(rows)),
        (Way("$acc = 0\nfor $target in $it:\n    ?$acc += 1\nreturn $acc",
             ("You can loop over the $many and keep a counter:", "Start from 0 and add 1 for each match:"),
             ("The counter grows by 1 for each match.", "After the loop $acc holds the number of matches.")),
         Way("return sum(1 for $target in $it$if)",
             ("You can add 1 for each of them with sum:", "The built-in sum can count them:"),
             ("Each match adds 1 to the sum.", "Everything happens in one line.")),
         listed("len($found)", "The length of the list is the answer.", "Then len counts them.")),
    ),
    "list": Result(
        ("a list of $group", "a new list with $group"), "list get find", "result found output", "[]", kept,
        (Way("$acc = []\nfor $target in $it:\n    ?$acc.append($y)\nreturn $acc",
             ("You can loop over the $many and build a new list:", "Start with an empty list and append to it:"),
             ("The loop keeps the original order.", "Each match is appended to $acc.")),
         Way("return [$some]",
             ("A list comprehension does this:", "You can write it in one line:"),
             ("The list comprehension keeps the original order.", "Everything happens in one line.")),
         Way("$acc = [$some]\nreturn $acc",
             ("A list comprehension does this:", "You can build the list and then return it:"),
             ("The list comprehension keeps the original order.", "The new list is stored in $acc first."))),
    ),
    "largest": Result(
        ("the largest of $group, or None if there are none", "the maximum of $group, or None if there are none"), "largest max biggest", "best largest result", "None",
        lambda rows: max(kept(rows), default=None), extreme(">", "largest", "max"),
    ),
    "smallest": Result(
        ("the smallest of $group, or None if there are none", "the minimum of $group, or None if there are none"), "smallest min lowest", "best smallest result", "None",
        lambda rows: min(kept(rows), default=None), extreme("<", "smallest", "min"),
    ),
    "product": Result(
        ("the product of $group (1 if there are none)", "$group multiplied together, or 1 if there are none"), "product multiply prod", "product result answer", "1",
        lambda rows: math.prod(kept(rows)),
        (Way("$acc = 1\nfor $target in $it:\n    ?$acc *= $y\nreturn $acc",
             ("You can loop over the $many and keep a running product:", "Start from 1 and multiply in a loop:"),
             ("The loop multiplies $acc step by step.", "After the loop $acc holds the product.")),
         Way("return math.prod($stream)",
             ("The standard library has math.prod for this:", "You can pass the $bare to math.prod:"),
             ("The function math.prod multiplies them.", "Everything happens in one line."), "import math")),
    ),
    "any": Result(
        ("True if there is at least one $single $place, and False otherwise", "whether any $noun $place $verb, as True or False"), "has any contains", "", "False",
        lambda rows: any(row.holds for row in rows),
        (Way("for $target in $it:\n    ?return True\nreturn False",
             ("You can loop over the $many and stop at the first match:", "Return True as soon as one is found:"),
             ("The loop stops at the first match.", "It returns False only after looking at all of them.")),
         Way("return any($cond for $target in $it)",
             ("The built-in any does this:", "You can write it in one line with any:"),
             ("The built-in any stops at the first match.", "Everything happens in one line.")),
         listed("len($found) > 0", "It is True when the list has a match.", "Then the length says if there was a match.")),
    ),
    "all": Result(
        ("True if every $noun $place $verb (also if there are none), and False otherwise",
         "whether every $noun $place $verb, as True or False (True if there are none)"), "all only check_all", "", "True",
        lambda rows: all(row.holds for row in rows),
        (Way("for $target in $it:\n    if $unless:\n        return False\nreturn True",
             ("You can loop over the $many and stop at the first that fails:", "Return False as soon as one does not fit:"),
             ("The loop stops at the first that does not fit.", "It returns True only after looking at all of them.")),
         Way("return all($cond for $target in $it)",
             ("The built-in all does this:", "You can write it in one line with all:"),
             ("The built-in all stops at the first that fails.", "Everything happens in one line."))),
    ),
    "average": Result(
        ("the average of $group, or 0 if there are none", "the mean of $group, or 0 if there are none"), "average mean avg", "total result subtotal", "0",
        lambda rows: sum(kept(rows)) / max(1, len(kept(rows))),
        (Way("$acc = 0\ncount = 0\nfor $target in $it:\n    ?$acc += $y\n    ?count += 1\nreturn $acc / count if count else 0",
             ("You can loop over the $many and keep a total and a count:", "Add them up and count them in one loop:"),
             ("The total is divided by the count at the end.", "The check avoids a division by zero.")),
         listed("sum($found) / len($found) if $found else 0", "The sum is divided by the length.", "The check avoids a division by zero.")),
    ),
    "first": Result(
        ("the first $single $place, or None if there is none", "the first $single $place (None if there is none)"), "first find_first get_first", "", "None",
        lambda rows: next(iter(kept(rows)), None),
        (Way("for $target in $it:\n    ?return $y\nreturn None",
             ("You can loop over the $many and stop at the first match:", "Return the first one that fits:"),
             ("The loop stops at the first match.", "It returns None only after looking at all of them.")),
         Way("return next(($some), None)",
             ("The built-in next gives the first match:", "You can write it in one line with next:"),
             ("The built-in next stops at the first match.", "The second argument is used when there is no match.")),
         listed("$found[0] if $found else None", "The first of them is the answer.", "It returns None when the list is empty.")),
    ),
    "index": Result(
        ("the index of the first $single $place, or -1 if there is none", "the position (counted from 0) of the first $single $place, or -1 if there is none"),
        "index_of position_of find_index", "", "-1", lambda rows: next((i for i, row in enumerate(rows) if row.holds), -1),
        (Way("for $i, $target in enumerate($it):\n    ?return $i\nreturn -1",
             ("You can loop with enumerate and stop at the first match:", "Return the position of the first one that fits:"),
             ("The loop stops at the first match.", "It returns -1 only after looking at all of them.")),
         Way("for $i in range(len($it)):\n    $x = $it[$i]\n    ?return $i\nreturn -1",
             ("You can go through the positions one by one:", "Look at each position from the left:"),
             ("The loop stops at the first match.", "It returns -1 only after looking at all of them."))),
    ),
    "join": Result(
        ("a string made of $group", "a new string with $group"), "keep join take", "result output kept", '""', lambda rows: "".join(kept(rows)),
        (Way('$acc = ""\nfor $target in $it:\n    ?$acc += $y\nreturn $acc',
             ("You can loop over the $many and build a new string:", "Start with an empty string and add to it:"),
             ("The loop keeps the original order.", "Each match is added to $acc.")),
         Way('return "".join($stream)',
             ("The string method join does this:", "You can write it in one line with join:"),
             ("The method join puts them together.", "Everything happens in one line.")),
         listed('"".join($found)', "Then join puts them together.", "The list is joined into one string.")),
    ),
    "dict": Result(
        ("a dictionary that maps each of the $these to its $changed", "a dictionary with the $these as keys and each one's $changed as value"), "map table dict_of",
        "result table output", "{}", lambda rows: {row.x: row.y for row in rows if row.holds},
        (Way("$acc = {}\nfor $target in $it:\n    ?$acc[$x] = $y\nreturn $acc",
             ("You can loop over the $many and fill a dictionary:", "Start with an empty dictionary and fill it:"),
             ("Each $noun becomes a key of $acc.", "The loop sets one entry at a time.")),
         Way("return {$x: $some}",
             ("A dictionary comprehension does this:", "You can write it in one line:"),
             ("The dictionary comprehension builds it at once.", "Everything happens in one line."))),
    ),
    "subdict": Result(
        ("a new dictionary with the entries of $a whose value $verb", "a dictionary that keeps only the entries of $a whose value $verb"), "filter keep select",
        "result kept output", "{}", lambda rows: {row.x: row.y for row in rows if row.holds},
        (Way("$acc = {}\nfor $target in $it:\n    ?$acc[$key] = $y\nreturn $acc",
             ("You can loop over the entries and fill a new dictionary:", "Start with an empty dictionary and fill it:"),
             ("The loop copies the entries that match.", "The dictionary $a itself stays as it is.")),
         Way("return {$key: $some}",
             ("A dictionary comprehension does this:", "You can write it in one line:"),
             ("The dictionary comprehension keeps the entries that match.", "Everything happens in one line."))),
    ),
}  # fmt: skip

# result source filter [change]; no line may stand twice, and every piece of a validation or test line stands in a train line.
COMPOSED = {
    "train": """
        sum numbers even; sum numbers positive; sum numbers multiple; sum numbers all square; sum numbers odd double; sum numbers below
        count numbers above; count numbers odd; count numbers negative; count numbers multiple
        list numbers even; list numbers below; list numbers positive square; list numbers all double; list numbers all plus
        list numbers all times; list numbers all abs; list numbers negative; list numbers even square; list numbers above double
        largest numbers all; largest numbers odd; largest numbers below; smallest numbers all; smallest numbers positive
        product numbers all; product numbers positive; any numbers negative; any numbers multiple; all numbers positive; all numbers even
        all numbers below; average numbers all; average numbers above; average numbers even; first numbers even; first numbers above
        index numbers negative; dict numbers all square
        list words longer; list words all upper; list words starting; list words all length; list words all first; list words shorter upper
        list words containing; list words all reversed; count words ending; count words longer; sum words all length; any words starting
        any words containing; all words longer; all words starting; first words starting; first words longer; index words ending; dict words all length
        count text vowel; count text upper; count text equal; list text digit; join text letter; join text vowel; join text other; join text all upper
        any text digit; any text upper; all text lower; first text upper; index text digit
        sum values all; largest values all; count values above; average values all; sum values even; list keys above; list keys negative
        list keys even; subdict items positive; subdict items above
        sum digits all; count digits even; largest digits all; list digits odd; product digits all
        sum range multiple; sum range all; list range odd; product range all; count range multiple; list range all square
        count sentence all; list sentence longer; list sentence all upper; count sentence starting
        """,
    "validation": """
        count numbers positive; sum numbers negative; list numbers above; smallest numbers even; first numbers multiple
        count words containing; list text upper; sum range odd
        """,
    "test": """
        sum numbers above; count numbers even; list numbers multiple; largest numbers even; product numbers even; any numbers above
        all numbers negative; average numbers positive; list numbers odd square; first numbers negative
        count words starting; list words ending; any words longer; list words longer upper
        join text upper; any text vowel; sum values above; list keys below; sum digits even; list range multiple
        """,
}  # fmt: skip


def lines(split: str) -> list[tuple[str, str, str, str]]:
    """(result, source, filter, change) of each composed family of a split."""
    specs = [line.split() for row in COMPOSED[split].strip().splitlines() for line in row.split(";")]
    return [(*spec, "same")[:4] for spec in specs]
