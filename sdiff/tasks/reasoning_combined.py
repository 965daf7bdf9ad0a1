"""Word problems that put together what others ask for alone. Data only; the form is `reasoning_families`'."""

from __future__ import annotations

from sdiff.tasks.reasoning_families import parse

FAMILIES = parse("""
train: rows of plants: a 4-12, b 4-12, c 5-50, d 5-40
story {N} plants {a} rows of {flowers} with {b} in each row. {c} of them die, and {he} plants {d} new ones.
story There are {b} {flowers} in each of {N}'s {a} rows. A storm breaks {c} of them, and then {N} adds {d}.
ask How many {flowers} does {N} have now?
ask What is the number of {flowers} in the end?
step the number of {flowers} in the rows = a * b {flowers}
step the number of {flowers} left = x - c {flowers}
step the number of {flowers} now = y + d {flowers}
end {N} has {r} {flowers} now.

train: times as many, some lost: a 4-39, k 3-8, c 5-90
story {N} has {a} {things}. {M} had {k} times as many, but lost {c} of them.
story {M} started with {k} times as many {things} as {N}, who has {a}. Then {M} gave {c} away.
ask How many {things} does {M} have left?
ask What is the number of {things} that {M} has now?
step the number of {things} {M} had first = a * k {things}
step the number of {things} left = x - c {things}
end {M} has {r} {things} left.

train: two readers: a 6-25, d 3-9, b 2-20, b < a
story {N} reads {a} pages a day and {M} reads {b} pages a day. They both read for {d} days.
story For {d} days, {N} reads {a} pages and {M} reads {b} pages each day.
ask How many more pages does {N} read than {M}?
ask By how many pages is {N} ahead of {M} at the end?
step the number of pages {N} reads = a * d pages
step the number of pages {M} reads = b * d pages
step the number of extra pages {N} reads = x - y pages
end {N} reads {r} more pages than {M}.

train: two kinds of crates: a 2-9, b 3-20, c 2-9, d 3-20
story A shop gets {a} small crates with {b} cups each and {c} large crates with {d} cups each.
story There are {b} cups in every small crate and {d} cups in every large crate. {N} opens {a} small crates and {c} large ones.
story {N} unpacks {a} crates of {b} cups and {c} crates of {d} cups.
ask How many cups are there in all?
ask What is the total number of cups?
step the number of cups in the first crates = a * b cups
step the number of cups in the other crates = c * d cups
step the number of cups in all = x + y cups
end there are {r} cups in all.
plain

train: trays sold and packed: q 3-12, d 3-12, m = q * d, a 4-12, b 4-12, t = a * b, c = t - m
story {N} bakes {a} trays of {treats} with {b} on each tray. {He} sells {c} and packs the rest into bags of {d}.
story On each of {a} trays there are {b} {treats}. {c} are eaten, and {N} puts all others into bags of {d}.
ask How many bags does {N} fill?
ask How many bags are needed?
step the number of {treats} on the trays = a * b {treats}
step the number of {treats} left = x - c {treats}
step the number of bags = y / d bags
end {N} fills {r} bags.

train: on and off the bus: a 20-60, b 5-30, c 5-30, d 5-30
story There are {a} people on a bus. At the first stop {b} get off and {c} get on. At the second stop {d} get off.
story A bus leaves with {a} people. First {b} people get off and {c} others get on. Then {d} more people leave the bus.
ask How many people are on the bus now?
ask How many people stay on the bus?
step the number of people after {b} get off = a - b people
step the number of people after {c} get on = x + c people
step the number of people left = y - d people
end {r} people are on the bus now.
plain

train: fewer, then shared: q 3-12, d 2-12, t = q * d, a 12-80, c = t - a, b = a - c
story {N} picks {a} {fruits} and {M} picks {b} fewer. They put them together and share them equally among {d} friends.
story {M} has {b} fewer {fruits} than {N}, who has {a}. All of their {fruits} are split evenly between {d} people.
ask How many {fruits} does each one get?
ask What is the number of {fruits} for each of them?
step the number of {fruits} {M} has = a - b {fruits}
step the number of {fruits} in all = a + x {fruits}
step the number of {fruits} for each one = y / d {fruits}
end each one gets {r} {fruits}.

train: boxes shared: a 3-12, b 3-24, d 3-12, t = a * b, q = t / d, q < 21
story {N} has {a} {boxes} of {things} with {b} in each {box}. {He} shares all {things} equally among {d} children.
story There are {b} {things} in each of {a} {boxes}. {d} friends of {N} split them so that all get the same number.
ask How many {things} does each child get?
ask How many {things} are there for each of them?
step the number of {things} in the {boxes} = a * b {things}
step the number of {things} for each child = x / d {things}
end each child gets {r} {things}.

train: eggs of the day: q 3-12, d 4-12, t = q * d, c 2-12, s = t + c, a 10-60, b = s - a
story {N} finds {a} eggs in the morning and {b} in the evening. {c} eggs break. The rest are packed into boxes of {d}.
story In the morning there are {a} eggs, and in the evening {b} more. {N} drops {c} of them and puts all others into boxes of {d}.
ask How many boxes does {N} fill?
ask How many boxes are needed?
step the number of eggs in all = a + b eggs
step the number of eggs left = x - c eggs
step the number of boxes = y / d boxes
end {N} fills {r} boxes.

train: boxes against loose ones: a 4-12, b 4-12, c 10-90
story {N} has {a} {boxes} of {things} with {b} in each {box}. {M} has {c} {things}.
story {M} has {c} {things}. {N} has {a} {boxes}, and each {box} holds {b} {things}.
ask How many more {things} does {N} have than {M}?
ask By how many {things} is {N} ahead of {M}?
step the number of {things} in the {boxes} = a * b {things}
step the number of extra {things} {N} has = x - c {things}
end {N} has {r} more {things} than {M}.

train: vans for a trip: q 2-9, d 4-9, t = q * d, a 8-60, b = t - a, p 11-20
story {a} children and {b} adults travel to the {town}. Each van takes {d} people and costs ${p}.
story A group of {a} children and {b} adults hires vans. {d} people sit in each van, and each van costs ${p}.
ask How much do all vans cost?
ask What is the cost of the vans in dollars?
step the number of people in all = a + b people
step the number of vans = x / d vans
step the cost of the vans = y * p dollars
end the vans cost {r} dollars.
plain

train: earns, then spends: a 4-19, d 3-9, c 10-80
story {N} earns ${a} a day and works for {d} days. Then {he} spends ${c} on a {gift}.
story For {d} days, {N} gets ${a} a day. After that {he} buys a {ware} for ${c}.
ask How much money does {N} have left?
ask How many dollars are left?
step the money earned = a * d dollars
step the money left = x - c dollars
end {N} has {r} dollars left.

train: the leaking tank: t 60-150, a 3-12, h 3-9, c 10-60
story A tank contains {t} litres of water. It loses {a} litres an hour for {h} hours. Then {c} litres are poured in.
story There are {t} litres in a tank. For {h} hours, {a} litres flow out every hour, and after that {N} adds {c} litres.
ask How many litres are in the tank now?
ask How much water is in the tank in the end, in litres?
step the amount of water lost = a * h litres
step the amount of water left = t - x litres
step the amount of water now = y + c litres
end the tank contains {r} litres now.
plain

train: three sides: a 20-38, b 20-38, c 20-38
story A {ground} has three sides. They are {a}, {b} and {c} metres long.
story The three sides of a {ground} measure {a} metres, {b} metres and {c} metres.
ask How long is a fence all around it, in metres?
ask What is the perimeter of the {ground}?
step the length of the first two sides = a + b metres
step the length all around = x + c metres
end the length all around is {r} metres.
plain

train: younger, both ages: a 20-80, b 3-30
story {N} is {a} years old. {M} is {b} years younger than {N}.
story {M} is {b} years younger than {N}, who is {a} years old.
ask How old are they together?
ask What is the sum of their ages?
step the age of {M} = a - b years
step the age of both together = a + x years
end they are {r} years old together.
plain

train: several and one more: k 3-12, p 3-12, c 8-50
story {N} buys {k} {goods} for ${p} each and one {gift} for ${c}.
story A {gift} costs ${c}. {N} takes it, and {k} {goods} at ${p} each.
ask How much does {N} pay in all?
ask What is the total cost in dollars?
step the cost of the {goods} = k * p dollars
step the cost in all = x + c dollars
end {N} pays {r} dollars in all.

train: saves, then buys: s 10-60, a 4-12, k 3-12, c 20-90
story {N} has ${s} and saves ${a} a week for {k} weeks. Then {he} buys a {ware} for ${c}.
story For {k} weeks, {N} puts ${a} a week into a box that holds ${s} already. After that {he} takes out ${c} for a {ware}.
ask How much money does {N} have left?
ask How many dollars are left?
step the money saved in {k} weeks = a * k dollars
step the money in all = s + x dollars
step the money left = y - c dollars
end {N} has {r} dollars left.

train: runs and cycles: a 3-12, k 3-12, c 10-80
story {N} runs {a} kilometres a day for {k} days and then cycles {c} kilometres.
story On {k} days, {N} runs {a} kilometres each day. On one more day {he} cycles {c} kilometres.
ask How many kilometres is that in all?
ask What distance does {N} cover in all, in kilometres?
step the distance of the runs = a * k kilometres
step the distance in all = x + c kilometres
end {N} covers {r} kilometres in all.

train: lawn around a pond: a 5-20, b 5-12, c 5-80
story A park is {a} metres long and {b} metres wide. A pond in it covers {c} square metres, and the rest is grass.
story In a park of {a} metres by {b} metres, a pond takes up {c} square metres. All else is grass.
ask How many square metres are grass?
ask What is the area of the grass, in square metres?
step the area of the park = a * b square metres
step the area of the grass = x - c square metres
end {r} square metres are grass.
plain

train: times as old, later: a 4-29, k 3-6, m = a * k, m < 80, c 3-20
story {N} is {a} years old. {M} is {k} times as old as {N}.
story {M} is {k} times as old as {N}, who is {a} years old.
ask How old will {M} be in {c} years?
ask In {c} years, what will be the age of {M}?
step the age of {M} now = a * k years
step the age of {M} in {c} years = x + c years
end {M} will be {r} years old.
plain

train: two packers: a 4-30, b 4-30, h 3-9
story {N} packs {a} parcels an hour and {M} packs {b} parcels an hour. They work for {h} hours.
story For {h} hours, {N} and {M} pack parcels. In one hour, {N} packs {a} and {M} packs {b}.
ask How many parcels do they pack together?
ask What is the number of parcels they pack in all?
step the number of parcels in one hour = a + b parcels
step the number of parcels in all = x * h parcels
end they pack {r} parcels together.

train: two parts of a film: t 80-150, a 12-60, b 12-60
story A film is {t} minutes long. {N} watches {a} minutes before dinner and {b} minutes after it.
story {N} watches {a} minutes of a film, has a break, and watches {b} minutes more. The film takes {t} minutes.
ask How many minutes of the film are left?
ask How many minutes does {N} still have to watch?
step the time watched = a + b minutes
step the time left = t - x minutes
end {r} minutes of the film are left.

train: average of two days: q 6-60, t = q * 2, a 5-90, b = t - a
story {N} walks {a} minutes on {day} and {b} minutes on {later}.
story On {day}, {N} spends {a} minutes on a puzzle, and on {later} {b} minutes.
ask What is the average number of minutes a day?
ask How many minutes a day is that, on average?
step the time in all = a + b minutes
step the average time = x / 2 minutes
end the average is {r} minutes a day.
""")
