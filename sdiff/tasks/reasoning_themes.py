"""The sentences of the story grammar, by theme and move. Data only; what the moves do is `reasoning_stories`'.

A theme begins with its name, what its running total is called, and the unit. Then come the moves with their phrasings, one a line:

    gain                                                     a move in the middle: the sentence, and how the total is called after it
    - Then {he} finds {c} more {things}. | after the find    (with two equations: what the product is called comes before that)
    share: the number for each = {things}; each gets {r}.    an end: what it finds, unit, and what is said at last

{c} is the number of the move or how many groups there are, {d} the size of a group.
"""

from __future__ import annotations

THINGS = """
things: the number of {things} = {things}
has
- {N} has {c} {things}.
- There are {c} {things} in {N}'s bag.
- {N} starts the day with {c} {things}.
- {N} comes to school with {c} {things}.
- On {N}'s table there are {c} {things}.
each
- {N} has {c} {boxes} with {d} {things} in each. | in the {boxes}
- There are {d} {things} in each of {N}'s {c} {boxes}. | in the {boxes}
- {N} fills {c} {boxes} with {d} {things} each. | in the {boxes}
- {N} comes with {c} {boxes}, and every {box} holds {d} {things}. | in the {boxes}
- {N} has laid out {c} rows of {d} {things} each. | in the rows
gain
- Then {he} finds {c} more {things}. | after the find
- {M} gives {him} {c} more {things}. | with the gift from {M}
- {He} buys another {c} {things}. | after the purchase
- Later {he} gets {c} new {things}. | with the new ones
- {His} aunt brings {him} {c} {things}. | after the visit
lose
- {He} gives {c} of the {things} to {M}. | after the gift to {M}
- Then {he} loses {c} {things}. | after the loss
- {He} sells {c} of {his} {things} at a market. | after the market
- Later {c} of the {things} go missing. | without the missing ones
- {His} brother takes {c} of the {things}. | without those taken
gain each
- {He} buys {c} {boxes} of {d} {things} each. | in the new {boxes} | with the new {boxes}
- Then {c} friends bring {him} {d} {things} each. | from the friends | after the visit
- For {c} days, {he} gets {d} more {things} a day. | from these days | after these days
- Each of {c} neighbours gives {him} {d} {things}. | from the neighbours | with these gifts
lose each
- {He} gives {d} {things} to each of {c} friends. | for the friends | after these gifts
- Then {c} children get {d} {things} each from {him}. | for the children | without those
- For {c} days, {he} gives away {d} {things} a day. | given away | after these days
- {He} sells {c} {boxes} with {d} {things} in each. | in the sold {boxes} | after the sale
half
- Then {he} gives half of {his} {things} to {M}. | without that half
- {He} sells half of {his} {things}. | after selling half
- Half of {his} {things} go to {his} sister. | without that half
- {He} puts half of the {things} aside for {M} and keeps the others. | in one half
double
- Then {he} doubles the number of {his} {things}. | after doubling
- After a week {he} has twice as many {things}. | after the week
- By the evening the number of {his} {things} has doubled. | in the evening
- {He} keeps collecting until {he} has twice as many {things}. | after doubling
now: ; {N} has {r} {things} now.
- How many {things} does {N} have now?
- What is the number of {things} that {N} has in the end?
- With how many {things} does {N} end up?
- How many {things} does {N} have after that?
share: the number of {things} for each child = {things}; each child gets {r} {things}.
- {N} shares all {his} {things} equally among {c} children. How many {things} does each child get?
- All {his} {things} are split evenly between {c} children. How many are there for each child?
- {c} children get all {his} {things} in equal parts. What does one child get?
- {He} gives all {things} to {c} children so that all get the same number. How many {things} does each of them get?
times: the number of {things} {M} has = {things}; {M} has {r} {things}.
- {M} has {c} times as many {things} as {N} has now. How many {things} does {M} have?
- The number of {things} that {M} has is {c} times {N}'s number. What is the number {M} has?
- Now {M} owns {c} times as many {things} as {N}. How many {things} does {M} own?
- {M} counts {c} times as many {things} as {N} has now. How many {things} does {M} count?
more: the number of {things} {M} has = {things}; {M} has {r} {things}.
- {M} has {c} more {things} than {N} has now. How many {things} does {M} have?
- Now {M} owns {c} {things} more than {N}. How many {things} does {M} own?
- {N} is {c} {things} behind {M} now. How many {things} does {M} have?
- {M} is now ahead of {N} by {c} {things}. What is the number of {things} {M} has?
fewer: the number of {things} {M} has = {things}; {M} has {r} {things}.
- {M} has {c} fewer {things} than {N} has now. How many {things} does {M} have?
- Now {M} owns {c} {things} fewer than {N}. How many {things} does {M} own?
- {N} is {c} {things} ahead of {M} now. How many {things} does {M} have?
- {M} is now behind {N} by {c} {things}. What is the number of {things} {M} has?
together: the number of {things} both have = {things}; they have {r} {things} together.
- {M} has {c} {things}. How many {things} do {N} and {M} have together?
- {N} and {M}, who has {c} {things}, put all they have in one pile. How many {things} are in the pile?
- There are also {c} {things} that belong to {M}. How many {things} do both have in all?
- {M} owns {c} {things}. What is the total number of {things} of {N} and {M}?
missing: the number of {things} still needed = {things}; {N} still needs {r} {things}.
- {N} wants to have {c} {things}. How many {things} does {he} still need?
- {His} goal is to have {c} {things}. How many {things} are missing?
- {N} needs {c} {things} for a game. How many more {things} must {he} get?
- A full collection has {c} {things}. How many {things} does {N} lack?
pack: the number of bowls = bowls; {N} fills {r} bowls.
- {N} puts all {his} {things} into bowls of {c}. How many bowls does {he} fill?
- All {his} {things} go into bowls, {c} in each bowl. How many bowls are needed?
- {N} needs one bowl for every {c} {things}. How many bowls does {he} need?
- A bowl holds {c} {things}. How many bowls can {N} fill with {his} {things}?
"""

