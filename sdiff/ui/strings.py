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
VIEWS = {"live": "Live", "race": "Race", "frontier": "Frontier", "theory": "Theory", "learn": "Learn"}

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
    "rejection": "Next rejection",
    "still": "Less motion",
    "present": "Presenter",
    "presentEnd": "Leave presenter",
    "credit": "{kept} of {fixed} kept",
    "creditHelp": "{fixed} drafts took their final value in this step; {kept} of them were kept.",
    "lesson": "Save as lesson",
    "openRun": "Open a run:",
    "opened": "OPENED",
    "openedHelp": "A run from a file; its times were measured where it was made.",
    "open": {
        "notJson": "This file is not JSON, so it is not a run. Choose a file made with “Save run” or `python -m sdiff decode … --json`.",
        "noEvents": "This file holds no list of events, so it is not a run. Choose a file made with “Save run”.",
        "schema": "This run has schema {schema}; this version reads schema 1. Save it again with the version that made it.",
        "broken": "This file is not a whole run: an event in it is broken. The run on the stage is kept; save the other one again where it was made.",
        "tooLarge": "This file is larger than 20 MB, so it is not a run.",
        "noServer": "The lesson cannot be made now: the server does not answer. Try again in a moment; the run is kept.",
    },
    "pin": {
        "on": "Pin this run",
        "off": "Unpin",
        "title": "Pinned run",
        "rule": "In step with the stage: the same cycle, and in it the same phase and step, or the last one there is. The runs' cycles write different numbers of tokens.",
    },
    "predictOn": "Predict first",
    "predict": {
        "ask": "Before the coins fall: how many of these {n} drafts will be kept?",
        "guess": "{kept} kept",
        "wait": "Play on to the next check; the player stops there and asks.",
        "guessed": "You said {guess}. The coins fall now.",
        "revealed": "You said {guess}; {kept} were kept.",
        "score": "After {n} guesses you are off by {off} on average; always guessing the mean so far would be off by {blind}.",
    },
    "whatIfLabel": "Leniency after the fact",
    "whatIfGo": "Show the first flip",
    "whatIfReset": "As it was",
    "whatIf": {
        "own": "Move this to judge the recorded coins by another leniency.",
        "same": "No verdict would fall otherwise: the run would be the same to its end.",
        "flips": "First flip: cycle {cycle}, position {position}, {token} would be {now} (its coin flips at λ = {flip}). Up to there the run would be "
        "the same; behind it, another. Coin by coin, {count} of {of} verdicts fall otherwise.",
        "kept": "kept",
        "refused": "refused",
        "unable": "For this rule a verdict's own numbers do not tell at which leniency it would flip.",
    },
    "cycleTable": "This cycle as a table",
    "table": {
        "columns": ["Position", "Token", "Final at step", "p", "q", "f", "Coin u", "Keep prob.", "Flips at λ", "Verdict"],
        "never": "never",
    },
    "keysOn": "These keys work anywhere on the page",
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
    ("R", "reveal: to the end of this cycle"),
    ("P", "presenter: large, without controls; Esc leaves"),
    ("← → on a token", "the token beside it"),
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
BREAK_EVEN = {
    "helps": "Speculation helps: a cycle takes as long as {cost:.2f} plainly decoded tokens and writes {tau:.2f}, so about {ratio:.2f} times the speed.",
    "even": "Break-even: a cycle takes as long as {cost:.2f} plainly decoded tokens and writes {tau:.2f}.",
    "hurts": "Speculation is not helping here: a cycle takes as long as {cost:.2f} plainly decoded tokens but writes only {tau:.2f}, "
    "so about {ratio:.2f} times the speed.",
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
    "breakEven": "Does it pay?",
    "breakEvenNote": "The bar is what a cycle writes, the mark what it costs (draft, check and examination), both in tokens. Derived; "
    "plain decoding was timed once when the models were loaded. “Run without drafter” and the race compare whole runs.",
    "positions": "How drafts fare by position",
}
NO_RECORDING = "No recorded run is stored here."
RECORDING_BROKEN = "The recorded run cannot be shown: {error}"

