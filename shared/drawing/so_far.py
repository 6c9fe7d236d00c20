"""The model so far: one small model of the next word grows from chapter to chapter, and each chapter shows how well it writes by now."""

from collections.abc import Collection, Mapping

import pandas as pd
from IPython.display import display

from shared import evidence
from shared.data import grammar, next_word
from shared.drawing import plots

# Each stage: the folder of its chapter and its name, in the order in which the model grows.
STAGES = (
    ("02_models", "a table"),
    ("05_embeddings", "three words, as vectors"),
    ("06_attention", "one head"),
    ("06_attention", "four heads"),
    ("07_feed_forward", "residual connection"),
    ("07_feed_forward", "feed-forward network"),
    ("08_encoder", "a block"),
    ("08_encoder", "two blocks"),
    ("09_training", "two blocks, by AdamW"),
    ("14_gpt", "GPT"),
    ("18_modern_decoder", "modern decoder"),
)
GAP, GRAMMATICAL = (
    "nats a word above the best possible",
    "grammatical sentences, of 1000",
)  # what is claimed of each stage
_SHOWN = 5  # sentences


def claim(stage: str, what: str) -> str:
    """The label under which a stage's stored values of GAP or GRAMMATICAL are found."""
    return f"{stage}: {what}"


def report(stage: str, model: next_word.Model, sees: Collection[int] = ()) -> next_word.Score:
    """Show five sentences that the model writes, and how good it is beside the earlier stages and the best possible.

    Args:
        stage: its name in STAGES.
        model: a function of tokens (batch, length) that returns logits.
        sees: 1 to 4: the exact best of all models that see so many words gets a row, too.

    Returns:
        Its score, which holds what it wrote.
    """
    names = [name for _, name in STAGES]
    if stage not in names:
        raise ValueError(f"stage={stage!r}: expected one of {', '.join(names)}")
    score = next_word.score(model)
    mistakes = [next_word.first_mistake(sentence) for sentence in score.written[:_SHOWN]]
    marks = ["none" if each is None else each for each in mistakes]
    display(plots.text_lines(score.written[:_SHOWN], marks=marks, mark_name="wrong word"))
    display(_table(stage, score, sees))
    return score


def retrained(scores: Mapping[str, next_word.Score]) -> pd.DataFrame:
    """Each stage as its own chapter left it, the mean of the stored runs, beside how good it is after another training.

    Args:
        scores: the name of a stage, or of a model that no chapter has trained before -> its score now.
    """
    folders = {name: folder for folder, name in STAGES}
    rows = {}
    for name, score in scores.items():
        before = ["", ""]
        if name in folders:
            gap, right = (
                evidence.stored_values(claim(name, what), f"../{folders[name]}") for what in (GAP, GRAMMATICAL)
            )
            before = [f"{gap.mean():.3f}", f"{right.mean():.0f}"]
        rows[name] = [*before, f"{score.gap:.3f}", f"{score.grammatical}"]
    columns = pd.MultiIndex.from_product(
        [["in its chapter, mean of stored runs", "trained anew, measured here"], [GAP, GRAMMATICAL]]
    )
    return pd.DataFrame(list(rows.values()), list(rows), columns)


def _table(stage: str, score: next_word.Score, sees: Collection[int]) -> pd.DataFrame:
    """A row for each stage up to this one, for its run here, and for what is possible."""
    rows = {}
    for folder, name in STAGES:
        runs = [evidence.stored_values(claim(name, what), f"../{folder}") for what in (GAP, GRAMMATICAL)]
        if len(runs[0]):
            rows[f"{name}, mean of {len(runs[0])} runs"] = [values.mean() for values in runs]
        if name == stage:
            break
    rows[f"{stage}, this run"] = [score.gap, score.grammatical]
    for number in sees:
        least, share = grammar.best_that_sees(number)
        words = "1 word" if number == 1 else f"{number} words"
        rows[f"the best that sees {words}"] = [least - grammar.entropy_per_token(), 1000 * share]
    rows["the best possible"] = [0, 1000]
    cells = [[f"{gap:.3f}", f"{number:.0f}"] for gap, number in rows.values()]
    return pd.DataFrame(cells, list(rows), [GAP, GRAMMATICAL]).rename_axis(
        columns="models: measured here; the best: computed"
    )
