"""Prints the expected values of keras_layers_test.cpp: two small networks of Keras 3.5.
Usage: KERAS_BACKEND=torch python3 keras_layers.py
Weights and inputs are the numbers of wave(), which the test has, too."""
import keras
import numpy as np


def wave(shape, phase, scale=0.5):
    """scale * sin(phase + 0.7 k) for the elements k = 0, 1, .. in row-major order."""
    k = np.arange(np.prod(shape), dtype=np.float64)
    return (scale * np.sin(phase + 0.7 * k)).reshape(shape).astype("float32")


def set_waves(layers):
    phase = 0.0
    for layer in layers:
        values = []
        for weight in layer.weights:
            phase += 1.0
            value = wave(tuple(weight.shape), phase)
            values.append(abs(value) + 0.5 if "variance" in weight.name else value)
        layer.set_weights(values)


def show(name, tensor):
    values = keras.ops.convert_to_numpy(tensor).astype(np.float32).reshape(-1)
    text = ", ".join(np.format_float_positional(v, unique=True, trim="0") + "f" for v in values)
    print(f"const std::vector<float> {name}{{{text}}};")


def recurrent():
    L = keras.layers
    x = keras.ops.convert_to_tensor(wave((2, 5, 3), 0.2, 1.0))
    mask = keras.ops.convert_to_tensor(
        np.array([[1, 1, 0, 1, 0], [0, 1, 1, 0, 0]], dtype=bool))
    both = L.Bidirectional(L.LSTM(2, return_sequences=True))
    gru = L.GRU(3, return_sequences=True)
    before = L.GRU(2, reset_after=False, go_backwards=True, return_state=True)
    simple = L.SimpleRNN(2)
    for layer, features in ((both, 3), (gru, 4), (before, 3), (simple, 3)):
        layer.build((2, 5, features))
    set_waves([both.forward_layer, both.backward_layer, gru, before, simple])
    y = both(x, mask=mask)
    show("kKerasLstm", y)
    z = gru(y, mask=mask)
    show("kKerasGru", z)
    last, state = before(z, mask=mask)
    show("kKerasGruBefore", last)
    show("kKerasSimpleRnn", simple(z, mask=mask))


def convolutional():
    L = keras.layers
    x = keras.ops.convert_to_tensor(wave((3, 6, 5, 2), 0.4, 1.0))
    conv = L.Conv2D(3, 3, padding="same", activation="relu")
    norm = L.BatchNormalization(momentum=0.9)
    depthwise = L.DepthwiseConv2D(2, strides=2, depth_multiplier=2)
    layer_norm = L.LayerNormalization()
    dense = L.Dense(2, activation="silu")
    conv.build((3, 6, 5, 2))
    norm.build((3, 6, 5, 3))
    depthwise.build((3, 6, 5, 3))
    layer_norm.build((3, 3, 2, 6))
    dense.build((3, 6))
    layers = [conv, norm, depthwise, layer_norm, dense]
    set_waves(layers)

    def network(training):
        y = norm(conv(x), training=training)
        y = layer_norm(depthwise(y))
        return dense(L.GlobalAveragePooling2D()(L.MaxPooling2D(2, strides=1)(y)))

    show("kKerasTest", network(False))
    show("kKerasTraining", network(True))
    show("kKerasMean", norm.moving_mean.value)
    show("kKerasVariance", norm.moving_variance.value)


def attention():
    x = keras.ops.convert_to_tensor(wave((2, 4, 3), 0.2, 1.0))
    y = keras.ops.convert_to_tensor(wave((2, 5, 3), 0.9, 1.0))
    mask = keras.ops.convert_to_tensor(
        np.array([[1, 1, 0, 1, 0], [0, 1, 1, 0, 0]], dtype=bool))
    layer = keras.layers.MultiHeadAttention(2, 3, value_dim=2)
    layer.build((2, 4, 3), (2, 5, 3))
    set_waves([layer])
    show("kKerasAttention", layer(x, y, value_mask=mask))
    show("kKerasCausal", layer(x, x, use_causal_mask=True))


if __name__ == "__main__":
    recurrent()
    convolutional()
    attention()
