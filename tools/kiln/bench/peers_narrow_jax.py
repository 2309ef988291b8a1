"""The rows of narrow.cpp in JAX, compiled by XLA."""
import jax
import jax.numpy as jnp
import numpy as np

from peers_jax import applied, uniform


def doubles(*dims):
    with jax.enable_x64(True):
        return jnp.asarray(np.random.uniform(-1, 1, dims))


def in_doubles(work, *inputs):
    compiled = jax.jit(work)

    def call():
        with jax.enable_x64(True):
            return compiled(*inputs)
    return {"jit": call}


def preprocess(method):
    def row(tiny):
        dims = (2, 4, 5, 3) if tiny else (8, 224, 224, 3)
        images = jnp.asarray(np.random.randint(0, 256, dims).astype(np.uint8))
        mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
        count, height, width, channels = dims

        def work(x):
            x = x.astype(jnp.float32) / 255
            if method == "nearest":
                large = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            else:
                large = jax.image.resize(x, (count, 2 * height, 2 * width, channels), method)
            return jnp.transpose((large - mean) / deviation, (0, 3, 1, 2))
        return applied(work, images)
    return row


def bias_rgb(tiny):
    return applied(lambda x, b: x + b, uniform(40 if tiny else 1 << 20, 3), uniform(3))


def bias_pairs_f64(tiny):
    return in_doubles(lambda x, b: x + b, doubles(40 if tiny else 1 << 20, 2), doubles(2))


def softmax_4(tiny):
    return applied(lambda x: jax.nn.softmax(x, -1), uniform(40 if tiny else 1 << 20, 4))


def columns(rows, count):
    def row(tiny):
        n, k = (40, 5) if tiny else (rows, count)
        return in_doubles(lambda x, v, r: (x @ v, x.T @ r), doubles(n, k), doubles(k, 1),
                          doubles(n, 1))
    return row


def residuals(x, r):
    return (r * x).sum(0), jnp.square(x - r).mean(0)


def residual_sums(tiny):
    n, k = (40, 5) if tiny else (200000, 16)
    return applied(residuals, uniform(n, k), uniform(n, 1))


def residual_sums_f64(tiny):
    n, k = (40, 3) if tiny else (30000, 70)
    return in_doubles(residuals, doubles(n, k), doubles(n, 1))


ROWS = {"preprocess_nearest": preprocess("nearest"), "preprocess_bilinear": preprocess("bilinear"),
        "bias_rgb": bias_rgb, "bias_pairs_f64": bias_pairs_f64, "softmax_4": softmax_4,
        "columns_f64": columns(20000, 200), "columns_tall_f64": columns(100000, 32),
        "residual_sums": residual_sums, "residual_sums_f64": residual_sums_f64}
