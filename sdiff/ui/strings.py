"""Every sentence a person reads, in one place. Refuses to know what they are shown on.

`{name}` is filled in where the sentence is used. Numbers are defined in measures.py.
"""

TITLE = "Speculative Diffusion Explorer"
TAGLINE = (
    "A small **diffusion drafter** guesses a whole block of tokens in a few denoising steps; the **language model** "
    "checks all of them in one pass, keeps what it agrees with, and replaces the first one it refuses."
)

EXAMPLES = {
    "Reasoning": "Mia has 34 apples. She buys 3 bags with 12 apples each and gives 15 apples to Tom. How many apples does Mia have now?",
    "Code": "Write a Python function `count_above(numbers, limit)` that returns how many of the numbers are greater than limit.",
    "Prose": "Write the opening paragraph of a short story about a lighthouse keeper who collects lost letters.",
}

# Controls: field -> (label, help).
CONTROLS = {
    "prompt": ("Prompt", "What the language model should answer."),
    "noise": ("Noise", "Masked: tokens appear from blanks. Uniform: tokens settle out of random ones."),
    "steps": (
        "Denoising steps S",
        "Drafter passes per block. More passes take time and usually make better drafts.",
    ),
    "leniency": (
        "Leniency λ",
        "0 is strict; towards 1 the rule keeps more drafts.",
    ),
    "rule": ("Acceptance rule", "How leniency turns a refusal into a keep."),
    "proposal": ("Proposal", "The order in which the drafter settles its tokens, and the law they are weighed with."),
    "gamma": ("Block length γ", "Tokens drafted per cycle."),
    "temperature": ("Temperature", "0 always takes the likeliest token."),
    "top_k": ("Top-k", "Draw only among the k likeliest tokens; 0 is off."),
    "top_p": ("Top-p", "Draw only among the likeliest tokens that hold this share; 1 is off."),
    "seed": ("Seed", "The same seed and settings give the same run."),
    "max_tokens": ("Token limit", "The run stops after this many new tokens."),
    "original": ("Verifier as published", "Without the task adapter. The drafter knows the adapted one, so it is accepted less."),
    "raw": ("Raw text", "Continue the prompt as it stands, without the chat template."),
}
NOISE_LABELS = {"masked": "Masked", "uniform": "Uniform"}
PROPOSAL_DEFAULT = "The noise's default"
MORE = "Sampling and limits"
NEXT_RUN = "### Settings of your next run"
RUN, STOP, PLAIN = "Run", "Stop", "Run without drafter"
NATIVE = "Here: {native}. {help}"
LOSSLESS = "✓ Lossless: the text follows the language model's own law, but for the rounding of its numbers."
LOSSY = "≈ Not lossless: the text may differ from the language model's own law."

# Status line.
LOADING = "Getting the models ready: {what}."
PLAYS_MEANWHILE = "The recorded run plays meanwhile."
LOADING_START = "opening the model files"
LOAD_FAILED = "No live runs: {error}."
STAYS_USABLE = "The recorded run stays usable."
READY = "Ready. Press Run to decode your prompt."
WAITING_MODEL = "Your run starts as soon as the models are ready: {what}."
WAITING_LINE = "Waiting: {ahead} ahead of you in the line."
REFUSED = "The server did not take the run: it is busy, or the request was too large. Nothing is lost; try again in a moment."
LINE_FULL = "The line is full; please try again in a minute."
RUNNING = "Decoding: {tokens} tokens so far."
STOPPED = "Stopped after {tokens} tokens."
FINISHED = {
    "eos": "Done: the model ended its answer after {tokens} tokens.",
    "limit": "Done: the token limit was reached after {tokens} tokens.",
    "context": "Done: the model's context is full after {tokens} tokens.",
    "stopped": STOPPED,
    "error": "The run failed after {tokens} tokens: {error}. The text so far is kept.",
}
UNEXPECTED = "an unexpected {kind}; the server's log says more"

