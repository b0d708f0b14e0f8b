"""cirkit on dense circuits over a random binary tree, with about as many edges as the given one."""

import torch
from cirkit.pipeline import PipelineContext
from cirkit.symbolic.layers import HadamardLayer, SumLayer
from cirkit.templates import data_modalities, utils
from clock import answer, task

torch.set_num_threads(1)
torch.set_grad_enabled(False)
nodes, rows, edges = task()
n_variables = rows.shape[1]


def symbolic(units: int):
    return data_modalities.tabular_data(
        "random-binary-tree",
        num_features=n_variables,
        input_layers={"name": "categorical", "args": {"num_categories": 2}},
        num_input_units=units,
        sum_product_layer="cp",
        num_sum_units=units,
        sum_weight_param=utils.Parameterization(activation="softmax", initialization="normal"),
    )


def edges_of(circuit) -> int:
    count = 0
    for layer in circuit.layers:
        if isinstance(layer, SumLayer):
            count += layer.num_input_units * layer.arity * layer.num_output_units
        elif isinstance(layer, HadamardLayer):
            count += layer.num_input_units * layer.arity
    return count


units = min(range(1, 64), key=lambda k: abs(edges_of(symbolic(k)) - edges))
circuit = symbolic(units)
compiled = PipelineContext(backend="torch", semiring="lse-sum", fold=True, optimize=True).compile(circuit)
X = torch.tensor(rows, dtype=torch.long)
answer(lambda: compiled(X).numpy(), len(X), edges=edges_of(circuit), units=units)
