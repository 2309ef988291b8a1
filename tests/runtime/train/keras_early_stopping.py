# Prints the expected values of early_stopping_test.cpp: KERAS_BACKEND=torch python3
# keras_early_stopping.py, with Keras 3.5. A row: the epoch after which training stopped, or -1, the
# best value, and the epoch whose weights are restored.
import types

from keras.callbacks import EarlyStopping

NAN = float("nan")
FALLING = [5, 4, 4.5, 3.8, 3.9, 3.85, 3.7, 4]
ROWS = [
    (FALLING, dict()),
    (FALLING, dict(patience=1)),
    (FALLING, dict(patience=2)),
    (FALLING, dict(patience=3)),
    (FALLING, dict(patience=2, min_delta=0.15)),
    (FALLING, dict(patience=2, min_delta=-0.25)),
    (FALLING, dict(patience=1, start_from_epoch=3)),
    (FALLING, dict(patience=3, baseline=3.75)),
    (FALLING, dict(patience=5, baseline=3.75)),
    (FALLING, dict(patience=2, mode="max")),
    ([1, 2, 3, 2, 5, 4, 4.5], dict(patience=2, mode="max")),
    ([1, 2, 3, 2, 5, 4, 4.5], dict(patience=1, mode="max", min_delta=2)),
    ([NAN, NAN, NAN], dict()),
    ([NAN, 1, NAN, NAN], dict(patience=2)),
    ([3, 3, 3, 3], dict(patience=3)),
]

for values, options in ROWS:
    stopping = EarlyStopping("value", **{"mode": "min", **options}, restore_best_weights=True)
    epoch = 0
    model = types.SimpleNamespace(stop_training=False, get_weights=lambda: epoch,
                                  set_weights=lambda weights: None)
    stopping.set_model(model)
    stopping.on_train_begin()
    stopped = -1
    for epoch, value in enumerate(values):
        stopping.on_epoch_end(epoch, {"value": value})
        if model.stop_training:
            stopped = epoch
            break
    print(f"{values} {options}: {stopped}, {stopping.best}, {stopping.best_weights}")