# The player. Captions are templates for caption.js; ten states are named in states.py.
CAPTIONS = {
    "run": "The prompt has {tokens} tokens.",
    "prefill": "The language model reads the prompt once.",
    "noiseMasked": "Cycle {cycle}: {n} empty positions for the drafter to fill.",
    "noiseUniform": "Cycle {cycle}: {n} random tokens, pure noise, for the drafter to settle.",
    "denoise": "Cycle {cycle}, denoising step {step} of {steps}: {open} of {n} positions are still open.",
    "denoised": "Cycle {cycle}, denoising step {step} of {steps}: all {n} drafts are ready.",
    "verify": "Cycle {cycle}: the language model checks all {n} drafts in one pass, {ms}.",
    "accepted": "Position {position}: {token} is accepted. Coin {u} is below its keep probability {keep}.",
    "lenient": "Position {position}: {token} is accepted only thanks to leniency. Coin {u}, keep probability {keep}.",
    "rejected": "Position {position}: {token} is rejected. Coin {u} is not below its keep probability {keep}.",
    "cycle": "Cycle {cycle}: {n} drafted, {kept} accepted",
    "cycleLenient": "{lenient} of them by leniency",
    "cycleCorrection": "rejected at {position}, replaced by {token}",
    "cycleBonus": "all kept, so {token} comes as a bonus",
    "cycleSkipped": "{skipped} never examined",
    "token": "One pass of the language model gives {token}.",
    "end": {
        "eos": "The model ended its answer after {tokens} tokens.",
        "limit": "The token limit was reached after {tokens} tokens.",
        "context": "The model's context is full after {tokens} tokens.",
        "stopped": "Stopped after {tokens} tokens.",
        "error": "The run failed: {error}.",
    },
}
PLAYER = {
    "title": "Decoding, one block at a time",
    "recorded": "RECORDED",
    "live": "LIVE",
    "recordedHelp": "A run made earlier and stored with its measured times.",
    "liveHelp": "Your own run on this machine.",
    "lossless": "lossless",
    "lossy": "not lossless",
    "plain": "plain decoding, no drafter",
    "empty": "Nothing to play yet. Press Run to decode a prompt; every step appears here.",
    "setting": "{noise} noise · S = {steps} · γ = {gamma} · rule {rule}, {native}",
    "where": "{verifier} with a {drafter}, measured on {name}, threads: {threads}, {dtype}",
    "whereAlone": "{verifier} alone, measured on {name}, threads: {threads}, {dtype}",
    "ahead": "Grey text is already decoded; the player has not reached it yet.",
    "noise": "noise",
    "step": "step {step}",
    "verifyRow": "one check",
    "coinRow": "coin",
    "verdictRow": "verdict",
    "writtenRow": "written",
    "bonusColumn": "bonus",
    "bracket": "one pass of the language model over all {n} drafts · {ms}",
    "bracketWaiting": "the language model has not looked yet",
    "block": "Block of cycle {cycle}",
    "chip": "Position {position}: {token}, {word}",
    "chipEmpty": "Position {position}: {word}",
    "play": "Play",
    "pause": "Pause",
    "replay": "Replay",
    "backCycle": "Previous cycle",
    "back": "Back one step",
    "forward": "Forward one step",
    "forwardCycle": "Next cycle",
    "scrub": "Position in the run",
    "speed": "Speed",
    "follow": "Follow live",
    "save": "Save run",
    "slower": "slow motion {factor}× · {at} measured",
    "faster": "time lapse {factor}× · {at} measured",
    "clock": "{at} measured",
    "keys": "Keys",
    "legend": "What the marks mean",
    "coins": "Coin: a random number from 0 to 1, drawn once per draft (the tick). The bar is the keep probability; the draft is kept when the tick lies on it.",
}
KEYS = (
    ("Space", "play or pause"),
    ("← →", "one denoising step back or on"),
    ("Shift + ← →", "one cycle back or on"),
    ("V", "the next check"),
    ("N", "the next rejection"),
    ("Home End", "start or end of the run"),
    (", .", "slower or faster"),
    ("?", "show or hide this list"),
)
CARD = {
    "phases": {
        "run": "The language model writes one token per pass. The drafter is much smaller; its guesses can make a pass yield several.",
        "prefill": "The language model keeps what it computed about the prompt, and the drafter reads it too.",
        "denoise": "The drafter works on all positions at once. A boxed token is final; a dotted one may still change in a later step.",
        "verify": "One pass gives the language model's probabilities at every position. A coin then decides draft by draft, from the left.",
        "end": "Step back through the run, or press Run to decode your own prompt.",
    },
    "hint": "Point at, focus or tap a token to see why it was kept or refused.",
    "title": "Position {position}: {token}",
    "passed": "Kept: the coin {u} is below the keep probability {keep} = min(1, f ÷ q); passed by {margin}.",
    "lenient": "Kept by leniency: the coin {u} is below {keep}, but not below the strict {strict}. Passed by {margin}.",
    "failed": "Refused: the coin {u} is not below the keep probability {keep} = min(1, f ÷ q); missed by {margin}.",
    "unexamined": "Never examined: the examination stopped to the left of it.",
    "ready": "The language model has not judged it yet.",
    "correction": "Replaces the refused draft {token}: drawn from the rule's residual, what the language model wants more than the drafter does.",
    "bonus": "Every draft was kept, so the same pass also gave this token: drawn from the language model's own law, whatever the leniency.",
    "alone": "Nothing was drafted: one pass of the language model gave this token.",
    "fixedAt": "Took its final value at denoising step {step}.",
    "p": "p, verifier",
    "q": "q, drafter",
    "f": "f, target",
    "tv": "TV(p, q)",
    "residual": "residual",
    "pHelp": "Probability of this token under the language model.",
    "qHelp": "Probability of this token under the law the drafter really drew from.",
    "fHelp": "What the acceptance rule compares u·q with: the draft is kept when u·q is below f. Equal to p when lossless.",
    "tvHelp": "How far apart the two laws are at this position, from 0 to 1.",
    "residualHelp": "Probability under the law the replacement was drawn from.",
    "topP": "Language model's choices",
    "topQ": "Drafter's choices",
    "none": "none recorded",
}

