"""The places where a port leaves its reference.

1. Both models are called with the same inputs, and every value that a layer reads or returns is kept.
2. A value of the port agrees if the reference has the same numbers somewhere, in whatever order of axes.
3. A value without a twin is no mistake if what depends on it agrees nevertheless: the port is only built in another way. Noise in
   its place shows whether anything that agrees depends on it.
4. Of the first layers that are left, each is asked by itself: does a convention make a value of the reference out of what it
   reads? That value is put in the place of the port's.
5. Else, from the first value that is left on, we put values of the reference in the port's place, and call it again. Where what
   follows agrees then, is the place. The value stays there, and the search goes on behind it, so several mistakes are found one
   by one.
"""

import itertools
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shared.conformance.doctor import catalogue
from shared.conformance.doctor.attention import bases_of
from shared.conformance.doctor.layers import all_weights, in_use
from shared.conformance.doctor.matching import Pool, apart, laid_out, off, tells
from shared.conformance.doctor.settings import Known
from shared.conformance.doctor.tracing import Call, Place, Trace, trace
from shared.evidence import short

# A library that computes a part in float32 agrees in float64 to seven digits: worth a note, and no mistake.
FLOAT32_INSIDE = 3e-7
_MOST = 5  # partings that are listed
_ALONE = 8  # layers, from the first value without a twin on, that are asked by themselves
_TRIED = 30  # values of the reference that are tried in one place
_NEAR = 2e-2  # one that is as near as this is probably meant


@dataclass
class Parting:
    """One place where the port leaves the reference.

    Args:
        where: the path of a layer of the port, or that before which the port's own code parts.
        difference: how far the port's value is from the reference's, relative to the largest number.
        convention: what the port does there, and what the reference; empty if nothing in the catalogue explains it.
        healed: how many later values agree with the reference's value in its place, of how many.
    """

    where: str
    difference: float
    convention: str
    healed: tuple[int, int]

    def __str__(self) -> str:
        named = self.convention or "no convention of the catalogue explains it"
        return f"they part in {self.where}, by {short(self.difference)}: {named}"


@dataclass
class Diagnosis:
    """What was found: `ok` if the outputs agree and no place was found; never that two models are the same."""

    ok: bool
    sentence: str
    partings: list[Parting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *map(str, self.partings), *self.notes])

    def __str__(self) -> str:
        lines = repr(self).splitlines()
        return "\n".join(textwrap.fill(each, 84, subsequent_indent="  ", break_long_words=False) for each in lines)


def where_they_part(
    reference: Any,
    port: Any,
    *inputs: np.ndarray,
    call_reference: Callable[[Any], Any] | None = None,
    call_port: Callable[[Any], Any] | None = None,
) -> Diagnosis:
    """Say in which layers a port first differs from its reference, and by which convention.

    Args:
        reference, port: models of PyTorch or Keras, in evaluation mode, with the weights already carried over; random ones show
            more than trained ones (`randomize`), and float64 more than float32.
        inputs: arrays of NumPy, by position, for both. Let all their sizes differ, and those of the models.
        call_reference, call_port: how a model is called, if not by these inputs.

    Raises:
        TypeError: if one is neither PyTorch's nor Keras'.
        ValueError: if a model is random, or compiled, or if most of the port's weights are in no weight of the reference.
    """
    search = _Search(reference, port, inputs, call_reference, call_port)
    return search.run()