# The race.
RACE_RUN = "Race my settings"
RACE_LANE = "Lane {number} of 3, {lane}: {says}"
RACE = {
    "title": "Race: is speculation faster here?",
    "about": "The same prompt three times, one run after the other on the same machine, then shown side by side on one clock of measured times. "
    "Reading the prompt is the same work in all three and is left out.",
    "empty": "No race yet. Press “Race my settings”: three runs are made, then they start together.",
    "lanes": {"plain": "Plain decoding", "strict": "One denoising step, lossless", "chosen": "Your settings"},
    "count": "{tokens} tokens, {speed} tokens/s",
    "through": "{tokens} tokens in {seconds}, {speed} tokens/s: done",
    "play": "Start",
    "pause": "Pause",
    "replay": "Again",
    "scrub": "Time in the race",
    "speed": "Speed of the clock",
    "slow": "{at} measured · slow motion {factor}×",
    "fast": "{at} measured · time lapse {factor}×",
    "trueTime": "{at} measured · true time",
    "columns": ["Lane", "First {n} tokens", "Against plain", "Tokens per pass", "Tokens in all", "Time in all"],
    "helps": "Over the first {n} tokens your settings are {ratio} times as fast as plain decoding.",
    "even": "Over the first {n} tokens your settings and plain decoding take about the same time.",
    "hurts": "Speculation is not helping here: over the first {n} tokens your settings take {inverse} times as long as plain decoding.",
    "note": "Times: measured, one run each, so a few percent are chance. Within a cycle tokens are spread evenly when the first tokens are compared. "
    "The texts differ because coins differ: a lossless setting keeps the law, not the words.",
}

# Links.
LINK_COPY = "Link to this view"
LINK_MAKE = "Make the link"
LINK_BOX = "Copy this address; it holds prompt, settings, view and cycle."
LINK_UNKNOWN = "The link's {name} “{given}” is not known here and was left out."
LINK_CLAMPED = "The link's {name} {given} is out of range; {used} is used."
LINK_CUT = "The link's prompt was cut to {most:,} characters."
LINK_MORE = "More of the link was left out."
LINK_RUN = "This link brings its own settings: press Run; the same seed and settings give the same run."