MONEY = """
money: the money = dollars
has
- {N} has ${c}.
- There are ${c} in {N}'s purse.
- {N} starts the week with ${c}.
- {N} goes to town with ${c}.
- {N}'s money box holds ${c}.
each
- {N} works for {c} hours and earns ${d} an hour. | from the work
- For {c} days, {N} earns ${d} a day. | from these days
- {N} sells {c} {goods} for ${d} each. | from the sale
- {N} saves ${d} a week for {c} weeks. | saved
- {c} neighbours pay {N} ${d} each for some help. | from the neighbours
gain
- Then {he} earns ${c}. | after earning some
- {He} gets ${c} for {his} birthday. | after the birthday
- {M} pays {him} ${c} for a {gift}. | after selling the {gift}
- Later {he} wins a prize of ${c}. | with the prize
- {His} grandmother gives {him} ${c}. | with the gift
lose
- {He} spends ${c} on a {ware}. | after paying for the {ware}
- Then {he} buys a {gift} for ${c}. | after buying the {gift}
- {He} pays back ${c} to {M}. | after paying {M}
- Later {he} loses ${c}. | after the loss
- {His} shoes have to be mended for ${c}. | after the repair
gain each
- For {c} weeks {he} saves ${d} a week. | saved in {c} weeks | with the savings
- Then {he} works for {c} hours at ${d} an hour. | from the work | after the work
- {He} sells {c} old books for ${d} each. | from the books | after selling the books
- {He} washes {c} cars and gets ${d} for each of them. | from the cars | after washing the cars
lose each
- {He} buys {c} {goods} for ${d} each. | for the {goods} | without that cost
- Then {he} pays for {c} tickets at ${d} each. | for the tickets | after the tickets
- For {c} days {he} spends ${d} a day on lunch. | for lunch | after these lunches
- {He} gives ${d} to each of {c} friends. | for the friends | after these gifts
half
- Then {he} spends half of {his} money. | after spending half
- {He} gives half of {his} money to {M}. | without that half
- Half of {his} money goes to the school. | without that half
- {He} pays for a trip with half of {his} money. | after the trip
double
- Then {he} doubles {his} money. | after doubling
- After a month {he} has twice as much money. | after the month
- {His} father doubles all {he} has. | after doubling
- With some luck {his} money becomes twice as much. | after that luck
now: ; {N} has {r} dollars now.
- How much money does {N} have now?
- How many dollars does {N} have in the end?
- How much money is that in the end?
- What sum does {N} have after that, in dollars?
share: the money for each child = dollars; each child gets {r} dollars.
- {N} shares all {his} money equally among {c} children. How many dollars does each child get?
- All {his} money is split evenly between {c} children. How much is there for each child?
- {c} children get all {his} money in equal parts. How much does one child get?
- {He} gives all the money to {c} children, each the same sum. What does each child get, in dollars?
times: the money {M} has = dollars; {M} has {r} dollars.
- {M} has {c} times as much money as {N} has now. How much money does {M} have?
- The money that {M} has is {c} times {N}'s sum. How many dollars does {M} have?
- Now {M} owns {c} times as many dollars as {N}. How many dollars does {M} own?
- {M} counts {c} times as many dollars as {N} has now. How many dollars does {M} count?
more: the money {M} has = dollars; {M} has {r} dollars.
- {M} has ${c} more than {N} has now. How much money does {M} have?
- Now {M} owns ${c} more than {N}. How many dollars does {M} own?
- {N} is ${c} behind {M} now. How many dollars does {M} have?
- {M} is now ahead of {N} by ${c}. How much money does {M} have?
fewer: the money {M} has = dollars; {M} has {r} dollars.
- {M} has ${c} less than {N} has now. How much money does {M} have?
- Now {M} owns ${c} less than {N}. How many dollars does {M} own?
- {N} is ${c} ahead of {M} now. How many dollars does {M} have?
- {M} is now behind {N} by ${c}. How much money does {M} have?
together: the money both have = dollars; they have {r} dollars together.
- {M} has ${c}. How much money do {N} and {M} have together?
- {N} and {M}, who has ${c}, put all their money in one box. How many dollars are in the box?
- Another ${c} belong to {M}. How many dollars do both have in all?
- {M} owns ${c}. What is the total sum of {N} and {M}, in dollars?
missing: the money still needed = dollars; {N} still needs {r} dollars.
- {N} wants a bicycle for ${c}. How many dollars does {he} still need?
- {His} goal is to have ${c}. How many dollars are missing?
- A trip costs ${c}. How much more money must {N} get for it?
- A new phone costs ${c}. How many dollars does {N} lack?
pack: the number of plants = plants; {N} gets {r} plants.
- {N} spends all {his} money on plants for ${c} each. How many plants does {he} get?
- A plant costs ${c}. How many plants can {N} buy with all {his} money?
- For every ${c} the shop gives {him} one plant. How many plants can {N} get?
- All {his} money goes into plants that cost ${c} each. How many plants are that?
"""
