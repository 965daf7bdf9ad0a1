"""Word problems about things that are had, found, given, packed, shared and compared. Data only; the form is `reasoning_families`'."""

from __future__ import annotations

from sdiff.tasks.reasoning_families import parse

FAMILIES = parse("""
train: finds more: a 14-90, b 12-60
story {N} has {a} {things}. Then {he} finds {b} more.
story {N} finds {b} {things} and puts them with the {a} {he} already has.
story There are {a} {things} in {N}'s room. {N} brings home another {b}.
ask How many {things} does {N} have now?
ask What is the number of {things} {N} has in the end?
step the number of {things} in all = a + b {things}
end {N} has {r} {things} in all.

train: gives away: a 30-120, b 12-80
story {N} has {a} {things}. {He} gives {b} of them to {M}.
story Out of {a} {things}, {N} hands {b} to {M}.
story {M} gets {b} {things} from {N}, who had {a} before.
ask How many {things} does {N} have left?
ask How many {things} are left for {N}?
step the number of {things} left = a - b {things}
end {N} has {r} {things} left.

train: finds and gives: a 14-80, b 10-50, c 10-60
story {N} has {a} {things}. {He} finds {b} more and then gives {c} to {M}.
story {N} starts the day with {a} {things}, gets {b} new ones and then gives {c} to {M}.
story There are {a} {things} on {N}'s desk. {He} adds {b} more. Later {M} takes {c} of them away.
ask How many {things} does {N} have left?
ask What is the number of {things} {N} keeps?
step the number of {things} in all = a + b {things}
step the number of {things} left = x - c {things}
end {N} has {r} {things} left.

train: two losses: a 50-130, b 10-40, c 10-40
story {N} picks {a} {fruits}. {He} gives {b} to {M} and uses {c} for a pie.
story From {N}'s {a} {fruits}, {b} go to the neighbours. Then {c} more are made into juice.
story There were {a} {fruits} in {N}'s kitchen. First {b} were eaten, and later {c} were thrown out.
ask How many {fruits} are left?
ask How many {fruits} remain at the end?
step the number of {fruits} after the first part is gone = a - b {fruits}
step the number of {fruits} left = x - c {fruits}
end {r} {fruits} are left.

train: lends and gets: a 40-120, b 12-60, c 10-50
story A library has {a} books about animals. {b} of them are lent, and then {c} new ones arrive.
story Of the {a} books in a library, {b} are borrowed by children. Later {c} others are brought in.
story The shelves of a library hold {a} books. Readers take {b} books, and the librarian adds {c} others.
ask How many books are in the library now?
ask What is the number of books in the library after that?
step the number left after lending = a - b books
step the number in the library now = x + c books
end there are {r} books in the library now.
plain

train: boxes of things: a 3-12, b 3-40
story {N} has {a} {boxes} of {things}. There are {b} {things} in each {box}.
story In each of {N}'s {a} {boxes} there are {b} {things}.
story {N} puts {b} {things} into every {box} and fills {a} {boxes}.
ask How many {things} are there in all?
ask How many {things} does {N} have?
step the number of {things} in the {boxes} = a * b {things}
end there are {r} {things} in the {boxes}.

train: boxes and loose ones: a 3-12, b 3-20, c 5-90
story {N} has {a} {boxes} with {b} {things} each. {He} also has {c} loose {things}.
story Besides {c} loose {things}, {N} owns {a} {boxes} with {b} {things} in each.
story There are {b} {things} in each of {N}'s {a} {boxes}, and {c} more lie on the table.
ask How many {things} does {N} have in all?
ask What is the total number of {things}?
step the number of {things} in the {boxes} = a * b {things}
step the number of {things} in all = x + c {things}
end {N} has {r} {things} in all.

train: boxes then gives: a 3-12, b 3-20, c 5-90
story {N} buys {a} {boxes} of {treats} with {b} in each {box}. {He} gives {c} {treats} to {his} friends.
story Each of {a} {boxes} holds {b} {treats}. {N} and {his} friends eat {c} of the {treats}.
story {c} {treats} are sold by {N}, who came with {a} {boxes} of {b} {treats} each.
ask How many {treats} are left?
ask What is the number of {treats} that remain?
step the number of {treats} in the {boxes} = a * b {treats}
step the number of {treats} left = x - c {treats}
end {r} {treats} are left.

train: shares: q 3-12, d 3-12, t = q * d
story {N} shares {t} {things} equally among {d} children.
story {d} friends of {N} split {t} {things} so that all get the same number.
story A pile of {t} {things} is given out by {N} to {d} children in equal parts.
ask How many {things} does each child get?
ask How many {things} are there for each of them?
step the number of {things} for each child = t / d {things}
end each child gets {r} {things}.

train: adds then shares: q 3-12, d 2-12, t = q * d, a 5-80, b = t - a
story {N} has {a} {fruits} and {M} has {b}. They put them together and share them equally among {d} friends.
story {N} picks {a} {fruits}, {M} picks {b}, and all of them are split evenly between {d} people.
story There are {a} {fruits} from {N} and {b} from {M}. Together they are given to {d} people in equal parts.
ask How many {fruits} does each one get?
ask What is the number of {fruits} for each of them?
step the number of {fruits} in all = a + b {fruits}
step the number of {fruits} for each one = x / d {fruits}
end each one gets {r} {fruits}.

train: gives then packs: q 3-12, d 2-12, t = q * d, b 6-50, a = t + b
story {N} bakes {a} {treats}. {b} of them are eaten. {He} packs the rest into bags of {d}.
story After {N} sells {b} of {his} {a} {treats}, {he} puts the others into bags with {d} in each.
story There are {a} {treats}. {N} gives {b} to the school and packs all others in bags of {d}.
ask How many bags does {N} fill?
ask How many bags are needed?
step the number of {treats} left = a - b {treats}
step the number of bags = x / d bags
end {N} fills {r} bags.

train: packing with some left over: q 3-12, d 4-12, c 2-11, c < d, m = q * d, t = m + c
story {N} packs {t} {things} into {boxes} of {d}. {He} fills as many {boxes} as {he} can.
story {t} {things} have to go into {boxes} that hold {d} each. {N} only closes full {boxes}.
story A {box} holds {d} {things}. {N} has {t} {things} and fills {box} after {box}.
ask How many {things} do not fit into a full {box}?
ask How many {things} are left over?
step the number of {things} in {q} full {boxes} = q * d {things}
step the number of {things} left = t - x {things}
end {r} {things} are left over.

train: has more than: a 14-90, b 12-60
story {N} has {a} {things}. {M} has {b} more than {N}.
story {M} has {b} more {things} than {N}, who has {a}.
story The number of {things} {N} has is {a}, and {M} has {b} more.
ask How many {things} does {M} have?
ask What is the number of {things} that {M} has?
step the number of {things} {M} has = a + b {things}
end {M} has {r} {things}.

train: more, both: a 12-60, b 10-40
story {N} collects {a} {things}. {M} collects {b} more than {N}.
story {M} has {b} more {things} than {N}. {N} has {a}.
story There are {a} {things} in {N}'s jar, and {M}'s jar has {b} more.
ask How many {things} do they have together?
ask How many {things} do both have in all?
step the number of {things} {M} has = a + b {things}
step the number of {things} in all = a + x {things}
end they have {r} {things} together.

train: has fewer than: a 30-120, b 12-80
story {N} has {a} {things}. {M} has {b} fewer than {N}.
story {M} has {b} fewer {things} than {N}, who has {a}.
story While {N} owns {a} {things}, {M} owns {b} fewer.
ask How many {things} does {M} have?
ask What is the number of {things} that {M} has?
step the number of {things} {M} has = a - b {things}
end {M} has {r} {things}.

train: fewer, both: a 25-80, b 10-50
story {N} picks {a} {fruits}. {M} picks {b} fewer than {N}.
story {M} has {b} fewer {fruits} than {N}. {N} has {a}.
story There are {a} {fruits} in {N}'s basket, and {M}'s basket has {b} fewer.
ask How many {fruits} do they have together?
ask How many {fruits} do both have in all?
step the number of {fruits} {M} has = a - b {fruits}
step the number of {fruits} in all = a + x {fruits}
end they have {r} {fruits} together.

train: how many more: a 30-120, b 12-90
story {N} has {a} {things} and {M} has {b}.
story There are {b} {things} in {M}'s bag and {a} in {N}'s bag.
story {M} counts {b} {things}. {N} counts {a} {things}.
ask How many more {things} does {N} have than {M}?
ask By how many {things} is {N} ahead of {M}?
step the number of extra {things} {N} has = a - b {things}
end {N} has {r} more {things} than {M}.

train: times as many, both: a 4-39, k 3-8
story {N} has {a} {things}. {M} has {k} times as many as {N}.
story {M} has {k} times as many {things} as {N}, who has {a}.
story In {N}'s album there are {a} {things}, and in {M}'s there are {k} times as many.
ask How many {things} do they have together?
ask How many {things} do both have in all?
step the number of {things} {M} has = a * k {things}
step the number of {things} in all = a + x {things}
end they have {r} {things} together.

train: half given, some lost: h 12-40, a = h * 2, c 5-30
story {N} has {a} {things}. {He} gives half of them to {M} and then loses {c}.
story Half of {N}'s {a} {things} go to {M}. After that, {N} loses {c} of {his} own.
story {N} splits {a} {things} in half with {M}. Later {c} of {N}'s part are lost.
ask How many {things} does {N} have left?
ask How many {things} remain for {N}?
step the number of {things} in one half = a / 2 {things}
step the number of {things} left = x - c {things}
end {N} has {r} {things} left.

train: doubles and adds: a 6-49, c 5-50
story {N} has {a} {fruits} and doubles that number. Then {he} gets {c} more.
story {N} has {a} {fruits}. By noon {he} has twice as many, and at night {he} gets {c} more.
story {N}'s {a} {fruits} become twice as many, and then {c} are added.
ask How many {fruits} does {N} have in the end?
ask What is the number of {fruits} at last?
step the number of {fruits} after doubling = a * 2 {fruits}
step the number of {fruits} in all = x + c {fruits}
end {N} has {r} {fruits} in the end.

train: rows of seats: a 4-12, b 4-12, c 5-70
story The {place} has {a} rows of seats with {b} seats in each row. {c} seats are empty.
story There are {b} seats in every row of the {place}, and there are {a} rows. People sit on all seats but {c}.
story {c} seats stay free at the {place}, which has {a} rows of {b} seats.
ask How many seats are taken?
ask On how many seats do people sit?
step the number of seats in the rows = a * b seats
step the number of seats taken = x - c seats
end {r} seats are taken.
plain

train: the rest are: t 60-150, a 12-60, b 12-60
story Of {t} {flowers} in a {green}, {a} are red, {b} are white, and the rest are yellow.
story A {green} has {t} {flowers}. There are {a} red and {b} white ones. All others are yellow.
story {a} red and {b} white {flowers} grow among the {t} {flowers} of a {green}. The other ones are yellow.
ask How many {flowers} are yellow?
ask What is the number of yellow {flowers}?
step the number of red and white {flowers} = a + b {flowers}
step the number of yellow {flowers} = t - x {flowers}
end {r} {flowers} are yellow.
plain

train: still to collect: q 3-12, d 3-12, m = q * d, a 10-80, t = m + a
story {N} wants to have {t} {things}. {He} has {a} and gets {d} more each day.
story Each day {N} gets {d} {things}. {He} has {a} already and wants {t}.
story {N} has {a} {things} and hopes for {t}. Every day brings {d} new ones.
ask How many days does it take?
ask In how many days will {N} have enough?
step the number of {things} still needed = t - a {things}
step the number of days = x / d days
end it takes {r} days.

train: one colour too many: a 12-70, b 12-70, c 12-70
story {N} has {a} {colour}, {b} {hue} and {c} yellow {things}.
story There are {a} {colour} {things}, {b} {hue} ones and {c} yellow ones in {N}'s drawer.
story In a bag, {N} finds {c} yellow, {b} {hue} and {a} {colour} {things}.
ask How many {things} are {colour} or {hue}?
ask What is the number of {colour} and {hue} {things} together?
step the number of {colour} and {hue} {things} = a + b {things}
end {r} {things} are {colour} or {hue}.

train: pages left: a 6-19, d 3-8, t 50-150
story {N} reads {a} pages of a book each day for {d} days. The book has {t} pages.
story A book has {t} pages. For {d} days, {N} reads {a} pages a day.
story For {d} days {N} has been reading {a} pages every day of a book that has {t} pages.
ask How many pages are left?
ask How many pages does {N} still have to read?
step the number of pages read = a * d pages
step the number of pages left = t - x pages
end {N} has {r} pages left.

train: more on the second day: a 12-60, b 8-40
story On {day}, {N} sells {a} {fruits}. On {later}, {he} sells {b} more than on {day}.
story {N} sells {a} {fruits} on {day} and on {later} {b} more than the day before.
story On {later}, {N} sells {b} more {fruits} than on {day}. On {day} it was {a}.
ask How many {fruits} does {N} sell on both days?
ask How many {fruits} are sold in all?
step the number of {fruits} sold on {later} = a + b {fruits}
step the number of {fruits} in all = a + x {fruits}
end {N} sells {r} {fruits} on both days.

train: legs on the farm: a 3-25, b 3-25
story A farmer keeps {a} {birds} with two legs each and {b} goats with four legs each.
story On a farm there are {a} {birds} and {b} goats. A {bird} has two legs and a goat has four.
story There are {b} goats, with four legs each, and {a} {birds}, with two legs each, on a meadow.
ask How many legs do the animals have in all?
ask How many legs are there altogether?
step the number of legs of the {birds} = a * 2 legs
step the number of legs of the goats = b * 4 legs
step the number of legs in all = x + y legs
end the animals have {r} legs in all.
plain

train: average of three: q 4-20, t = q * 3, a 2-40, m = t - a, b 2-40, c = m - b
story {N} scores {a} points in the first game, {b} in the second and {c} in the third.
story In three games, {N} gets {a}, {b} and {c} points.
story {N}'s points in the last three games were {a}, {b} and {c}.
ask What is the average number of points in a game?
ask How many points is that in each game, on average?
step the number of points in the first two games = a + b points
step the number of points in all = x + c points
step the average number of points = y / 3 points
end the average is {r} points.
""")
