"""What users get from their own tables, beside the usual ways.

    XSPN_DATA=../shared/data python benchmarks/users.py recommend        # next items of baskets: about five minutes
    XSPN_DATA=../shared/data python benchmarks/users.py recommend-all    # and of other models than the default

`recommend`: the default model's "exactly one more item" must be better than popularity, item-kNN and pair rules, by
hit@10 and by MRR, on four generated shops with companions and four without, on retail and on kosarek (see
`recommending.py`).
"""

import time

import numpy as np
from harness import parser, verdict
from recommending import HITS, MODELS, SHOPS, compare, quality

BASELINES = ("popularity", "item-kNN", "pair rules")


def recommend(models: tuple[str, ...] = ("default",)) -> None:
    for load in SHOPS.values():
        shops, start = load(), time.perf_counter()
        parts = [compare(shop, {name: MODELS[name] for name in models}) for shop in shops]
        found = {name: np.concatenate([own[name] for own in parts]) for name in parts[0]}
        scores = {name: quality(own) for name, own in found.items()}
        n_items, n_tests = shops[0].train.shape[1], len(next(iter(found.values())))
        print(f"{shops[0].name} ({len(shops)}): {n_items} items, {n_tests} test baskets")
        for name, (hits, mrr) in scores.items():
            print(f"  {name:<22} hit@{HITS} {hits:.4f}   MRR {mrr:.4f}")
        own = scores["default, one more"]
        better = all(own[part] > scores[name][part] for name in BASELINES for part in (0, 1))
        print(f"  better than all: {verdict(better)}   ({time.perf_counter() - start:.0f} s)", flush=True)


PARTS = {"recommend": recommend, "recommend-all": lambda: recommend(tuple(MODELS))}


def main() -> None:
    for name in parser(__doc__, PARTS, default=("recommend",)).parse_args().parts:
        PARTS[name]()


if __name__ == "__main__":
    main()
