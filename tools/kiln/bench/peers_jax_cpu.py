"""The rows of a CPU's table in JAX, compiled by XLA; for peer_threads.py."""
import os

import peer_loop

OPTIONS = peer_loop.options()
os.environ["PJRT_NPROC"] = str(OPTIONS.threads)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np

import peers_jax
import peers_language_jax
import peers_narrow_jax
from peers_jax import applied, uniform

# Calls are one after the other, as ours are: asynchronous ones would overlap.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def chain_inputs(tiny, count):
    size = 1000 if tiny else 4 << 20
    return [uniform(size) * 0.5 + 1.0 for _ in range(count)]


def ten_operations(a, b):
    u = (a + b) * a - b
    v = jnp.maximum(u, a) / b
    w = jnp.minimum(v, b) + u
    return jnp.where(w > a, w, v) * b


def tanh_chain(x, a, b):
    return 0.5 * x * (1 + jnp.tanh(0.79788 * (x + 0.044715 * x * x * x))) * a + b


def call(tiny):
    return applied(lambda x: x + 1, uniform(16))


def chain10(tiny):
    return applied(ten_operations, *chain_inputs(tiny, 2))


def chain10_tanh(tiny):
    return applied(tanh_chain, *chain_inputs(tiny, 3))


def outer(tiny):
    size = 30 if tiny else 4096
    return applied(jnp.outer, uniform(size), uniform(size))


def softmax(tiny):
    return applied(lambda x: jax.nn.softmax(x, -1), uniform(*((8, 10) if tiny else (8192, 1000))))


def softmax_small(tiny):
    return applied(lambda x: jax.nn.softmax(x, -1), uniform(*((4, 10) if tiny else (64, 1000))))


def layernorm_train(tiny):
    rows, columns = (8, 16) if tiny else (8192, 1024)

    def train(x, scale, offset, dy):
        y, gradients = jax.vjp(peers_jax.normal, x, scale, offset)
        return y, gradients(dy)

    return applied(train, uniform(rows, columns), jnp.ones(columns), jnp.zeros(columns),
                   uniform(rows, columns))


def transpose_4096(tiny):
    side = 20 if tiny else 4096
    return applied(jnp.transpose, uniform(side, side))


def nhwc_to_nchw(tiny):
    dims = (2, 3, 3, 5) if tiny else (32, 56, 56, 64)
    return applied(lambda x: jnp.transpose(x, (0, 3, 1, 2)), uniform(*dims))


def cumsum_2048(tiny):
    side = 20 if tiny else 2048
    return applied(lambda x: jnp.cumsum(x, -1), uniform(side, side))


def random_normal_4m(tiny):
    size = 1000 if tiny else 4 << 20
    draw = jax.jit(lambda key: jax.random.normal(key, (size,)))
    keys = {kind: jax.random.key(1, impl=kind) for kind in ("threefry2x32", "rbg")}
    return {f"jit, {kind}": lambda key=key: draw(key) for kind, key in keys.items()}


def concat_4(tiny):
    rows, columns = (4, 5) if tiny else (2048, 512)
    return applied(lambda *parts: jnp.concatenate(parts, -1),
                   *(uniform(rows, columns) for _ in range(4)))


def gather_rows(tiny):
    rows, columns, count = (20, 8, 24) if tiny else (50000, 128, 16384)
    table = uniform(rows, columns)
    indices = jax.device_put(peers_jax.random.integers(rows, size=count).astype(np.int32))

    def form(mode):
        gather = jax.jit(lambda table, indices: table.at[indices].get(mode=mode))
        return lambda: gather(table, indices)

    return {"jit, clip": form("clip"), "jit, promise_in_bounds": form("promise_in_bounds")}


def div_int32(tiny):
    size = 1000 if tiny else 4 << 20
    x = peers_jax.random.integers(1 << 30, size=size).astype(np.int32)
    y = peers_jax.random.integers(1, 1000, size=size).astype(np.int32)
    return applied(jax.lax.div, jax.device_put(x), jax.device_put(y))


def gru(weights, x):
    """The last output; gates in the order update, reset, candidate."""
    w, u, b, inner = weights
    units = u.shape[0]

    def step(h, gates):
        product = h @ u
        z, r = jnp.split(jax.nn.sigmoid(gates[:, :2 * units] + product[:, :2 * units]), 2, -1)
        fresh = jnp.tanh(gates[:, 2 * units:] + r * (product[:, 2 * units:] + inner))
        return z * h + (1 - z) * fresh, None

    return jax.lax.scan(step, jnp.zeros((x.shape[1], units)), x @ w + b)[0]