# Numbers: key -> (label, unit, mark, definition).
NUMBERS = {
    "tokens": ("Tokens", "", "measured", "New tokens written so far."),
    "tokens_per_second": (
        "Speed",
        "tokens/s",
        "measured",
        "New tokens ÷ time for drafting, checking and examining; reading the prompt is not counted.",
    ),
    "tau": ("Tokens per cycle τ", "", "derived", "Tokens written ÷ cycles; counts replacements and bonuses, so from 1 to γ + 1."),
    "draft_ms": ("Draft", "ms/cycle", "measured", "All denoising steps of a block, mean over cycles."),
    "verify_ms": ("Check", "ms/cycle", "measured", "The one pass of the language model over the block, mean over cycles."),
    "examine_ms": ("Examine", "ms/cycle", "measured", "Flipping the coins and drawing the last token, mean over cycles."),
    "lenient": ("Kept by leniency", "", "measured", "Drafts that the same coins would have refused at λ = 0."),
    "prefill_ms": ("Prompt", "ms", "measured", "Reading the prompt, once."),
}
RUN_NAME = "{noise}, S\u00a0=\u00a0{steps}, {rule}, {native}, {proposal}: {law}"
PLAIN_NAME = "without drafter"
TABLE = {
    "title": "Numbers",
    "before": "previous run: {name}",
    "now": "this run: {name}",
    "empty": "The numbers of a run appear here.",
    "position": "Position",
    "acceptance": "Acceptance",
    "survival": "Survival",
    "definitions": "Acceptance: accepted at this position ÷ examined at this position; the whisker is a Wilson 95 % interval. "
    "Survival: blocks whose drafts were all kept up to this position ÷ blocks drafted this far. Both derived.",
    "counts": "{rate} ({low}–{high}) · {accepted} of {examined}",
    "unexamined": "never examined",
    "positions": "How drafts fare by position",
}
NO_RECORDING = "No recorded run is stored here."
RECORDING_BROKEN = "The recorded run cannot be shown: {error}"

