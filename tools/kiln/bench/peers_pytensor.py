"""The rows of a CPU's table in PyTensor, compiled by C++ and by Numba; for peer_threads.py."""
import numpy as np
import pytensor
import pytensor.tensor as pt

import peer_loop

OPTIONS = peer_loop.options()
random = np.random.default_rng(1)
MODES = {"C": "CVM", "Numba": "NUMBA"}


def uniform(*dims, bound=1.0):
    return random.uniform(-bound, bound, dims).astype(np.float32)


def compiled_forms(make):
    """make() gives symbolic inputs, an output, updates and the arrays of the inputs."""
    def form(mode):
        inputs, output, updates, arrays = make()
        function = pytensor.function(
            [pytensor.In(x, borrow=True) for x in inputs], pytensor.Out(output, borrow=True),
            updates=updates, mode=mode)
        function.trust_input = True
        return lambda: function(*arrays)

    return {name: form(mode) for name, mode in MODES.items()}


def call(tiny):
    def make():
        x = pt.vector("x", dtype="float32", shape=(16,))
        return [x], x + np.float32(1), [], [uniform(16)]

    return compiled_forms(make)


def mlp_tiny(tiny):
    sizes, batch = [16, 32, 1], 8

    def make():
        x = pt.matrix("x", dtype="float32", shape=(batch, sizes[0]))
        y = pt.matrix("y", dtype="float32", shape=(batch, sizes[-1]))
        weights, output = [], x
        for before, after in zip(sizes, sizes[1:]):
            w = pytensor.shared(uniform(before, after, bound=before ** -0.5))
            b = pytensor.shared(np.zeros(after, np.float32))
            output = pt.dot(pt.maximum(output, np.float32(0)) if weights else output, w) + b
            weights += [w, b]
        loss = pt.square(output - y).mean(dtype="float32")
        updates = [(w, w - np.float32(0.01) * slope)
                   for w, slope in zip(weights, pytensor.grad(loss, weights))]
        return [x, y], loss, updates, [uniform(batch, sizes[0]), uniform(batch, sizes[-1])]

    return compiled_forms(make)


ROWS = {row.__name__: row for row in (call, mlp_tiny)}

if __name__ == "__main__":
    peer_loop.Rows(ROWS).serve(f"PyTensor {pytensor.__version__}")
