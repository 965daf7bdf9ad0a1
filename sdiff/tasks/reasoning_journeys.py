"""More sentences of the story grammar: ways from home in kilometres, talk time in minutes. Data only; the form is `reasoning_themes`'."""

from __future__ import annotations

DISTANCE = """
distance: the distance = kilometres
has
- {N} cycles {c} kilometres away from home.
- {N} leaves home and rides {c} kilometres.
- {N}'s tour begins at home with {c} kilometres to a bridge.
- On a tour from home, {N} first covers {c} kilometres.
each
- {N} cycles away from home for {c} hours at {d} kilometres an hour. | after these hours
- For {c} hours, {N} rides away from home at {d} kilometres an hour. | after these hours
- {N} leaves home and covers {d} kilometres a day for {c} days. | after these days
- {N}'s tour from home begins with {c} stages of {d} kilometres each. | of these stages
gain
- Then {he} goes on for {c} kilometres. | after going on
- After a break {he} rides {c} kilometres further. | after the break
- {He} covers another {c} kilometres before lunch. | before lunch
- From there {he} rides on for {c} kilometres to a farm. | to the farm
lose
- Then {he} turns round and rides {c} kilometres back. | after turning round
- {He} forgets a bag and goes back {c} kilometres to get it. | after getting the bag
- In the rain {he} rides {c} kilometres back towards home. | after the rain
- {He} comes back {c} kilometres to meet {M}. | at the meeting
gain each
- Then {he} goes on for {c} hours at {d} kilometres an hour. | of going on | after going on
- {He} rides further for {c} hours, {d} kilometres each hour. | of the second ride | after that ride
- For {c} more days {he} gets {d} kilometres further a day. | of these days | after these days
- {He} adds {c} stages of {d} kilometres each. | of the new stages | with the new stages
lose each
- Then {he} turns round and rides back for {c} hours at {d} kilometres an hour. | of the ride back | after turning round
- {He} comes back {d} kilometres an hour for {c} hours. | of coming back | after coming back
- For {c} days {he} walks back {d} kilometres a day. | of walking back | after these days
- {He} rides {c} stages of {d} kilometres each back towards home. | of the stages back | after these stages
half
- Then {he} turns round and rides half of the way back. | after turning round
- {He} goes back half of that distance. | after going back
- Half of the way home is done by the evening. | in the evening
- {He} covers half of the way home before a rest. | at the rest
double
- Then {he} rides on until {he} is twice as far from home. | after doubling
- By the evening {he} has doubled the distance from home. | in the evening
- {He} goes on, and at lunch {he} is twice as far from home. | at lunch
- After a rest {he} rides the same distance again. | after the rest
now: ; {N} is {r} kilometres from home now.
- How many kilometres from home is {N} now?
- How far from home is {N} in the end, in kilometres?
- What is the distance between {N} and home now?
- How many kilometres lie between {N} and home after that?
share: the length of each stage = kilometres; each stage has {r} kilometres.
- {N} returns home in {c} equal stages. How long is each stage, in kilometres?
- The whole way home is split into {c} equal stages. How many kilometres does each stage have?
- {c} stages of the same length lead {him} back home. How many kilometres is one stage?
- {He} needs {c} stages, all equally long, for the way home. What is the length of a stage?
times: the distance of {M} = kilometres; {M} is {r} kilometres from home.
- {M} is {c} times as far from home as {N} is now. How far from home is {M}, in kilometres?
- The distance of {M} from home is {c} times {N}'s distance. What is the distance of {M}?
- Now {M} is {c} times as many kilometres from home as {N}. How many kilometres is {M} from home?
- {M} has gone {c} times as far from home as {N} is now. How many kilometres from home is {M}?
more: the distance of {M} = kilometres; {M} is {r} kilometres from home.
- {M} is {c} kilometres farther from home than {N} is now. How far from home is {M}, in kilometres?
- From {M} to home it is {c} kilometres more than from {N}. How many kilometres from home is {M}?
- Now {N} is {c} kilometres nearer to home than {M}. How many kilometres is {M} from home?
- {M} waits at a place {c} kilometres farther from home. What is the distance of {M} from home?
fewer: the distance of {M} = kilometres; {M} is {r} kilometres from home.
- {M} is {c} kilometres nearer to home than {N} is now. How far from home is {M}, in kilometres?
- From {M} to home it is {c} kilometres less than from {N}. How many kilometres from home is {M}?
- Now {N} is {c} kilometres farther from home than {M}. How many kilometres is {M} from home?
- {M} waits at a place {c} kilometres closer to home. What is the distance of {M} from home?
together: the distance to the {goal} = kilometres; the {goal} is {r} kilometres from home.
- From there it is {c} kilometres to the {goal}. How far is the {goal} from home on this road?
- The {goal} lies {c} kilometres beyond this place. How many kilometres is the {goal} from home?
- A sign says that the {goal} comes after {c} kilometres. How long is the whole way from home to the {goal}?
- There {he} still has {c} kilometres to the {goal}. What is the distance from home to the {goal}?
missing: the distance left = kilometres; {r} kilometres are left to the {goal}.
- The {goal} is {c} kilometres from home on this road. How many kilometres are left to the {goal}?
- The whole way from home to the {goal} is {c} kilometres. How far does {N} still have to go?
- {N} wants to reach the {goal}, {c} kilometres from home. How many kilometres are missing?
- From home to the {goal} the road has {c} kilometres. What distance is left, in kilometres?
pack: the number of hours = hours; the way home takes {r} hours.
- {N} rides home at {c} kilometres an hour. How many hours does the way home take?
- On the way home {he} covers {c} kilometres an hour. How many hours does {he} need for it?
- The whole way home is done at {c} kilometres an hour. How long does it take, in hours?
- Then {he} goes all the way back, {c} kilometres each hour. After how many hours is {he} home?
"""