# The lesson in steps; `check` names what is looked for in tour.js.
TOUR = {
    "open": "Lesson in 8 steps",
    "close": "Close the lesson",
    "title": "Step {at} of {of}: {name}",
    "back": "Back",
    "next": "Next step",
    "skip": "Skip this step",
    "mark": "✓",
    "stepDone": "step {n}, done",
    "stepOpen": "step {n}, not done yet",
    "steps": [
        {
            "check": "verify",
            "name": "one pass checks the whole block",
            "text": "Press V, or step forward until the bracket under the drafts is filled in.",
            "learnt": "The language model looked at all drafts in one pass. Writing them one by one would have taken one pass each.",
        },
        {
            "check": "rejection",
            "name": "find a rejection",
            "text": "Press N or “Next rejection” until a draft is struck out.",
            "learnt": "The examination runs from the left and stops at the first refusal; what stands right of it is never examined.",
        },
        {
            "check": "why",
            "name": "why was it refused?",
            "text": "Point at the struck-out token, or move the focus to it. Compare its p and q, and where the coin lies.",
            "learnt": "The drafter wanted this token more than the language model does: it is kept with probability p ÷ q only, and the coin was above that.",
        },
        {
            "check": "predict",
            "name": "predict, then reveal",
            "text": "Tick “Predict first”, press Play, and say three times how many drafts will be kept.",
            "learnt": "Early positions live longer than late ones: behind a first refusal everything is lost.",
        },
        {
            "check": "flip",
            "name": "turn the leniency, on the same coins",
            "text": "Move “Leniency after the fact” until the page names a verdict that flips.",
            "learnt": "Leniency moves the line, not the coin. Up to the first flip the run would be the same; behind it, another text.",
        },
        {
            "check": "strict",
            "name": "a strict run of your own",
            "text": "Set the leniency to 0 and press Run. (No live runs here? Skip.)",
            "learnt": "The badge says lossless: the text follows the language model's own law, however good or bad the drafts are.",
        },
        {
            "check": "lenient",
            "name": "the same prompt, leniently",
            "text": "Set the leniency to 0.6 and press Run again; compare tokens per cycle and read the text.",
            "learnt": "More drafts are kept and a cycle writes more tokens; what that costs in quality, one text cannot tell. The frontier measures it.",
        },
        {
            "check": "race",
            "name": "is it faster?",
            "text": "Open the view Race, press “Race my settings”, and watch to the end.",
            "learnt": "More tokens per pass only help if drafting is cheap: the time of a cycle counts, not its tokens alone.",
        },
    ],
}
NOTES = """
## For teachers

**The idea in two sentences.** A large language model writes one token per pass, and a pass costs nearly the same for one token as for nine. So a small, fast
model drafts eight tokens at once, the large one checks all of them in a single pass, and an ingenious coin flip makes sure that the text still follows
the large model's own law.

**A lesson of 20 minutes.** Open the presenter (P). Play one cycle and stop at the bracket: *one* pass. Let the class predict how many drafts survive
(tick “Predict first”), three times, and compare with the score. Look at one rejection: p, q and the coin. Then turn “Leniency after the fact” and let
them find the first flip. End with the race: more tokens per pass is not yet faster.

**Without a network.** The first screen plays a stored run; “Save as lesson” writes a single file that plays anywhere. A link made under “Link to this view” brings the
class to the same prompt, settings and cycle; add `&hide=seed,rule` to leave controls out and `&ask=How many survive?` to pose a question.

**What students often believe, and what is true.**

| belief | what the stage shows |
|---|---|
| Every draft right of a rejection was wrong. | It was never examined. |
| Lossless means the same words as without a drafter. | It means the same *law*: other coins give other words. |
| More denoising steps are always better. | They cost time in every cycle; the race shows where that stops paying. |
| Leniency makes the drafter better. | It makes the examiner milder; the drafts are the same. |
| A rejected token was impossible. | Often it was merely likelier for the drafter than for the language model. |
"""

# Stored runs and the gallery. Figures: recordings.figures, from the run itself.
RECORDING_CHOICE = ("Recorded run", "Plays at once and sets the controls to its settings.")
RECORDINGS = {"01-masked": "Code", "02-uniform": "Word problem", "03-prose": "Story"}
GALLERY_TITLE = "## When it goes wrong\n\nReal runs, each with the number that shows what happened. Press one to see it on the stage."
GALLERY_EMPTY = "## When it goes wrong\n\nNo failures are stored here. `python -m sdiff record` makes them with the bundled models."
GALLERY_PLAY = "Show it: {title}"
GALLERY = {
    "late": (
        "Late positions die",
        "Prose, one denoising step: {first:.0%} of the blocks keep their first draft, {last:.0%} keep all {positions}. "
        "Every position is a guess that does not know the guesses to its left.",
    ),
    "lenient": (
        "Too lenient",
        "Leniency 1 keeps every draft, {lenient} of {kept} only thanks to leniency: {tau:.1f} tokens per cycle, and nobody checks them. Read the sums.",
    ),
    "steps": (
        "Too many steps",
        "Eight denoising steps take {draft_ms:.0f} ms per cycle, the check {verify_ms:.0f} ms. The drafts are better, {tau:.1f} tokens per cycle, "
        "but a cycle costs too much: about {ratio:.2f} times the speed of plain decoding.",
    ),
    "slower": (
        "Slower than no drafter",
        "Prose with eight steps: {tau:.1f} tokens per cycle of {cycle_ms:.0f} ms; plain decoding writes one in {plain_ms:.0f} ms. "
        "That is about {ratio:.2f} times its speed.",
    ),
}
