"""cirkit's first call in a process: a circuit over the Chow-Liu tree of some rows, with 16 units, scores others."""

import sys
import time

import numpy as np
import torch
from cirkit.pipeline import PipelineContext
from cirkit.templates import data_modalities, utils

torch.set_num_threads(1)
torch.set_grad_enabled(False)
train, rows = (torch.tensor(np.load(path), dtype=torch.long) for path in sys.argv[1:3])
symbolic = data_modalities.tabular_data(
    "chow-liu-tree",
    data=train,
    num_features=train.shape[1],
    input_layers={"name": "categorical", "args": {"num_categories": 2}},
    num_input_units=16,
    sum_product_layer="cp",
    num_sum_units=16,
    sum_weight_param=utils.Parameterization(activation="softmax", initialization="normal"),
)
compiled = PipelineContext(backend="torch", semiring="lse-sum", fold=True, optimize=True).compile(symbolic)
start = time.process_time()
compiled(rows)
print(time.process_time() - start)
