"""Prints the expected values of options of layers: Keras 3.5, with the helpers of keras_layers.py.
Usage: KERAS_BACKEND=torch python3 keras_layer_options.py"""
import keras
import numpy as np

from keras_layers import set_waves, show, wave

L = keras.layers

# The masks that the tests' seed draws.
FEATURES = np.array([[2, 0, 2], [0, 2, 2]], dtype="float32")
UNITS = np.array([[4 / 3, 4 / 3], [0, 4 / 3]], dtype="float32")


def tensor(shape, phase):
    return keras.ops.convert_to_tensor(wave(shape, phase, 1.0))


def frozen():
    l2 = keras.regularizers.L2(0.1)
    first, last = L.Dense(3, kernel_regularizer=l2), L.Dense(2, kernel_regularizer=l2)
    norm = L.BatchNormalization(beta_regularizer=l2)
    for layer, features in ((first, 4), (norm, 3), (last, 3)):
        layer.build((5, features))
    set_waves([first, norm, last])
    before = keras.ops.convert_to_numpy(norm.moving_mean.value).copy()
    first.trainable = norm.trainable = False
    y = last(norm(first(tensor((5, 4), 0.3)), training=True))
    show("kKerasFrozen", y)
    assert (before == keras.ops.convert_to_numpy(norm.moving_mean.value)).all()
    layers = (first, norm, last)
    print("trainable", [len(layer.trainable_weights) for layer in layers])
    print("others", [len(layer.non_trainable_weights) for layer in layers])
    show("kKerasFrozenLoss", sum(sum(layer.losses) for layer in layers if layer.losses))


def activity():
    dense = L.Dense(2, activation="tanh", activity_regularizer=keras.regularizers.L2(0.1))
    dense.build((5, 4))
    set_waves([dense])
    dense(tensor((5, 4), 0.3))
    show("kKerasActivity", dense.losses[0])


class Drawn:
    """Instead of the masks of a cell: given ones."""

    def __init__(self, cell):
        self.cell = cell
        cell.reset_dropout_mask = lambda: None
        cell.reset_recurrent_dropout_mask = lambda: None
        cell._dropout_mask = keras.ops.convert_to_tensor(FEATURES)
        cell._recurrent_dropout_mask = keras.ops.convert_to_tensor(UNITS)


def recurrent_dropout():
    options = {"dropout": 0.5, "recurrent_dropout": 0.25}
    rows = [("SimpleRnn", L.SimpleRNN(2, **options)), ("Lstm", L.LSTM(2, **options)),
            ("Gru", L.GRU(2, **options)), ("GruBefore", L.GRU(2, reset_after=False, **options))]
    for name, layer in rows:
        layer.build((2, 5, 3))
        set_waves([layer])
        Drawn(layer.cell)
        show(f"kKerasDropped{name}", layer(tensor((2, 5, 3), 0.2), training=True))


def stateful():
    lstm = L.LSTM(2, stateful=True)
    both = L.Bidirectional(L.GRU(2, stateful=True, return_sequences=True))
    lstm.build((2, 5, 4))
    both.build((2, 5, 3))
    set_waves([both, lstm])
    print("weights", len(lstm.weights), "states", len(lstm.states))
    for call in range(2):
        show(f"kKerasStateful{call}", lstm(both(tensor((2, 5, 3), 0.2 + call))))
    lstm.reset_state()
    both.reset_state()
    show("kKerasReset", lstm(both(tensor((2, 5, 3), 0.2))))


def groups():
    rows = [("Conv1D", L.Conv1D(4, 3, groups=2, padding="same", strides=2), (2, 7, 6)),
            ("Conv2D", L.Conv2D(6, (2, 3), groups=3, activation="tanh"), (2, 4, 5, 6)),
            ("Channels", L.Conv2D(6, (2, 1), groups=3, padding="same"), (2, 3, 2, 3))]
    for name, layer, shape in rows:
        layer.build(shape)
        set_waves([layer])
        show(f"kKerasGroups{name}", layer(tensor(shape, 0.4)))


def rms_scaling():
    for name, options in (("Last", {}), ("Both", {"axis": [1, 2], "scale": False})):
        layer = L.LayerNormalization(rms_scaling=True, **options)
        layer.build((2, 3, 4))
        set_waves([layer])
        print("weights", len(layer.weights))
        show(f"kKerasRms{name}", layer(tensor((2, 3, 4), 0.6)))


def show_all(rows, phase):
    for name, layer, shape in rows:
        layer.build(shape)
        set_waves([layer])
        show(f"kKeras{name}", layer(tensor(shape, phase)))


def convolutions():
    show_all([
        ("Separable1D", L.SeparableConv1D(4, 3, padding="same", depth_multiplier=2), (2, 5, 3)),
        ("Separable2D", L.SeparableConv2D(3, (2, 3), strides=2, activation="tanh"), (2, 5, 6, 2)),
        # With torch, Keras warns that this row is another one, a pixel off; with JAX and TensorFlow
        # it is as K has it.
        ("TransposeSame", L.Conv2DTranspose(2, 3, strides=2, padding="same"), (2, 2, 3, 3)),
        ("TransposeValid", L.Conv2DTranspose(2, (2, 3), strides=(3, 1), activation="tanh"),
         (1, 2, 2, 3)),
        ("TransposePadding",
         L.Conv2DTranspose(1, (3, 2), strides=2, output_padding=1, use_bias=False),
         (1, 2, 3, 2)),
        ("TransposeDilated", L.Conv2DTranspose(2, 2, dilation_rate=2), (1, 2, 2, 2)),
    ], 0.4)


def normalizations():
    show_all([
        ("GroupLast", L.GroupNormalization(2), (2, 2, 3, 4)),
        ("GroupFirst", L.GroupNormalization(2, axis=1, epsilon=0.1), (2, 4, 3)),
        ("GroupEach", L.GroupNormalization(-1, center=False), (2, 5, 3)),
        ("PReLU", L.PReLU(), (2, 2, 3)),
        ("PReLUShared", L.PReLU(shared_axes=[1]), (2, 2, 3)),
    ], 0.6)


def attention_axes():
    layer = L.MultiHeadAttention(2, 3, attention_axes=(2,))
    layer.build((2, 2, 3, 4), (2, 2, 3, 4))
    set_waves([layer])
    x = tensor((2, 2, 3, 4), 0.2)
    show("kKerasAxes", layer(x, x))


if __name__ == "__main__":
    frozen()
    activity()
    recurrent_dropout()
    stateful()
    groups()
    rms_scaling()
    convolutions()
    normalizations()
    attention_axes()
