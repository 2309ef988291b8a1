"""Writes a file of ONNX cases: models of one node or a few, inputs, and the outputs that ONNX
Runtime computes for them, or ONNX's reference evaluator where the former lacks an operator.

A case is several arrays of one .npz: NAME/model (the bytes of the model), NAME/in0/INPUT and
NAME/out0/OUTPUT; in1 and out1 are a second call with other sizes; NAME/gradient is there if
gradients of the sum of the first output exist everywhere near the inputs, NAME/random if only
dtypes and shapes of the outputs are those of ONNX.
"""

import pathlib
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
rng = np.random.default_rng(7)


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    """Random multiples of 1 / 64, which compress well."""
    return np.asarray(np.round(rng.uniform(low, high, shape) * 64) / 64).astype(dtype)


def integers(*shape, low=-5, high=6, dtype=np.int64):
    return np.asarray(rng.integers(low, high, shape)).astype(dtype)


def bools(*shape):
    return rng.integers(0, 2, shape).astype(bool)


def vector(*numbers, dtype=np.int64):
    return np.array(numbers, dtype)


class CaseFile:
    def __init__(self, path):
        self.path = pathlib.Path(__file__).parent / path
        self.arrays = {}

    def node(self, name, op, inputs, opset=17, outputs=1, weights=(), second=None, gradient=False,
             dims=None, omitted=(), expected=None, random=False, **attributes):
        """One node. `inputs`: arrays, in order, or None for one that is left out; those whose
        positions are in `weights` are initializers. `second`: arrays of a second call for the
        inputs that are not. Dims of inputs are symbolic unless `dims` is "static"."""
        names = ["" if array is None else "abcdefghij"[i] for i, array in enumerate(inputs)]
        results = [f"y{i}" if i not in omitted else "" for i in range(outputs)]
        node = helper.make_node(op, names, results, name=f"/{name}/{op}", **attributes)
        fed = {n: array for i, (n, array) in enumerate(zip(names, inputs))
               if array is not None and i not in weights}
        initializers = {names[i]: inputs[i] for i in weights}
        calls = [fed]
        if second is not None:
            calls.append(dict(zip(fed, second)))
        self.graph(name, [node], calls, [r for r in results if r], initializers, opset, gradient,
                   dims, expected)
        if random:
            self.arrays[f"{name}/random"] = np.array(1, np.int8)

    def graph(self, name, nodes, calls, outputs, initializers=None, opset=17, gradient=False,
              dims=None, expected=None, functions=(), opsets=()):
        """A graph of several nodes; `calls`: inputs by name, one dict per call."""
        if opset < 6:
            raise ValueError(f"{name}: opset {opset} is not imported, 6 is the oldest")
        infos = []
        for key, array in calls[0].items():
            sizes = [f"{key}{i}" for i in range(array.ndim)]
            if dims == "static":
                sizes = array.shape
            elif dims:
                sizes = dims[key]
            elem = helper.np_dtype_to_tensor_dtype(array.dtype)
            infos.append(helper.make_tensor_value_info(key, elem, sizes))
        graph = helper.make_graph(
            nodes, name, infos, [onnx.ValueInfoProto(name=output) for output in outputs],
            [numpy_helper.from_array(array, key) for key, array in (initializers or {}).items()])
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset), *opsets], functions=functions,
            ir_version=8)
        self.arrays[f"{name}/model"] = np.frombuffer(model.SerializeToString(), np.uint8)
        if gradient:
            self.arrays[f"{name}/gradient"] = np.array(1, np.int8)
        for i, call in enumerate(calls):
            results = expected[i] if expected else evaluate(model, call)
            for key, array in call.items():
                self.arrays[f"{name}/in{i}/{key}"] = np.asarray(array)
            for key, array in zip(outputs, results):
                self.arrays[f"{name}/out{i}/{key}"] = np.asarray(array)

    def write(self):
        np.savez_compressed(self.path, **self.arrays)


def evaluate(model, inputs):
    """The outputs by ONNX Runtime; by ONNX's reference evaluator if that rejects the model."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString())
        return session.run(None, inputs)
    except Exception:
        return ReferenceEvaluator(model).run(None, inputs)
