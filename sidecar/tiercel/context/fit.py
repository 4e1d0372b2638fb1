"""The token budget: filled by worth per token; what does not fit is shortened before it is dropped."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .parts import LeftOut, Part, Tokens, Wanted


def fit(wanted: Sequence[Wanted], budget: int, tokens: Tokens) -> tuple[list[Part], list[LeftOut]]:
    """Return the parts that fit `budget` tokens, in the order in which they were wanted, and what was left out.

    Every part gets its shortest form first, the one of the most worth per token before the others; what is left of the
    budget then goes into fuller forms, again by worth.
    """
    counted = [
        tuple(msgspec.structs.replace(form, tokens=tokens.count(form.text)) for form in one.forms) for one in wanted
    ]
    order = sorted(range(len(counted)), key=lambda i: -counted[i][-1].worth / max(counted[i][-1].tokens, 1))
    chosen: dict[int, Part] = {}
    left_out: list[LeftOut] = []
    room = budget
    for i in order:
        shortest = min(counted[i], key=lambda form: form.tokens)
        if shortest.tokens <= room:
            chosen[i] = shortest
            room -= shortest.tokens
        else:
            why = f"the budget: {shortest.tokens} tokens in its shortest form, {room} were left"
            left_out.append(LeftOut(shortest.name, shortest.path, shortest.line, why))
    for i in sorted(chosen, key=lambda i: -chosen[i].worth):
        for form in counted[i]:
            more = form.tokens - chosen[i].tokens
            if 0 < more <= room:
                chosen[i] = form
                room -= more
                break
    return [chosen[i] for i in sorted(chosen)], left_out
