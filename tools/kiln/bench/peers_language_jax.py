"""The rows of language.cpp in JAX, compiled by XLA. Tables are updated by the gradients of their
rows, in place."""
import jax
import jax.numpy as jnp
import numpy as np

from peers_jax import applied, uniform


def words(rows, *dims):
    return jnp.asarray(np.random.randint(0, rows, dims).astype(np.int32))


def skip_gram(rows, columns, count, negatives):
    def row(tiny):
        n, d, batch, k = (20, 8, 6, 3) if tiny else (rows, columns, count, negatives)
        center, both = words(n, batch), words(n, batch, 1 + k)

        def loss(h, others):
            scores = (h[:, None] * others).sum(2)
            return (jax.nn.softplus(-scores[:, 0]).mean() +
                    jax.nn.softplus(scores[:, 1:]).sum(1).mean())

        def update(centers, contexts, center, both):
            value, (dh, dothers) = jax.value_and_grad(loss, (0, 1))(centers[center], contexts[both])
            return (value, centers.at[center].add(-0.01 * dh), contexts.at[both].add(-0.01 * dothers))

        compiled = jax.jit(update, donate_argnums=(0, 1))
        tables = [uniform(n, d, bound=0.05), uniform(n, d, bound=0.05)]

        def step():
            value, *tables[:] = compiled(*tables, center, both)
            return value, tables
        return {"rows": step}
    return row


def drawn(tiny, heads, queries, keys, depth):
    heads, queries, keys, depth = (2, min(queries, 6), 6, 4) if tiny else (heads, queries, keys, depth)
    return [uniform(1, count, heads, depth) for count in (queries, keys, keys, queries)]


def attention(*sizes, causal=False):
    def row(tiny):
        q, k, v, _ = drawn(tiny, *sizes)
        return applied(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal),
                       q, k, v)
    return row


def attention_train(*sizes, causal=False):
    def row(tiny):
        *operands, w = drawn(tiny, *sizes)

        def step(q, k, v, w):
            o, back = jax.vjp(lambda *x: jax.nn.dot_product_attention(*x, is_causal=causal), q, k, v)
            return o, back(w)
        return applied(step, *operands, w)
    return row


ROWS = {"skip_gram": skip_gram(100000, 128, 1024, 5),
        "skip_gram_wide": skip_gram(20000, 300, 256, 10),
        "attention_1024": attention(8, 1024, 1024, 64),
        "attention_4096_causal": attention(2, 4096, 4096, 64, causal=True),
        "attention_train_1024": attention_train(8, 1024, 1024, 64, causal=True),
        "attention_train_128": attention_train(32, 128, 128, 64),
        "attention_one_query": attention(32, 1, 4096, 64)}