TIME = """
time: the talk time = minutes
has
- {N} has {c} minutes of talk time.
- There are {c} minutes of talk time on {N}'s phone.
- {N} starts the week with {c} minutes of talk time.
- {N}'s phone card holds {c} minutes of talk time.
each
- {N} buys {c} phone cards with {d} minutes of talk time each. | on the cards
- For {c} weeks, {N} gets {d} minutes of talk time a week. | from these weeks
- {N} has {c} phone cards, and each one holds {d} minutes of talk time. | on the cards
- {c} friends give {N} {d} minutes of talk time each. | from the friends
gain
- Then {he} buys {c} more minutes. | after the purchase
- The phone company adds {c} free minutes. | with the free minutes
- {M} sends {him} {c} minutes. | with the minutes from {M}
- Later {he} gets a bonus of {c} minutes. | with the bonus
lose
- {He} talks to {M} for {c} minutes. | after the talk
- Then {he} calls {his} aunt for {c} minutes. | after the call
- A call to the school takes {c} minutes. | after that call
- {He} gives {c} minutes to {his} sister. | after that gift
gain each
- {He} buys {c} more cards of {d} minutes each. | on the new cards | with the new cards
- For {c} days {he} gets {d} free minutes a day. | from these days | after these days
- Then {c} cousins send {him} {d} minutes each. | from the cousins | with these gifts
- {He} wins {c} vouchers for {d} minutes each. | on the vouchers | with the vouchers
lose each
- {He} makes {c} calls of {d} minutes each. | of the calls | after the calls
- For {c} days {he} talks for {d} minutes a day. | used in these days | after these days
- Then {he} calls {c} friends for {d} minutes each. | for the friends | after these calls
- {He} gives {d} minutes to each of {c} children. | for the children | after these gifts
half
- Then {he} uses half of the minutes for a call. | after that call
- {He} gives half of {his} minutes to {M}. | without that half
- Half of {his} minutes are used up by {his} brother. | without that half
- A long call to {M} takes half of {his} minutes. | after the long call
double
- Then {he} doubles {his} minutes. | after doubling
- {His} father makes it twice as many minutes. | after doubling
- The phone company doubles all {his} minutes. | after doubling
- At the new month {he} has twice as many minutes. | in the new month
now: ; {N} has {r} minutes of talk time now.
- How many minutes of talk time does {N} have now?
- How much talk time does {N} have in the end, in minutes?
- With how many minutes does {N} end up?
- What talk time is there after that, in minutes?
share: the talk time for each day = minutes; there are {r} minutes for each day.
- {N} splits {his} minutes equally over {c} days. How many minutes are there for each day?
- All {his} minutes are used in {c} days, the same time every day. How many minutes are used a day?
- {c} days are left, and {he} wants to talk equally long on each. How many minutes is that a day?
- For {c} days {he} talks equally long on each day until nothing is left. How many minutes does {he} talk a day?
times: the talk time of {M} = minutes; {M} has {r} minutes.
- {M} has {c} times as many minutes as {N} has now. How many minutes does {M} have?
- The talk time of {M} is {c} times {N}'s talk time. How many minutes does {M} have?
- Now {M} owns {c} times as many minutes as {N}. How many minutes does {M} own?
- {M}'s phone shows {c} times as many minutes as {N} has now. How many minutes does {M}'s phone show?
more: the talk time of {M} = minutes; {M} has {r} minutes.
- {M} has {c} minutes more than {N} has now. How many minutes does {M} have?
- Now {M} owns {c} more minutes than {N}. How many minutes does {M} own?
- {N} is {c} minutes behind {M} now. What is the talk time of {M}, in minutes?
- {M} is now ahead of {N} by {c} minutes. How many minutes does {M} have?
fewer: the talk time of {M} = minutes; {M} has {r} minutes.
- {M} has {c} minutes fewer than {N} has now. How many minutes does {M} have?
- Now {M} owns {c} fewer minutes than {N}. How many minutes does {M} own?
- {N} is {c} minutes ahead of {M} now. What is the talk time of {M}, in minutes?
- {M} is now behind {N} by {c} minutes. How many minutes does {M} have?
together: the talk time of both = minutes; they have {r} minutes together.
- {M} has {c} minutes. How many minutes do {N} and {M} have together?
- {N} and {M}, who has {c} minutes, put all their minutes on one phone. How many minutes are on it?
- Another {c} minutes belong to {M}. How many minutes do both have in all?
- {M} owns {c} minutes. What is the total talk time of {N} and {M}?
missing: the talk time still needed = minutes; {N} still needs {r} minutes.
- {N} needs {c} minutes for the holidays. How many minutes are missing?
- {His} goal is to have {c} minutes. How many minutes does {he} still need?
- All planned calls take {c} minutes. How many more minutes must {N} get for them?
- For a radio show {he} must have {c} minutes. How many minutes does {N} lack?
pack: the number of calls = calls; {N} can make {r} calls.
- Each call takes {c} minutes. How many calls can {N} make?
- {N} uses all {his} minutes for calls of {c} minutes each. How many calls can {he} make?
- All {his} minutes go into calls that last {c} minutes each. How many calls are that?
- A call home always lasts {c} minutes. For how many calls home is there time?
"""
