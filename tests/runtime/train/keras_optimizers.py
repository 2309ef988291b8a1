"""Prints the expected weights of optimizers_test.cpp, computed by Keras 3.5 (torch backend).

Run: KERAS_BACKEND=torch python keras_optimizers.py
"""
import keras
import numpy as np
import torch
from keras import optimizers as o

X = np.array([[1, 2], [-1, 0.5], [0.3, -0.7]], np.float32)
Y = np.array([[1], [-0.5], [2]], np.float32)
ROWS = {
    "SGD": lambda: o.SGD(0.1),
    "SGD, momentum": lambda: o.SGD(0.1, momentum=0.9),
    "SGD, Nesterov": lambda: o.SGD(0.1, momentum=0.9, nesterov=True),
    "SGD, weight decay": lambda: o.SGD(0.1, weight_decay=0.5),
    "SGD, clipnorm": lambda: o.SGD(0.1, clipnorm=0.5),
    "SGD, clipvalue": lambda: o.SGD(0.1, clipvalue=0.25),
    "SGD, global_clipnorm": lambda: o.SGD(0.1, global_clipnorm=0.5),
    "SGD, NonNeg": lambda: o.SGD(0.1),
    "RMSprop": lambda: o.RMSprop(0.1),
    "RMSprop, momentum": lambda: o.RMSprop(0.05, rho=0.8, momentum=0.5),
    "RMSprop, centered": lambda: o.RMSprop(0.05, centered=True),
    "Adagrad": lambda: o.Adagrad(0.5),
    "Adagrad, accumulator": lambda: o.Adagrad(0.5, initial_accumulator_value=1.0, epsilon=0.1),
    "Adadelta": lambda: o.Adadelta(50.0),
    "Adam": lambda: o.Adam(0.1),
    "Adam, AMSGrad": lambda: o.Adam(0.1, beta_1=0.8, beta_2=0.9, amsgrad=True),
    "Adam, epsilon": lambda: o.Adam(0.1, epsilon=0.5),
    "AdamW": lambda: o.AdamW(0.1),
    "AdamW, decay of b only": lambda: o.AdamW(0.1, weight_decay=0.5),
    "Adamax": lambda: o.Adamax(0.1),
    "Nadam": lambda: o.Nadam(0.1),
}


def weights_after(name, make, counts):
    constraint = keras.constraints.NonNeg() if name.endswith("NonNeg") else None
    w = keras.Variable(np.array([[0.5], [-1]], np.float32), name="w")
    b = keras.Variable(np.array([0.2], np.float32), name="b")
    w.constraint = constraint
    optimizer = make()
    if name.endswith("b only"):
        optimizer.exclude_from_weight_decay(var_list=[w])
    optimizer.build([w, b])
    for step in range(1, max(counts) + 1):
        x, y = torch.tensor(X), torch.tensor(Y)
        values = [w.value.detach().requires_grad_(), b.value.detach().requires_grad_()]
        loss = torch.mean((x @ values[0] + values[1] - y) ** 2)
        slopes = torch.autograd.grad(loss, values)
        with torch.no_grad():
            optimizer.apply(list(slopes), [w, b])
        if step in counts:
            yield [*keras.ops.convert_to_numpy(w).ravel(), *keras.ops.convert_to_numpy(b)]


if __name__ == "__main__":
    for name, make in ROWS.items():
        rows = weights_after(name, make, (1, 5, 20))
        after = [", ".join(f"{x:.7g}" for x in row) for row in rows]
        print(f"{name}\n  {{{{{'}}, {{'.join(after)}}}}},".replace("}},  {{", "}, {"))