def gru_train(tiny):
    steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    bound = units ** -0.5
    weights = (uniform(inputs, 3 * units, bound=bound), uniform(units, 3 * units, bound=bound),
               jnp.zeros(3 * units), jnp.zeros(units))
    return peers_jax.trained(gru, weights, uniform(steps, samples, inputs))


def ctc_train(tiny):
    """By Optax."""
    import optax

    samples, steps, classes, count = (2, 6, 4, 2) if tiny else (32, 200, 40, 40)
    labels = peers_jax.random.integers(classes - 1, size=(samples, count)).astype(np.int32)

    def loss(logits, labels):
        return optax.ctc_loss(logits, jnp.zeros((samples, steps)), labels,
                              jnp.zeros((samples, count)), blank_id=classes - 1).sum()

    return applied(jax.value_and_grad(loss), uniform(samples, steps, classes),
                   jax.device_put(labels))


def adam_step(state, gradients):
    """Kingma and Ba 2015. `state`: a list of (weight, m, v), and the number of steps."""
    tensors, count = state
    t = count + 1
    rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
    following = []
    for (weight, m, v), gradient in zip(tensors, gradients):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * jnp.square(gradient)
        following.append((weight - rate * m / (jnp.sqrt(v) + 1e-8), m, v))
    return following, t


def zero_state(weights):
    return [(weight, jnp.zeros_like(weight), jnp.zeros_like(weight)) for weight in weights], 0.0


def in_place(step, state, *inputs):
    """Work that replaces the state by step(state, *inputs), in its memory."""
    compiled = jax.jit(step, donate_argnums=0)
    held = [state]

    def work():
        held[0] = compiled(held[0], *inputs)
        return held[0]

    return {"jit, donated state": work}


def adam_of(variables, size):
    gradients = [uniform(size) for _ in range(variables)]
    return in_place(adam_step, zero_state([jnp.zeros(size) for _ in gradients]), gradients)


def adam(tiny):
    return adam_of(1, 1000 if tiny else 16 << 20)


def adam_many(tiny):
    return adam_of(*((5, 10) if tiny else (100, 1000)))


def mlp_adam(tiny):
    batch, sizes = (4, [8, 6, 6, 3]) if tiny else (64, [784, 512, 512, 10])
    labels = jax.device_put(peers_jax.random.integers(sizes[-1], size=batch).astype(np.int32))
    weights = []
    for before, after in zip(sizes, sizes[1:]):
        weights += [uniform(before, after, bound=before ** -0.5), jnp.zeros(after)]

    def loss(weights, x, labels):
        for at in range(0, len(weights), 2):
            x = (x if at == 0 else jax.nn.relu(x)) @ weights[at] + weights[at + 1]
        return -jnp.take_along_axis(jax.nn.log_softmax(x, -1), labels[:, None], -1).mean()

    def step(state, x, labels):
        gradients = jax.grad(loss)([weight for weight, _, _ in state[0]], x, labels)
        return adam_step(state, gradients)

    return in_place(step, zero_state(weights), uniform(batch, sizes[0]), labels)


def residual_blocks(x, weights):
    for matrix, bias, scale, offset in weights:
        x = x + jnp.tanh(peers_jax.normal(x @ matrix + bias, scale, offset))
    return jnp.square(x).mean()


def compile_1000(tiny):
    width, blocks = 64, 2 if tiny else 62
    weights = [(uniform(width, width, bound=width ** -0.5), jnp.zeros(width), jnp.ones(width),
                jnp.zeros(width)) for _ in range(blocks)]
    return jax.jit(jax.grad(residual_blocks, 1))(uniform(32, width), weights)


ROWS = {row.__name__: row for row in (
    call, chain10, chain10_tanh, outer, softmax, softmax_small, layernorm_train, transpose_4096,
    nhwc_to_nchw, cumsum_2048, random_normal_4m, concat_4, gather_rows, div_int32,
    peers_jax.lstm_masked_train, gru_train, peers_jax.lnlstm_train, ctc_train, mlp_adam, adam,
    adam_many)}
ROWS.update(peers_language_jax.ROWS)
ROWS.update(peers_narrow_jax.ROWS)
COLD_ROWS = {"compile_1000": {"jit": compile_1000}}


def main():
    rows = peer_loop.Rows(ROWS, jax.block_until_ready, cold_rows=COLD_ROWS)
    if OPTIONS.cold:
        return rows.run_cold(*OPTIONS.cold)
    rows.serve(f"JAX {jax.__version__}")


if __name__ == "__main__":
    main()
