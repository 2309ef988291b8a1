# Prints the expected values of metrics_test.cpp: KERAS_BACKEND=torch python3 keras_metrics.py, with
# Keras 3.5.
import keras
import numpy as np

SCORES = np.array([[.1, .6, .3], [.8, .1, .1], [.2, .3, .5], [.4, .35, .25], [.3, .3, .4],
                   [.05, .9, .05], [.6, .3, .1]], "float32")
CLASSES = np.array([1, 0, 1, 2, 2, 1, 1])
ONE_HOT = np.eye(3, dtype="float32")[CLASSES]
LABELS = np.array([1, 0, 1, 1, 0, 0, 1])
PROBABILITIES = np.array([.9, .4, .35, .6, .7, .2, .5], "float32")
WEIGHTS = np.array([1, 2, 0, .5, 1, 3, 1], "float32")
SIZES = [3, 3, 1]

m = keras.metrics
ROWS = [
    ("Accuracy", m.Accuracy(), CLASSES, np.array([1, 1, 1, 2, 0, 1, 0])),
    ("BinaryAccuracy", m.BinaryAccuracy(), LABELS, PROBABILITIES),
    ("BinaryAccuracy .35", m.BinaryAccuracy(threshold=.35), LABELS, PROBABILITIES),
    ("CategoricalAccuracy", m.CategoricalAccuracy(), ONE_HOT, SCORES),
    ("SparseCategoricalAccuracy", m.SparseCategoricalAccuracy(), CLASSES, SCORES),
    ("TopKCategoricalAccuracy 2", m.TopKCategoricalAccuracy(k=2), ONE_HOT, SCORES),
    ("SparseTopKCategoricalAccuracy 2", m.SparseTopKCategoricalAccuracy(k=2), CLASSES, SCORES),
    ("Precision", m.Precision(), LABELS, PROBABILITIES),
    ("Precision .2 .6", m.Precision(thresholds=[.2, .6]), LABELS, PROBABILITIES),
    ("Precision class 1", m.Precision(class_id=1, thresholds=.3), ONE_HOT, SCORES),
    ("Recall", m.Recall(), LABELS, PROBABILITIES),
    ("Recall .2 .6", m.Recall(thresholds=[.2, .6]), LABELS, PROBABILITIES),
    ("Recall one-hot", m.Recall(thresholds=.3), ONE_HOT, SCORES),
    ("AUC", m.AUC(), LABELS, PROBABILITIES),
    ("AUC 5", m.AUC(num_thresholds=5), LABELS, PROBABILITIES),
    ("AUC PR", m.AUC(curve="PR"), LABELS, PROBABILITIES),
    ("AUC PR 5", m.AUC(num_thresholds=5, curve="PR"), LABELS, PROBABILITIES),
    ("AUC logits", m.AUC(from_logits=True), LABELS, PROBABILITIES * 4 - 2),
    ("AUC PR one-hot", m.AUC(curve="PR"), ONE_HOT, SCORES),
    ("Precision top 1", m.Precision(top_k=1), ONE_HOT, SCORES),
    ("Precision top 2 .3 .5", m.Precision(top_k=2, thresholds=[.3, .5]), ONE_HOT, SCORES),
    ("Precision top 2 class 1", m.Precision(top_k=2, class_id=1), ONE_HOT, SCORES),
    ("Recall top 2", m.Recall(top_k=2), ONE_HOT, SCORES),
    ("Recall top 1 class 2", m.Recall(top_k=1, class_id=2), ONE_HOT, SCORES),
    ("AUC minoring 5", m.AUC(num_thresholds=5, summation_method="minoring"), LABELS,
     PROBABILITIES),
    ("AUC majoring 5", m.AUC(num_thresholds=5, summation_method="majoring"), LABELS,
     PROBABILITIES),
    ("AUC PR minoring 5", m.AUC(num_thresholds=5, curve="PR", summation_method="minoring"),
     LABELS, PROBABILITIES),
    ("AUC PR majoring 5", m.AUC(num_thresholds=5, curve="PR", summation_method="majoring"),
     LABELS, PROBABILITIES),
    ("AUC thresholds", m.AUC(thresholds=[.65, .1, .45]), LABELS, PROBABILITIES),
    ("AUC multi_label", m.AUC(multi_label=True, num_labels=3), ONE_HOT, SCORES),
    ("AUC multi_label PR weights",
     m.AUC(multi_label=True, num_labels=3, curve="PR", label_weights=[1., .5, 2.]), ONE_HOT,
     SCORES),
    ("AUC label_weights", m.AUC(label_weights=[1., .5, 2.]), ONE_HOT, SCORES),
    ("MeanSquaredError", m.MeanSquaredError(), ONE_HOT, SCORES),
    ("MeanAbsoluteError", m.MeanAbsoluteError(), ONE_HOT, SCORES),
    ("RootMeanSquaredError", m.RootMeanSquaredError(), ONE_HOT, SCORES),
]


def result(metric, arrays, weights):
    metric.reset_state()
    start = 0
    for size in SIZES:
        rows = slice(start, start + size)
        metric.update_state(*[array[rows] for array in arrays],
                            sample_weight=None if weights is None else weights[rows])
        start += size
    return np.atleast_1d(keras.ops.convert_to_numpy(metric.result())).tolist()


def show(name, metric, *arrays):
    values = result(metric, arrays, None) + result(metric, arrays, WEIGHTS)
    print(f"{name}: " + ", ".join(f"{value:.7g}" for value in values))


for row in ROWS:
    show(*row)
show("Mean", m.Mean(), PROBABILITIES)
show("Mean of rows", m.Mean(), SCORES)
show("Sum", m.Sum(), PROBABILITIES)
show("Sum of rows", m.Sum(), SCORES)
