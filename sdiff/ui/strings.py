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

# ═══ The frontier view ═══════════════════════════════════════════════════════════════════════════════════════════════════
FRONTIER_INTRO = (
    "Each point is one setting, measured on the same problems. Further right is faster, further up is better; nothing beats the points on a "
    "line at both. Pick a point to set the controls and see its recorded decode."
)
FRONTIER_CONTROLS = {
    "task": ("Task", "What was asked."),
    "noise": ("Noise", "Plain decoding and one step belong to both."),
    "rule": ("Acceptance rule", "λ = 0 belongs to every rule."),
    "place": ("Measured on", "Speeds of one machine; quality does not depend on it."),
    "aim": ("What I need", "The question that is answered beside the chart."),
    "bound": ("How much", "Points, a quality from 0 to 1, or times plain decoding."),
    "minutes": ("Minutes", "The longest it may take; it goes on from what is there."),
}
FRONTIER_TASKS = {"reasoning": "Reasoning", "coding": "Coding", "chat": "Chat"}
FRONTIER_NOISES = {"": "Both", "masked": "Masked", "uniform": "Uniform"}
FRONTIER_EVERYTHING = "Everything measured"
FRONTIER_AIMS = {"near": "quality within … points of lossless", "quality": "quality of at least …", "speed": "speed of at least … × plain"}
FRONTIER_PLACE = "{name}, threads: {threads}, {dtype} ({date})"
FRONTIER_PLACE_OWN = "this machine: {name}, threads: {threads}, {dtype} ({date})"
FRONTIER_NO_PLACE = "nothing measured"
FRONTIER_MISSING = {
    "nothing": "Nothing has been measured with these models yet, so there is no frontier to draw. “python -m sdiff bench” measures it; its rows "
    "appear here as they come. Your own finished runs are placed by speed meanwhile.",
    "other": "What is stored here was measured with other weights than those in use, so it is not shown. “python -m sdiff bench” measures these.",
    "task": "Nothing has been measured for {task} on this machine yet. There is something for: {tasks}.",
    "quality": "On this machine only speeds have been measured for {task}, and no quality is stored for it: the settings stand in the strip below the chart.",
}
FRONTIER_NO_OTHER = "nothing else"
FRONTIER_BROKEN = "The frontier cannot be shown: {error}"
FRONTIER_OWN_BROKEN = "This machine's own measurements are left out: {error}"
FRONTIER_LEFT_OUT = "Left out, since their speed or quality is no number: {n} of the measured settings."
FRONTIER_WHERE = (
    "Speed: {name} ({device}), threads: {threads}, {dtype}, torch {torch}, {date}, load average at most {load}; {timed} timed prompts per setting, each "
    "ratio to plain decoding of the same prompt in the same run, the median of the ratios."
)
FRONTIER_WHERE_QUALITY = "Quality: {n} problems per setting, temperature {temperature}, seed {seed}, decoded on {name}, {date}."
FRONTIER_WHERE_MODELS = "Weights, by the beginnings of their hashes: verifier {verifier}, adapter {adapter}, drafter {drafter}."
FRONTIER_JOINT = (
    "{noise}: {joint} is {ratio}× ({low} – {high}) as fast as {single}, quality {difference}: picked on half of the problems as the largest gain at no worse "
    "quality, compared on the other half."
)
FRONTIER_ASK = {
    "number": "Type how much you need as a number; then the answer stands here.",
    "range": "A quality lies between 0 and 1; {bound} does not.",
    "none": "There are no measured settings to choose from here.",
}
FRONTIER_PICK = {
    "unknown": "That setting is not among the measured ones any more; the chart was drawn again.",
    "shown": "The controls are set to {name}; its recorded decode plays.",
    "silent": "The controls are set to {name}. No decode of it is recorded: press Run to see one.",
    "plain": "Plain decoding has no settings; its recorded decode plays.",
    "plainSilent": "Plain decoding has no settings, and no decode of it is recorded: press “Run without drafter” to see one.",
}
FRONTIER = {
    "title": "Speed against quality",
    "reading": "Reading the measurements …",
    "noChart": "The chart could not be drawn in this browser; the table holds the same points.",
    "picture": "Chart of {n} settings of {task}: speed from {slow} to {fast} times plain decoding, quality from {low} to {high}. The table below holds the same points.",
    "speedAxis": "speed, × plain decoding",
    "accuracy": "accuracy",
    "closeness": "1 − mean TV from the model's own law",
    "plain": "plain",
    "bound": "needed",
    "take": "take",
    "strip": "no quality",
    "fronts": {"both": "S and λ free", "leniency": "S = 1 only", "steps": "λ = 0 only"},
    "gain": {
        "leniency": "Both knobs together cover {ratio}× ({low} – {high}) the area that leniency alone covers at S = 1",
        "steps": "{ratio}× ({low} – {high}) that of steps alone at λ = 0",
    },
    "noGain": "Too little is measured here for an area to compare.",
    "gainHelp": "Area: what a front covers above the worst quality shown and beyond plain speed. With both knobs it is never smaller, so look at how far above 1 it "
    "is; in brackets the 95 % interval over problems. Derived.",
    "key": {
        "masked": "masked noise",
        "uniform": "uniform noise",
        "plain": "plain decoding",
        "number": "number: steps S, on a front",
        "strict": "λ = 0",
        "lenient": "λ = 1",
        "mine": "this machine",
        "own": "your runs",
        "bars": "bars: 95 % intervals",
    },
    "hover": "{name}\n{speed} × plain · {quality}\n{chance}",
    "chance": "on the front in {share} of the draws",
    "starHover": "your run: {name}\n{speed} × your plain run, {rate} tokens/s, {tokens} tokens\n{quality}",
    "aloneHover": "{name}\n{speed} × plain\nno quality is measured for it",
    "storedQuality": "quality of this setting as measured: {quality}",
    "noQuality": "its quality is not measured",
    "lossless": "lossless",
    "ownNote": "Your runs are placed by their speed beside your last plain run of the same prompt, at the measured quality of the same setting if there is one, else in the "
    "strip. Their bars resample the cycles of these two runs: other prompts can differ more.",
    "unpaired": "{n} of your runs for this task cannot be placed yet: press “Run without drafter” with the same prompt.",
    "elsewhere": "{n} of your runs belong to other tasks, by the words of their prompts.",
    "answer": {
        "title": "What to take",
        "best": "Take",
        "runner": "Next best",
        "unsure": "Its interval also holds values that miss what you need.",
        "nothing": "Nothing measured meets that. The nearest is",
        "why": "Why not its neighbours",
        "needQuality": "for a quality of at least {bound}",
        "needSpeed": "for a speed of at least {bound}×",
    },
    "table": {
        "title": "The points as a table",
        "all": "all settings, not only those on a front",
        "setting": "Setting",
        "speed": "Speed, × plain",
        "n": "n",
        "chance": "On the front",
        "chanceHelp": "Share of the bootstrap draws, over problems, in which nothing beats the point at both. Derived.",
        "fronts": "Fronts",
        "pick": "Set {name} and play its recorded decode",
        "counts": "{n} of {all} settings shown",
    },
    "once": "{timed} timed, no interval",
    "reset": "Whole chart",
    "csv": "Download CSV",
    "where": "What was measured where",
    "definitions": "Accuracy: share of right answers, with the Wilson 95 % interval of n problems; lossless settings follow one law and so share one accuracy, that of all "
    "their runs, its interval by bootstrap over problems. Chat is not graded: there quality is 1 − the mean TV distance of what was written from the model's own law. "
    "Speed: median over prompts of tokens/s ÷ tokens/s of plain decoding of the same prompt in the same run. Both measured.",
}
MEASURE = {
    "title": "Measure on this machine",
    "about": "Times a coarse grid of the chosen task on this computer and lays it over the chart; the quality stays that of the stored rows, which no machine changes. "
    "Close other programs, and leave this page alone meanwhile: whatever runs beside it slows it down.",
    "start": "Measure",
    "stop": "Stop measuring",
    "starting": "Getting ready to measure.",
    "waiting": "Waiting to measure: {ahead} ahead in the line.",
    "running": "Measuring {task}: {runs} of at most {planned} runs timed, at most {left} left.",
    "done": "Measured: everything of the coarse grid for {task} is timed, {runs} runs in this go.",
    "timeUp": "The time is up after {runs} runs of {task}. What is finished is kept; press Measure to go on from there.",
    "stopped": "Stopped after {runs} runs. What was finished is kept.",
    "leftOut": " {n} runs failed and are left out.",
    "failed": "Measuring failed: {error}",
    "busy": "A measurement is already running.",
    "minutes": "Minutes must be a number from 1 to 60.",
}
