"""Compares an answer of triage with the truth. Pure: dictionaries in, dictionaries out."""


def ranks_of(first):
    """The ranks that an answer names, as a set; they may be a list or "0-3,7"."""
    named = (first or {}).get("ranks")
    if named is None:
        return set()
    if isinstance(named, str):
        found = set()
        for part in filter(None, named.split(",")):
            low, _, high = part.partition("-")
            found.update(range(int(low), int(high or low) + 1))
        return found
    return set(named)


def judge(truth, expected, answer):
    """What is right of `answer` about one attempt; `expected` is truth["attempts"][i]."""
    first, named = expected["first"], ranks_of(answer.get("first"))
    certain = bool((answer.get("first") or {}).get("certain"))
    good = expected["verdict"] == "healthy"
    row = {
        "seed": truth["seed"], "label": truth["label"], "attempt": expected["attempt"], "world": truth["world"],
        "launcher": truth["launcher"], "logger": truth["logger"], "everyone": truth["everyone_prints"],
        "healthy": good, "answer": answer.get("verdict"), "answer_kind": answer.get("kind"),
        "named": sorted(named)[:16], "certain": certain, "summary": answer.get("summary"),
        "verdict_right": answer.get("verdict") in expected["verdicts"],
        "kind_right": None, "rank_right": None, "iteration_right": None, "wrong_certain": False,
        "expected": expected["verdict"], "expected_kind": expected["kind"],
        "expected_ranks": (first or {}).get("acceptable", [])[:16],
    }
    if good:
        return row
    row["kind_right"] = answer.get("kind") in expected["kinds"]
    inside = bool(named) and named <= set(first["acceptable"])
    row["rank_right"] = inside or (not first["determinable"] and row["verdict_right"] and not certain)
    if named and certain:
        row["wrong_certain"] = not inside or not named & set(first["certain"])
    if first["iterations"] and (answer.get("first") or {}).get("iteration") is not None:
        low, high = first["iterations"]
        row["iteration_right"] = low <= answer["first"]["iteration"] <= high
    return row


def share(rows, key):
    """(share of rows where `key` is true among those where it applies, how many apply)"""
    known = [r[key] for r in rows if r[key] is not None]
    return (sum(known) / len(known) if known else 1.0), len(known)


def totals(rows):
    """The numbers that bars are set on."""
    healthy = [r for r in rows if r["healthy"]]
    sick = [r for r in rows if not r["healthy"]]
    alarms = [r for r in healthy if not r["verdict_right"]]
    return {
        "attempts": len(rows), "healthy": len(healthy),
        "rank_right": share(sick, "rank_right")[0], "kind_right": share(sick, "kind_right")[0],
        "verdict_right": share(rows, "verdict_right")[0], "iteration_right": share(sick, "iteration_right")[0],
        "false_alarms": len(alarms) / len(healthy) if healthy else 0.0,
        "wrong_certain": sum(r["wrong_certain"] for r in rows),
    }
