"""Writes net.onnx and digits.npz, the files of bring.md: a small convolution network, and bright
and dark images, with onnx 1.23 and NumPy 2.4."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)


def weight(name, *shape):
    scale = np.sqrt(2 / np.prod(shape[1:]))
    return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)


nodes = [
    helper.make_node("Conv", ["image", "conv.weight", "conv.bias"], ["c"], "/conv/Conv",
                     kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c"], ["r"], "/conv/Relu"),
    helper.make_node("GlobalAveragePool", ["r"], ["p"], "/pool/Pool"),
    helper.make_node("Flatten", ["p"], ["features"], "/pool/Flatten"),
    helper.make_node("Gemm", ["features", "fc.weight", "fc.bias"], ["logits"], "/fc/Gemm",
                     transB=1),
    helper.make_node("Softmax", ["logits"], ["classes"], "/Softmax"),
]
graph = helper.make_graph(
    nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
    [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["batch", 10])],
    [weight("conv.weight", 6, 1, 3, 3), numpy_helper.from_array(np.zeros(6, np.float32), "conv.bias"),
     weight("fc.weight", 10, 6), numpy_helper.from_array(np.zeros(10, np.float32), "fc.bias")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          "net.onnx")
labels = (np.arange(16) % 2).astype(np.int64)
images = (0.5 * rng.random((16, 1, 8, 8)) + 0.5 * labels[:, None, None, None]).astype(np.float32)
np.savez("digits.npz", image=images, label=labels)
