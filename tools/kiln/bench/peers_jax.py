"""Rows of a GPU's table in JAX, compiled by XLA: peers_jax.py [--device cuda|cpu]. Float32
without TF32; loops over time are lax.scan, with the matmuls of the inputs before the loop."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

import peer_loop

random = np.random.default_rng(1)


def uniform(*dims, bound=1.0):
    return jax.device_put(random.uniform(-bound, bound, dims).astype(np.float32))


def applied(function, *inputs):
    compiled = jax.jit(function)
    return {"jit": lambda: compiled(*inputs)}


def softmax(tiny):
    return applied(lambda x: jax.nn.softmax(x, -1), uniform(*((8, 10) if tiny else (65536, 1000))))


def cross_entropy(tiny):
    rows, classes = (8, 10) if tiny else (65536, 1000)
    y = jax.device_put(random.integers(classes, size=rows).astype(np.int32))

    def loss(logits, y):
        log_p = jax.nn.log_softmax(logits, -1)
        return -jnp.take_along_axis(log_p, y[:, None], -1).mean()

    return applied(jax.value_and_grad(loss), uniform(rows, classes), y)


def normal(y, scale, offset):
    centred = y - y.mean(-1, keepdims=True)
    unit = centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5)
    return unit * scale + offset


def lstm_step(gates, h, c, norm=None):
    """The next h and c; the cell is normalised where `norm` has scale and offset."""
    i, f, g, o = jnp.split(gates, 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    if norm is not None:
        c = normal(c, *norm)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def lstm_weights(inputs, units):
    bound = (4 * units) ** -0.5
    return (uniform(inputs, 4 * units, bound=bound), uniform(units, 4 * units, bound=bound),
            jnp.zeros(4 * units))


def lstm(weights, x, mask=None):
    """The last output over x (time, samples, inputs); a state stays where the mask is false."""
    w, u, b = weights
    zero = jnp.zeros((x.shape[1], u.shape[0]))

    def step(state, now):
        gates, keep = now
        h, c = lstm_step(gates + state[0] @ u, *state)
        if keep is not None:
            h, c = (jnp.where(keep[:, None], new, old) for new, old in zip((h, c), state))
        return (h, c), None

    return jax.lax.scan(step, (zero, zero), (x @ w + b, mask))[0][0]


def trained(last, *arguments):
    """Mean square of the last output with the gradients of weights and inputs."""
    loss = jax.value_and_grad(lambda *all: jnp.square(last(*all)).mean(), argnums=(0, 1))
    return {"scan": applied(loss, *arguments)["jit"]}


def lstm_train(tiny):
    steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (100, 64, 256, 512)
    return trained(lstm, lstm_weights(inputs, units), uniform(steps, samples, inputs))


def lstm_masked_train(tiny):
    steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    lengths = steps - np.arange(samples) * (steps // 2) // samples
    mask = jax.device_put(np.arange(steps)[:, None] < lengths[None, :])
    return trained(lstm, lstm_weights(inputs, units), uniform(steps, samples, inputs), mask)


def layer_norm_lstm(weights, x):
    w, u, norms = weights
    zero = jnp.zeros((x.shape[1], u.shape[0]))

    def step(state, gates):
        return lstm_step(gates + normal(state[0] @ u, *norms[1]), *state, norms[2]), None

    return jax.lax.scan(step, (zero, zero), normal(x @ w, *norms[0]))[0][0]


def lnlstm_train(tiny):
    steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    w, u, _ = lstm_weights(inputs, units)
    norms = [(jnp.ones(size), jnp.zeros(size)) for size in (4 * units, 4 * units, units)]
    return trained(layer_norm_lstm, (w, u, norms), uniform(steps, samples, inputs))


ROWS = {row.__name__: row for row in (
    softmax, cross_entropy, lstm_train, lstm_masked_train, lnlstm_train)}


def main():
    device = sys.argv[2] if sys.argv[1:2] == ["--device"] else "cuda"
    jax.config.update("jax_platforms", device)
    jax.config.update("jax_default_matmul_precision", "highest")
    peer_loop.Rows(ROWS, jax.block_until_ready,
                   sample_seconds=peer_loop.DEVICE_SAMPLE_SECONDS, names_all=True).serve(
        f"JAX {jax.__version__} on {jax.devices()[0].platform}")


if __name__ == "__main__":
    main()
