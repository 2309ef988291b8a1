"""The rows of a CPU's table in TensorFlow, by tf.function with and without XLA; for
peer_threads.py."""
import os

import peer_loop

OPTIONS = peer_loop.options()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# The folder where Keras, which TensorFlow imports, would write keras.json, which Kiln reads.
os.environ["KERAS_HOME"] = os.devnull
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(OPTIONS.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.set_visible_devices([], "GPU")

random = np.random.default_rng(1)


def drawn(*dims, bound=1.0):
    return random.uniform(-bound, bound, dims).astype(np.float32)


def uniform(*dims, bound=1.0):
    return tf.constant(drawn(*dims, bound=bound))


def weight(*dims, bound=1.0):
    return tf.Variable(drawn(*dims, bound=bound))


def zeros(*dims):
    return tf.Variable(tf.zeros(dims))


def classes_of(batch, classes):
    return tf.constant(random.integers(classes, size=batch).astype(np.int32))


def compiled_forms(make_step):
    """make_step() gives a function of no arguments, with variables of its own."""
    return {"tf.function": tf.function(make_step()),
            "tf.function, XLA": tf.function(make_step(), jit_compile=True)}


def adam_state(weights):
    return [(w, zeros(*w.shape), zeros(*w.shape)) for w in weights], zeros()


def apply_adam(state, gradients):
    """Kingma and Ba 2015, by TensorFlow's fused kernel."""
    tensors, count = state
    t = count.assign_add(1.0)
    for (w, m, v), gradient in zip(tensors, gradients):
        tf.raw_ops.ResourceApplyAdam(
            var=w.handle, m=m.handle, v=v.handle, beta1_power=0.9 ** t, beta2_power=0.999 ** t,
            lr=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=gradient)


def training_step(net, weights, x, labels):
    state = adam_state(weights)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=net(x)))
        apply_adam(state, tape.gradient(loss, weights))
        return loss

    return step


def mlp_adam(tiny):
    batch, sizes = (4, [8, 6, 6, 3]) if tiny else (64, [784, 512, 512, 10])
    x, labels = uniform(batch, sizes[0]), classes_of(batch, sizes[-1])

    def make_step():
        weights = []
        for before, after in zip(sizes, sizes[1:]):
            weights += [weight(before, after, bound=before ** -0.5), zeros(after)]

        def net(y):
            for at in range(0, len(weights), 2):
                y = tf.nn.bias_add(tf.matmul(y if at == 0 else tf.nn.relu(y), weights[at]),
                                   weights[at + 1])
            return y

        return training_step(net, weights, x, labels)

    return compiled_forms(make_step)


def convolution(x, filters, padding="VALID"):
    return tf.nn.conv2d(x, filters, 1, padding)


def cnn_adam(tiny):
    size, first, second, hidden, classes = (8, 2, 3, 4, 3) if tiny else (28, 32, 64, 128, 10)
    batch, pixels = 2 if tiny else 64, ((size - 4) // 2) ** 2 * second
    x, labels = uniform(batch, size, size, 1), classes_of(batch, classes)

    def make_step():
        k1, b1 = weight(3, 3, 1, first, bound=1 / 3), zeros(first)
        k2, b2 = weight(3, 3, first, second, bound=(9 * first) ** -0.5), zeros(second)
        w1, c1 = weight(pixels, hidden, bound=pixels ** -0.5), zeros(hidden)
        w2, c2 = weight(hidden, classes, bound=hidden ** -0.5), zeros(classes)

        def net(y):
            y = tf.nn.relu(tf.nn.bias_add(convolution(y, k1), b1))
            y = tf.nn.relu(tf.nn.bias_add(convolution(y, k2), b2))
            y = tf.reshape(tf.nn.max_pool2d(y, 2, 2, "VALID"), (batch, pixels))
            y = tf.nn.relu(tf.nn.bias_add(tf.matmul(y, w1), c1))
            return tf.nn.bias_add(tf.matmul(y, w2), c2)

        return training_step(net, [k1, b1, k2, b2, w1, c1, w2, c2], x, labels)

    return compiled_forms(make_step)


def batch_norm(x, gamma, beta):
    return tf.compat.v1.nn.fused_batch_norm(x, gamma, beta, epsilon=1e-3, is_training=True)


def gradient_step(function, x, weights, dy):
    """The function of x, and its gradients times dy, of x and the weights."""
    def step():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([x, *weights])
            y = function(x)
        return y, tape.gradient(y, [x, *weights], output_gradients=dy)

    return step


def bn_relu_train(tiny):
    dims = (2, 3, 3, 4) if tiny else (32, 56, 56, 64)
    x, dy = uniform(*dims), uniform(*dims)
    gamma, beta = tf.ones(dims[3]), tf.zeros(dims[3])
    return compiled_forms(lambda: gradient_step(
        lambda x: tf.nn.relu(batch_norm(x, gamma, beta)[0]), x, [gamma, beta], dy))


def resnet_block(tiny):
    dims = (2, 5, 5, 3) if tiny else (16, 56, 56, 64)
    channels = dims[3]
    x, dy = uniform(*dims), uniform(*dims)
    layers = [(uniform(3, 3, channels, channels, bound=(9 * channels) ** -0.5),
               tf.ones(channels), tf.zeros(channels)) for _ in range(2)]

    def block(x):
        def layer(y, filters, gamma, beta):
            return batch_norm(convolution(y, filters, "SAME"), gamma, beta)[0]

        return tf.nn.relu(layer(tf.nn.relu(layer(x, *layers[0])), *layers[1]) + x)

    return compiled_forms(lambda: gradient_step(block, x, [*layers[0], *layers[1]], dy))


def residual_blocks(tiny, jit_compile):
    width, blocks = 64, 2 if tiny else 62
    x = uniform(32, width)
    weights = [(uniform(width, width, bound=width ** -0.5), tf.zeros(width), tf.ones(width),
                tf.zeros(width)) for _ in range(blocks)]

    @tf.function(jit_compile=jit_compile)
    def gradients(x, weights):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            y = x
            for matrix, bias, scale, offset in weights:
                dense = tf.matmul(y, matrix) + bias
                centred = dense - tf.reduce_mean(dense, -1, keepdims=True)
                deviation = tf.sqrt(tf.reduce_mean(tf.square(centred), -1, keepdims=True) + 1e-5)
                y = y + tf.tanh(centred / deviation * scale + offset)
            loss = tf.reduce_mean(tf.square(y))
        return tape.gradient(loss, weights)

    return gradients(x, weights)


ROWS = {row.__name__: row for row in (mlp_adam, cnn_adam, bn_relu_train, resnet_block)}
COLD_ROWS = {"compile_1000": {
    "tf.function": lambda tiny: residual_blocks(tiny, False),
    "tf.function, XLA": lambda tiny: residual_blocks(tiny, True)}}


def main():
    rows = peer_loop.Rows(ROWS, cold_rows=COLD_ROWS)
    if OPTIONS.cold:
        return rows.run_cold(*OPTIONS.cold)
    rows.serve(f"TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