# ── Theory view ──────────────────────────────────────────────────────────────────────────────────────────────────────
THEORY = {
    "title": "One token, exactly",
    "intro": "The **drafter** offers a token from its law q; the **language model** would draw from its own law p. The rule decides which "
    "offers are kept and what replaces the others. Change the laws, the rule or the leniency and watch where the probability goes. "
    "Nothing here is simulated: every number is computed from the laws by the code that decodes.",
    # ways to get laws
    "presets": {
        "agree": "They agree",
        "disagree": "They disagree",
        "sure": "The drafter is too sure",
        "disjoint": "They share no token",
        "missing": "The drafter lacks half the tokens",
    },
    "own": "Type, draw or take laws",
    "p": ("p, the language model", "2 to 8 numbers, for example 0.5 0.3 0.2; divided by their sum."),
    "q": ("q, the drafter", "As many numbers as p."),
    "use": "Use these numbers",
    "how_many": "number of tokens",
    "n": ("Tokens", "From 2 to 8."),
    "seed": "seed",
    "seed_box": ("Seed", "The same seed gives the same laws."),
    "random": "Random laws",
    "cycle": ("Cycle", "Of the run on the stage. 0: where a draft was first refused."),
    "position": ("Position in the block", "Of a draft that was examined. 0: any."),
    "take": "Take from the run",
    "rule": ("Acceptance rule", "Decides which drafts are kept, and from what a refused one is replaced."),
    "leniency": ("Leniency λ", "0 is strict; towards 1 the rule keeps more drafts."),
    # answers
    "started": "Drag a bar, or focus it and use the arrow keys; the other tokens share what is left.",
    "divided": "The numbers were divided by their sums (p: {p}, q: {q}).",
    "used": "Using the numbers as typed.",
    "drawn": "Random laws over {n} tokens, seed {seed}.",
    "set": "{law} of “{token}” is now {value}; the other tokens share the rest.",
    "taken": "Cycle {cycle}, position {position}: “{token}” was accepted. TV(p, q) over the whole vocabulary is {tv}; the two rest bars keep it.",
    "taken_refused": "Cycle {cycle}, position {position}: “{token}” was rejected. TV(p, q) over the whole vocabulary is {tv}; the two rest bars keep it.",
    "rest": "all others",
    "rest_wanted": "others p wants more",
    # what went wrong, and what to do
    "count": "There are {n} numbers; give from {low} to {high}.",
    "lengths": "p has {p} numbers and q has {q}; give both as many.",
    "finite": "{law} contains a value that is not a finite number; replace it.",
    "negative": "{law} contains a negative number; probabilities are 0 or more.",
    "zero": "All numbers of {law} are 0; make at least one larger.",
    "empty": "{law} is empty; type {low} to {high} numbers, for example 0.5 0.3 0.2.",
    "too_long": "{law} is far too long; type {low} to {high} numbers.",
    "no_number": "“{word}” in {law} is not a number; write numbers with a point, separated by spaces, for example 0.5 0.3 0.2.",
    "whole": "The {what} must be a whole number from {low} to {high}.",
    "share": "{law} of “{token}” must be a number from 0 to 1.",
    "unreadable": "These laws cannot be read; choose an example or type numbers.",
    "no_position": "There is no examined draft at this place of the run; choose another cycle and position, or let the run finish first.",
    "bad_rule": "Choose a rule, and a leniency from 0 to 1.",
    # what the rules make of them
    "setting": "{rule}, {native}. {help}",
    "exact": "Exact: the token that comes out has the language model's own law. {accept} of all drafts are kept.",
    "biased": "Leniency keeps {more} more of the drafts ({accept} in all). The price: the emitted law is {bias} away from the language model's; "
    "“{up}” comes out {up_by} more often and “{down}” {down_by} less often.",
    "worse": "Here the rule keeps {more} less of the drafts than the strict rule ({accept} in all), and still the emitted law is {bias} away from "
    "the language model's; “{up}” comes out {up_by} more often and “{down}” {down_by} less often.",
    "on_line": "On the line for these laws, at every leniency: {rules}.",
    "off_line": "Below it: {rules}. For the same bias, a rule on the line keeps that much more.",
    "off_by": "{rule} (by up to {by})",
    "none_off": "No rule falls below it here.",
}
THEORY_LAWS = {
    "opening": "Computing the laws …",
    "picture": "Where the probability goes",
    "pictureHelp": "Left bar of a token: what is drafted. Right bar: what comes out. Refused orange on the left comes back as yellow replacements on the right, equally much in all.",
    "pictureAlt": "Bars of {n} tokens: drafted and emitted probability; the table below has the same numbers.",
    "firm": "kept",
    "lenient": "kept by leniency",
    "refused": "refused",
    "correction": "replacement",
    "tick": "p, what the language model wants",
    "drafted": "draft",
    "emitted": "out",
    "table": "The laws, token by token",
    "token": "Token",
    "columns": {
        "p": ("p", "language model"),
        "q": ("q", "drafter"),
        "f": ("f", "what the rule aims at"),
        "keep": ("keep", "min(1, f ÷ q)"),
        "residual": ("residual", "law of a replacement"),
        "emitted": ("o", "law that comes out"),
    },
    "edit": "{law} of {token}",
    "lost": "The server did not answer; move a bar again in a moment.",
    "never": "not drafted",
    "infinite": "∞",
    "facts": {
        "accept": ("Acceptance", "Σ min(q, f): share of drafts that are kept. Derived."),
        "strict": ("At λ = 0", "Σ min(p, q) = 1 − TV(p, q): the same for every rule when strict. Derived."),
        "tv": ("TV(p, q)", "½ Σ |p − q|: how far apart the two laws are. Derived."),
        "bias": ("Bias TV(o, p)", "How far the law that comes out is from the language model's; 0 is lossless. Derived."),
        "kl": ("KL(o‖p)", "Relative entropy in nats; ∞ if a token comes out that the language model would never write. Derived."),
        "below": ("Below the line", "Acceptance that Theorem 1 would allow at this bias, less the acceptance reached. Derived."),
    },
    "whole": "A summary of the recorded position: acceptance under Lossless and TV interpolation is exact, under other rules it is that of these bars.",
}
THEORY_CHART = {
    "title": "What a rule can buy: acceptance against bias",
    "help": "Theorem 1: P(reject) + TV(o, p) ≥ TV(p, q) for every rule whatsoever. So acceptance is at most 1 − TV(p, q) + TV(o, p): the line. "
    "Large marks: each rule at the leniency set above. Small marks: the same rule from strict to accepting all. Computed.",
    "alt": "Acceptance against bias for every rule. The table below has the same numbers.",
    "x": "bias TV(o, p)",
    "y": "acceptance",
    "line": "Theorem 1: no rule gets here",
    "table": "The same for every rule, as a table",
    "columns": ("Rule", "Now", "Acceptance", "Bias TV(o, p)", "Below the line"),
    "choose": "Use {rule} in the picture above",
    "zero": "on it",
}
THEORY_EXACT = {
    "title": "When is a multi-step draft lossless? Proposition 2, enumerated",
    "help": "Every way a small table model's drafter can draft a block, and every way the rule can examine it, each with its probability. "
    "Lossless means: the tokens have exactly the verifier's own joint law. No sampling, so 0 is 0 up to rounding.",
    "vocabulary": ("Vocabulary V", "Tokens of the table models."),
    "gamma": ("Block length γ", "Drafted tokens."),
    "steps": ("Denoising steps S", "Passes per block."),
    "noise": ("Noise", ""),
    "both": "Both",
    "proposal": ("Proposal", "All of them, or one: then larger numbers fit."),
    "all": "All",
    "seed": ("Table number", "Other tables, other laws, from 0 to 999."),
    "run": "Enumerate",
    "running": "Enumerating every outcome …",
    "failed": "The server did not take the question: it is busy. Nothing is lost; try again in a moment.",
    "done": "{rows} proposals enumerated in {ms} ms of computing, {passes} denoising passes at most. The lenient columns use {rule}, {native}.",
    "empty": "Press Enumerate: the table is computed while you wait, in two seconds at most.",
    "yes": "✓ lossless",
    "no": "≈ not lossless",
    "lucky": "≈ not in general (0 for this table)",
    "columns": (
        ("Noise", ""),
        ("Proposal", ""),
        ("Strict rule", "exactly lossless?"),
        ("TV", "from the verifier's joint law of γ + 1 tokens"),
        ("Accepted", "expected drafts kept of γ, strict"),
        ("TV, lenient", "with the rule above"),
        ("Accepted, lenient", "with the rule above"),
        ("Time", "ms, measured"),
    ),
    "note": "TV and accepted drafts are computed, the time is measured. A proposal that is not lossless can still show 0 for a particular table or size: "
    "with one step, or where the first position happens to come first. Table 12 comes first because its bias shows with either noise.",
    "region": "Table of Proposition 2",
}