class _Search:
    """The steps of `where_they_part` on one pair of models."""

    def __init__(self, reference: Any, port: Any, inputs: tuple, call_reference: Any, call_port: Any):
        self.port, self.inputs, self.call_port = port, inputs, call_port
        self.theirs = _twice("reference", reference, inputs, call_reference)
        self.first = _twice("port", port, inputs, call_port)
        self.pool = Pool([(time, value) for time, _, value in self.theirs.places()])
        bases = bases_of(each.layer for each in self.theirs.calls)
        self.known = Known(all_weights(reference), bases, self.pool, in_use(self.theirs), _few_digits(self.theirs))
        _check_weights(self.known.weights, all_weights(port, tables=False))
        self.outputs = Pool([(0, value) for value in self.theirs.outputs])
        kinds = {str(each.dtype) for each in [*self.theirs.outputs, *self.first.outputs] if each.dtype.kind == "f"}
        kinds |= self.known.narrow - {"float32"}
        self.floor = 1e-12 if kinds == {"float64"} else 2e-2 if kinds & {"float16", "bfloat16"} else 3e-6
        self.replaced: dict[Place, np.ndarray] = {}
        self.moved: list[np.ndarray] = []  # by how much each place was mended
        self.passed: set[Place] = set()  # without a twin, and found to be right all the same

    def traced(self, replaced: dict[Place, np.ndarray]) -> Trace:
        return trace(self.port, *self.inputs, call=self.call_port, replace=replaced)

    def tried(self, replaced: dict[Place, np.ndarray]) -> Trace | None:
        """The same with values that may not be what a layer can take; None if the port refuses them."""
        try:
            return self.traced(replaced)
        except Exception:  # noqa: BLE001 - whatever a layer raises for numbers that were not made for it
            return None

    def run(self) -> Diagnosis:
        partings: list[Parting] = []
        notes: list[str] = []
        for _ in range(4 * _MOST):
            now = self.traced(self.replaced)
            agree = self.agreement(now)
            start = self.first_open(now, agree)
            if start is None or len(partings) >= _MOST:
                break
            if self.mend_if_small(now, start, partings, notes):
                continue
            if alone := self.alone(now, agree, start[0]):
                partings.append(alone)
                continue
            found = self.healing(now, agree, start)
            if found is None:
                _, place, value = start
                difference, _ = self.pool.nearest(value)
                partings.append(Parting(said(now, place), difference, "", (0, 0)))
                break
            place, value, wanted, healed = self.where_it_began(now, found)
            self.replaced[place] = wanted
            difference = off(value, wanted)
            if self.is_echo(wanted - value):
                continue  # the same mistake, in a sum that goes past the place where it was mended
            if self.is_small(difference):
                self.record_small(now, place, value, wanted, partings, notes)
                continue
            named = ""
            for number, side, _ in dict.fromkeys((place, found[0])):
                named = named or catalogue.explain(now.calls[number], side, value, wanted, now, self.known)
            where = said(now, place)
            if named.endswith(catalogue.RESIDUAL):
                where = self.block_before(now, place, value) or where
            partings.append(Parting(where, difference, named, healed))
            if named.endswith(catalogue.NORM_ELSEWHERE):
                notes.append("the search ends here: behind a norm that stands elsewhere, all values differ")
                break
        return self.diagnosis(partings or self.at_the_end(notes), notes)

    def is_small(self, difference: float) -> bool:
        """Whether a part in float32 would make such a difference, where all else is float64."""
        return difference < FLOAT32_INSIDE and self.floor < 1e-9

    def mend_if_small(
        self, now: Trace, start: tuple[int, Place, np.ndarray], partings: list[Parting], notes: list[str]
    ) -> bool:
        """Mend a value that is as near to the reference's as if a part were computed in float32, and say whether it is."""
        _, place, value = start
        difference, index = self.pool.nearest(value)
        if not self.is_small(difference):
            return False
        wanted = min(laid_out(self.pool.values[index][1], value.shape), key=lambda view: off(value, view))
        self.replaced[place] = wanted.astype(value.dtype)
        self.record_small(now, place, value, wanted, partings, notes)
        return True

    def record_small(
        self,
        now: Trace,
        place: Place,
        value: np.ndarray,
        wanted: np.ndarray,
        partings: list[Parting],
        notes: list[str],
    ) -> None:
        """Of a difference as small as float32 makes, add a parting if a setting of a norm explains it, and else a note."""
        difference, call = off(value, wanted), now.calls[place[0]]
        if named := catalogue.small_setting(call, place[1], value, wanted, self.known):
            partings.append(Parting(said(now, place), difference, named, (0, 0)))
        else:
            notes.append(f"{said(now, place)} agrees to {short(difference)}: one of the two computes in float32 inside")

    def alone(self, now: Trace, agree: dict[Place, bool | None], start: int) -> Parting | None:
        """The first layer whose mistake a convention explains by what it reads, whatever follows; its value is mended.

        Args:
            start: when the first value without a twin came.
        """
        holders = {each.inside for each in now.calls}
        opened = (
            (place, value)
            for time, place, value in now.places()
            if time >= start
            and place[1] == "out"
            and place[0] not in holders
            and agree[place] is False
            and place not in self.replaced
        )
        for place, value in itertools.islice(opened, _ALONE):
            if found := catalogue.by_itself(now.calls[place[0]], value, now, self.known):
                named, wanted = found
                self.replaced[place] = wanted
                self.moved.append(wanted - value)
                return Parting(said(now, place), off(value, wanted), named, (0, 0))
        return None

    def bound(self, notes: list[str]) -> float:
        """How far outputs may be apart that agree; a part in float32, which a note says, makes it larger."""
        return max(50 * self.floor, FLOAT32_INSIDE if self.floor < 1e-9 and notes else 0.0)

    def at_the_end(self, notes: list[str]) -> list[Parting]:
        """Where the outputs differ, and every value on the way agrees: the step that the port leaves out, or has too many."""
        whole = (self.theirs.calls[0], self.first.calls[0])
        pairs = [*zip(*(each.outs for each in whole))] if not any(each.path for each in whole) else []
        for wanted, value in [*pairs, *zip(self.theirs.outputs, self.first.outputs)]:
            difference = apart(value, wanted)
            if wanted.shape != value.shape or difference <= self.bound(notes):
                continue
            last = [each for each in self.first.calls if any(np.array_equal(out, value) for out in each.outs)]
            call = max(last, key=lambda each: each.number, default=self.first.calls[0])
            named = catalogue.explain(call, "out", value, wanted, self.first, self.known)
            return [Parting(f"{call.name}, at the end", difference, named, (0, 0))]
        return []

    def is_echo(self, moved: np.ndarray) -> bool:
        """Whether a place is mended by what another one was mended by."""
        echo = any(
            off(view, moved) < 1e-3
            for each in self.moved
            if each.size == moved.size
            for view in laid_out(each, moved.shape)
        )
        self.moved.append(moved)
        return echo

    def diagnosis(self, partings: list[Parting], notes: list[str]) -> Diagnosis:
        gaps = [
            self.outputs.nearest(each)[0] if tells(each) else min(apart(each, one) for one in self.theirs.outputs)
            for each in self.first.outputs
        ]
        worst = max(gaps)
        if worst <= self.bound(notes) and not partings:
            count = sum(tells(value) for _, _, value in self.first.places())
            mine, theirs = ([each.shape for each in one.outputs] for one in (self.first, self.theirs))
            turned = "" if mine == theirs else ", up to the order of their axes"
            turned = (
                turned if len(mine) == len(theirs) else f", {len(mine)} of the port and {len(theirs)} of the reference"
            )
            sentence = (
                f"nothing found in {count} arrays: the outputs agree to {short(worst)}{turned}; "
                "a mistake smaller than that can't be seen"
            )
            return Diagnosis(True, sentence, [], notes)
        if not partings:
            shapes = f"{[each.shape for each in self.theirs.outputs]} and {[each.shape for each in self.first.outputs]}"
            sentence = f"the outputs differ, of shapes {shapes}, and every value on the way agrees: the end is another"
            return Diagnosis(False, sentence, [], notes)
        gaps = [off(ours, theirs) for ours, theirs in zip(self.first.outputs, self.theirs.outputs)]
        differ = f"differ by {short(max(gaps))}" if gaps and math.isfinite(max(gaps)) else "have other shapes"
        places = f"{len(partings)} place{'s' * (len(partings) > 1)}"
        return Diagnosis(False, f"the outputs {differ}; {places}:", partings, notes)

    def agreement(self, now: Trace) -> dict[Place, bool | None]:
        """For each value of the port, whether the reference has it; None where a value tells nothing. Rounding may grow eightfold."""
        found: dict[Place, bool | None] = {}
        errors: dict[int, float] = {}
        for _, place, value in now.places():
            if not tells(value):
                found[place] = None
                continue
            difference, _ = self.pool.nearest(value)
            call = now.calls[place[0]]
            came = errors.get(place[0], 0.0) if place[1] == "out" else errors.get(call.inside or 0, 0.0)
            limit = max(self.floor, 8 * min(1e-3, came))
            found[place] = difference <= limit
            if found[place]:
                errors[place[0]] = max(errors.get(place[0], 0.0), difference)
        return found

    def first_open(self, now: Trace, agree: dict[Place, bool | None]) -> tuple[int, Place, np.ndarray] | None:
        """The first value that has no twin and on which something depends that has none either."""
        rng = np.random.default_rng(0)
        for time, place, value in now.places():
            if agree[place] is not False or place in self.replaced or place in self.passed:
                continue
            noise = rng.permutation(value.reshape(-1)).reshape(value.shape)  # of its own numbers: ids stay ids
            after = self.tried({**self.replaced, place: noise})
            if after is None:
                return time, place, value
            same = all(map(np.array_equal, now.outputs, after.outputs))
            if same or self.agreed_value_moves(now, after, agree, time):
                self.passed.add(place)
                continue
            return time, place, value
        return None

    @staticmethod
    def agreed_value_moves(now: Trace, after: Trace, agree: dict[Place, bool | None], time: int) -> bool:
        """Whether the noise moved a later value that agrees, so that what was there before is as right as that."""
        moved = {place: value for _, place, value in after.places()}
        for later, place, value in now.places():
            if later > time and agree[place] and not np.array_equal(moved.get(place, value), value):
                return True
        return False

    def healing(
        self, now: Trace, agree: dict[Place, bool | None], start: tuple[int, Place, np.ndarray]
    ) -> tuple[Place, np.ndarray, np.ndarray, tuple[int, int]] | None:
        """From the first open value on, the first place where a value of the reference makes what follows agree."""
        twins = [(time, self.pool.nearest(value)[1]) for time, place, value in now.places() if agree[place]]
        opened = [
            each
            for each in now.places()
            if each[0] >= start[0] and agree[each[1]] is False and each[1] not in self.replaced
        ]
        for time, place, value in opened[:24]:
            before = [index for at, index in twins if at < time]
            best = self.best(now, agree, time, place, value, before)
            # what a layer reads may be known, and not what it should read
            call = now.calls[place[0]]
            if place[1] == "out" and not any(each.inside == call.number for each in now.calls):
                for index, each in enumerate(call.ins):
                    read = (call.number, "in", index)
                    if agree.get(read) and read not in self.replaced:
                        other = self.best(now, agree, call.begins, read, each, before)
                        if other is not None and (best is None or other[0] >= best[0]):
                            best = other
            if best is not None:
                return best[1:]
        return None

    def best(
        self, now: Trace, agree: dict[Place, bool | None], time: int, place: Place, value: np.ndarray, twins: list[int]
    ) -> tuple | None:
        """The value of the reference that makes the most of what follows agree, with how much that is; None if none does any."""
        best = None
        agreed = sum(agree[each] is True for at, each, _ in now.places() if at > time)
        for wanted in self.candidates(value, twins):
            if np.array_equal(wanted, value):
                continue
            after = self.tried({**self.replaced, place: wanted})
            if after is None:
                continue
            later = self.agreement(after)
            echo = np.sort(wanted, axis=None)
            others = [
                each
                for at, each, seen in after.places()
                if at > time and not (seen.size == wanted.size and np.array_equal(np.sort(seen, axis=None), echo))
            ]
            count = sum(later[each] is True for each in others)
            checked = sum(later[each] is not None for each in others)
            bound = max(50 * self.floor, FLOAT32_INSIDE)
            ends = all(self.outputs.nearest(each)[0] <= bound for each in after.outputs if tells(each))
            if (ends or count > agreed) and (best is None or (ends, count) > best[0]):
                best = ((ends, count), place, value, wanted, (count, checked))
        return best

    def where_it_began(self, now: Trace, found: tuple) -> tuple:
        """The place itself, or one before it that has the same value and heals as much.

        It is a layer with weights that hands on what it reads, or, if more is healed, a block's output.
        """
        place, value, wanted, healed = found
        best, most = found, (healed[0], False)
        times = {each: time for time, each, _ in now.places()}
        holders = {each.inside for each in now.calls}
        for time, each, same in now.places():
            if time >= times[place] or each[1] == "in" or each in self.replaced or not np.array_equal(same, value):
                continue
            call = now.calls[each[0]]
            reads_the_same = any(np.array_equal(one, same) for one in call.ins)
            idle = reads_the_same and call.number not in holders and bool(catalogue.weights_of(call.layer))
            if not idle and call.number not in holders:
                continue
            after = self.tried({**self.replaced, each: wanted})
            if after is None:
                continue
            later = self.agreement(after)
            at = [later[other] for when, other, _ in after.places() if when > times[place]]
            count = sum(one is True for one in at)
            if (count, idle) > most:
                most = count, idle
                best = each, value, wanted, (count, sum(one is not None for one in at))
        return best

    @staticmethod
    def block_before(now: Trace, place: Place, value: np.ndarray) -> str | None:
        """The block that returned a value before another reads it."""
        holders = {each.inside for each in now.calls}
        blocks = [each for each in now.calls if each.number and each.number in holders]
        made = [each for each in blocks if any(np.array_equal(out, value) for out in each.outs)]
        return made[-1].name if made and place[1] == "in" else None

    def candidates(self, value: np.ndarray, twins: list[int]) -> list[np.ndarray]:
        """Values of the reference that may be what this should have been: near ones, then new ones in their order, then known ones.

        A known value is meant where the reference does nothing and the port does something.
        """
        known = list(dict.fromkeys(twins))
        earliest = min((self.pool.values[index][0] for index in known[-6:]), default=0)
        new, old = [], []
        for index, (time, each) in enumerate(self.pool.values):
            if each.size != value.size or (index in known and index not in known[-4:]) or time < earliest:
                continue
            for view in laid_out(each, value.shape):
                if not any(np.array_equal(view, other) for _, other in [*new, *old]):
                    gap = off(value, view)
                    (old if index in known else new).append(((gap if gap < _NEAR else 1.0, time), view))
        return [view for found in (new, old) for _, view in sorted(found, key=lambda pair: pair[0])[:_TRIED]]


