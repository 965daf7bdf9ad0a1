"""Word problems about money, time, distance, length and age. Data only; the form is `reasoning_families`'."""

from __future__ import annotations

from sdiff.tasks.reasoning_families import parse

FAMILIES = parse("""
train: spends: a 30-150, b 11-90
story {N} has ${a}. {He} buys a {ware} for ${b}.
story A {ware} costs ${b}. {N} goes to buy it with ${a}.
story With ${a} in {his} pocket, {N} pays ${b} for a {ware}.
ask How much money does {N} have left?
ask How many dollars are left?
step the money left = a - b dollars
end {N} has {r} dollars left.

train: two purchases, change: a 11-70, b 11-60, t 50-150
story {N} buys a {ware} for ${a} and a {gift} for ${b}. {He} pays with ${t}.
story A {gift} costs ${b} and a {ware} costs ${a}. {N} takes both and hands over ${t}.
story {N} has ${t}. {He} spends ${a} on a {ware} and ${b} on a {gift}.
ask How much money does {N} have left after that?
ask How many dollars are left?
step the cost of both = a + b dollars
step the money left = t - x dollars
end {N} has {r} dollars left.

train: several of one price, change: k 3-12, p 2-12, t 40-150
story {N} buys {k} {goods} for ${p} each. {He} pays with ${t}.
story With ${t} in {his} pocket, {N} buys {k} {goods} that cost ${p} each.
story Some {goods} cost ${p} each. {N} takes {k} of them and hands over ${t}.
ask How much money does {N} have left?
ask How many dollars are left?
step the cost of the {goods} = k * p dollars
step the money left = t - x dollars
end {N} has {r} dollars left.

train: tickets of two prices: k 2-12, p 3-12, m 2-12, h 3-12
story At the {place}, {k} adults pay ${p} each and {m} children pay ${h} each.
story A ticket for the {place} costs ${p} for adults and ${h} for children. A group has {k} adults and {m} children.
story {m} children and {k} adults visit the {place}. Each child pays ${h} and each adult pays ${p}.
ask How much do they pay in all?
ask What is the total cost in dollars?
step the cost for the adults = k * p dollars
step the cost for the children = m * h dollars
step the cost in all = x + y dollars
end they pay {r} dollars in all.
plain

train: wages and savings: a 4-19, h 3-9, s 10-80
story {N} has ${s} and earns ${a} an hour. {He} works for {h} hours.
story For {h} hours, {N} works for ${a} an hour. {He} had ${s} before.
story {N} earns ${a} an hour and puts all of it to {his} ${s} after {h} hours.
ask How much money does {N} have now?
ask How many dollars does {N} have in the end?
step the money earned = a * h dollars
step the money in all = s + x dollars
end {N} has {r} dollars now.

train: weeks of saving: q 3-12, d 3-12, m = q * d, a 10-60, t = m + a
story {N} wants a {ware} for ${t}. {He} has ${a} and saves ${d} a week.
story A {ware} costs ${t}. {N} owns ${a} and puts away ${d} every week.
story {N} saves ${d} a week. {He} has ${a} and needs ${t} for a {ware}.
ask How many weeks does it take?
ask In how many weeks will {N} have enough?
step the money still needed = t - a dollars
step the number of weeks = x / d weeks
end it takes {r} weeks.

train: price of one, then of more: q 2-12, k 3-12, t = q * k, m 2-12
story {k} {goods} cost ${t}. {N} wants to buy {m} of them.
story {N} needs {m} {goods}. The shop asks ${t} for {k} {goods}.
story For {k} {goods} {M} paid ${t}. {N} buys {m} at the same price.
ask How much does {N} pay?
ask What is the cost for {N} in dollars?
step the price of one = t / k dollars
step the cost of {m} {goods} = x * m dollars
end {N} pays {r} dollars.

train: lower price: p 8-20, c 2-9, k 3-9
story {goods} usually cost ${p} each. Today each one is ${c} cheaper. {N} buys {k}.
story {N} buys {k} {goods}. The price of each was ${p}, but it goes down by ${c}.
story The shop takes ${c} off the price of ${p} for each of the {goods}. {N} takes {k} of them.
ask How much does {N} pay?
ask What is the cost for {N} in dollars?
step the price of one = p - c dollars
step the cost of {k} {goods} = x * k dollars
end {N} pays {r} dollars.

train: splitting the bill: q 4-12, d 2-9, t = q * d, a 6-70, b = t - a
story A meal costs ${a} and the drinks cost ${b}. {d} friends split the bill equally.
story {N} and {his} friends are {d} people. They pay ${a} for food and ${b} for drinks in equal parts.
story The drinks are ${b} and the food is ${a}. {d} people share the cost equally.
ask How much does each one pay?
ask How many dollars does each person pay?
step the cost in all = a + b dollars
step the cost for each one = x / d dollars
end each one pays {r} dollars.
plain

train: costs more, both: a 12-60, b 8-40
story A {gift} costs ${a}. A {ware} costs ${b} more than the {gift}. {N} buys both.
story {N} buys a {gift} for ${a} and a {ware} that is ${b} more expensive.
story The {ware} costs ${b} more than the {gift}, and the {gift} costs ${a}. {N} takes one of each.
ask How much does {N} pay in all?
ask What is the total cost in dollars?
step the price of the {ware} = a + b dollars
step the cost in all = a + x dollars
end {N} pays {r} dollars in all.

train: steady speed: a 21-79, h 2-6
story A {vehicle} goes {a} kilometres an hour. It drives for {h} hours.
story For {h} hours, a {vehicle} travels at {a} kilometres an hour.
story A {vehicle} on its way to the {town} covers {a} kilometres each hour and needs {h} hours.
ask How many kilometres does the {vehicle} go?
ask What distance does it cover, in kilometres?
step the distance = a * h kilometres
end the {vehicle} goes {r} kilometres.
plain

train: distance still to go: t 60-150, a 20-49, h 2-5
story The way to the {town} is {t} kilometres. A {vehicle} drives {a} kilometres an hour for {h} hours.
story A {vehicle} goes {a} kilometres each hour for {h} hours. Its way to the {town} is {t} kilometres long.
story For {h} hours, a {vehicle} has driven {a} kilometres an hour. The whole way is {t} kilometres.
ask How many kilometres are left?
ask What distance is left, in kilometres?
step the distance covered = a * h kilometres
step the distance left = t - x kilometres
end {r} kilometres are left.
plain

train: hours on the road: q 3-12, d 6-12, t = q * d, a 5-80, b = t - a
story {N} cycles {a} kilometres to the {town} and {b} kilometres on another road, at {d} kilometres an hour.
story At {d} kilometres an hour, {N} cycles first {a} kilometres and then {b} kilometres.
story A tour has a part of {a} kilometres and one of {b} kilometres. {N} cycles {d} kilometres every hour.
ask How many hours does it take?
ask What time does {N} need, in hours?
step the distance in all = a + b kilometres
step the number of hours = x / d hours
end it takes {r} hours.

train: there and back: a 2-19, k 3-12
story {N} walks {a} kilometres to work and the same way back. {He} does this on {k} days.
story On {k} days, {N} goes to work and back again. One way is {a} kilometres.
story It is {a} kilometres from {N}'s home to work. {N} goes there and back on {k} days.
ask How many kilometres is that in all?
ask What distance does {N} walk in all, in kilometres?
step the distance in one day = a * 2 kilometres
step the distance in all = x * k kilometres
end {N} walks {r} kilometres in all.

train: fence: a 8-60, b 6-40, b < a
story A {ground} is {a} metres long and {b} metres wide.
story The length of a {ground} is {a} metres, and its width is {b} metres.
story A {ground} has two long sides of {a} metres and two short sides of {b} metres.
ask How long is a fence all around it, in metres?
ask What is the perimeter of the {ground}?
step the length of a long and a short side = a + b metres
step the length all around = x * 2 metres
end the length all around is {r} metres.
plain

train: area: a 5-29, b 3-9
story The floor of a {place} is {a} metres long and {b} metres wide.
story In a {place}, the floor has a length of {a} metres and a width of {b} metres.
story A floor measures {a} metres by {b} metres.
ask What is the area of the floor, in square metres?
ask How many square metres does the floor have?
step the area of the floor = a * b square metres
end the floor has {r} square metres.
plain

train: pieces of rope: t 40-150, k 3-12, a 2-12
story {N} has a rope of {t} metres and cuts off {k} pieces of {a} metres each.
story From a rope of {t} metres, {N} cuts {k} pieces. Each piece is {a} metres long.
story {k} pieces of {a} metres each are cut off a rope. The rope was {t} metres long.
ask How many metres of rope are left?
ask What length of rope is left, in metres?
step the length of the pieces = k * a metres
step the length left = t - x metres
end {r} metres of rope are left.
plain

train: older, later: a 6-40, b 3-30, c 3-30
story {N} is {a} years old. {M} is {b} years older than {N}.
story {M} is {b} years older than {N}, who is {a} years old.
story {N}'s age is {a}, and {M} is {b} years older.
ask How old will {M} be in {c} years?
ask In {c} years, what will be the age of {M}?
step the age of {M} now = a + b years
step the age of {M} in {c} years = x + c years
end {M} will be {r} years old.
plain

train: times as old, both ages: a 4-29, k 3-8, m = a * k, m < 95
story {N} is {a} years old. {M} is {k} times as old as {N}.
story {M} is {k} times as old as {N}, who is {a} years old.
story {N}'s age is {a}. {M}'s age is {k} times that.
ask How old are they together?
ask What is the sum of their ages?
step the age of {M} = a * k years
step the age of both together = a + x years
end they are {r} years old together.
plain

train: three parts of a day: a 10-60, b 10-60, c 10-60
story {N} reads for {a} minutes, paints for {b} minutes and plays outside for {c} minutes.
story After {a} minutes of homework and {b} minutes of music, {N} plays football for {c} minutes.
story Cooking takes {N} {a} minutes, eating {b} minutes, and washing up {c} minutes.
ask How many minutes is that in all?
ask How much time does it all take, in minutes?
step the time of the first two parts = a + b minutes
step the time in all = x + c minutes
end it takes {r} minutes in all.

train: minutes for each one: k 3-12, a 3-12, c 5-60
story {N} needs {a} minutes to clean one window. {He} cleans {k} windows and rests for {c} minutes.
story After a rest of {c} minutes, {N} paints {k} doors. Each one takes {a} minutes.
story {N} mends {k} toys in {a} minutes each and then tidies up for {c} minutes.
ask How many minutes is that in all?
ask How much time does it all take, in minutes?
step the time of the work = k * a minutes
step the time in all = x + c minutes
end it takes {r} minutes in all.
""")
