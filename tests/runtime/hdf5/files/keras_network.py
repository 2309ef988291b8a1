"""Writes the weights of one network as Keras 3 and Keras 2 save them, and its output.

Run in a folder with Keras 3 (3.15.1, h5py 3.16.0) or with TensorFlow 2.15.1, whose Keras is 2.15.
"""
import os

os.environ["KERAS_BACKEND"] = "jax"
try:
    import keras
except ImportError:
    from tensorflow import keras
import numpy as np

is_keras3 = keras.__version__.startswith("3.")
layers = keras.layers
x = keras.Input((5,), dtype="int32")
y = layers.Embedding(7, 4, name="words")(x)
y = layers.Dropout(0.5, name="drop")(y)
y = layers.LSTM(3, return_sequences=True, name="lstm")(y)
y = layers.Bidirectional(layers.GRU(2, return_sequences=True, name="gru"), name="both")(y)
y = layers.MultiHeadAttention(2, 3, name="mha")(y, y)
y = layers.BatchNormalization(name="norm")(y)
y = layers.Reshape((5, 4, 1), name="image")(y)
y = layers.Conv2D(2, 3, name="conv")(y)
y = layers.SeparableConv2D(2, 2, name="sep")(y)
y = layers.Flatten(name="flat")(y)
y = layers.Dense(2, name="head")(y)
model = keras.Model(x, y, name="net")

random = np.random.RandomState(1)
model.set_weights([random.uniform(0.1, 0.6, w.shape).astype("float32") for w in model.weights])
given = np.array([[0, 1, 2, 3, 4], [6, 5, 1, 1, 0]], "int32")
result = np.asarray(model.predict(given, verbose=0))

small = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="dense"),
                          layers.Dropout(0.5, name="drop"),
                          layers.BatchNormalization(name="norm"),
                          keras.Sequential([keras.Input((2,)), layers.Dense(1, name="last")],
                                           name="inner")])
small.set_weights([random.uniform(0.1, 0.6, w.shape).astype("float32") for w in small.weights])
small.compile(optimizer=keras.optimizers.SGD(momentum=0.9), loss="mse")
small.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0)
name = "keras3" if is_keras3 else "keras2"
np.savez_compressed(name + ".npz", x=given, y=result,
                    **{"small%d" % i: w for i, w in enumerate(small.get_weights())})
model.save_weights("keras3.weights.h5" if is_keras3 else "keras2_weights.h5")
if not is_keras3:
    model.save("keras2.keras")
small.save(name + "_model.h5")
if is_keras3:
    small.save("keras3.keras")
    half = keras.Sequential([keras.Input((2,)), layers.Dense(2, dtype="bfloat16", name="half")])
    half.set_weights([np.array([[1, 2], [3, 4]]), np.array([5, 6])])
    half.save_weights("bfloat16.weights.h5")