def said(now: Trace, place: Place) -> str:
    """A place in words."""
    call: Call = now.calls[place[0]]
    if place[1] == "out":
        return call.name
    holder = now.calls[call.inside].name if call.inside is not None else "the caller"
    return f"the code of {holder}, before {call.path or 'the model'}"


def _check_weights(theirs: dict[str, np.ndarray], ours: dict[str, np.ndarray]) -> None:
    """Raise ValueError unless the weights have been carried over, whatever their names, order of axes, and packing."""
    whole = {name: np.sort(each, axis=None) for name, each in theirs.items()}
    unknown = [
        name
        for name, each in ours.items()
        if not name.startswith("part ")
        and not any(
            other.size == each.size and np.allclose(other, np.sort(each, axis=None), atol=1e-6)
            for other in whole.values()
        )
    ]
    count = sum(not name.startswith("part ") for name in ours)
    if len(unknown) > count / 2:
        raise ValueError(
            f"{len(unknown)} of {count} weights of the port are in no weight of the reference, as {unknown[0]}: "
            "carry the weights over first"
        )


def _few_digits(trace: Trace) -> set[str]:
    """The dtypes of few digits that its layers read and return."""
    return {each for call in trace.calls for each in call.narrow}


def _twice(who: str, model: Any, inputs: tuple, call: Any) -> Trace:
    """The trace of a model that isn't random."""
    first, second = (trace(model, *inputs, call=call) for _ in range(2))
    if not first.outputs:
        raise ValueError(f"the {who} returns no tensor, nor a list, tuple, dict or dataclass of them")
    for (_, place, one), (_, _, two) in zip(first.places(), second.places()):
        if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
            raise ValueError(
                f"the {who} is random in {said(first, place)}: put it into evaluation mode, or take dropout out"
            )
    return first
