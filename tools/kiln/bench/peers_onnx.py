"""The rows of a CPU's table in ONNX Runtime: graphs of onnx.helper whose inputs and outputs are
bound to arrays; for peer_threads.py."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import peer_loop
import peers_onnx_networks
import peers_onnx_sizes

OPTIONS = peer_loop.options()
random = np.random.default_rng(1)


def uniform(*dims, bound=1.0):
    return random.uniform(-bound, bound, dims).astype(np.float32)


def session_of(nodes, weights, inputs, outputs):
    """Of a graph of nodes: `weights` are arrays by name, `inputs` arrays or the dims of floats,
    `outputs` dims. A dim that changes from call to call is a name."""
    def value(name, dims, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, dims)

    graph = helper.make_graph(
        nodes, "row",
        [value(name, given.shape, helper.np_dtype_to_tensor_dtype(given.dtype))
         if isinstance(given, np.ndarray) else value(name, given)
         for name, given in inputs.items()],
        [value(name, dims) for name, dims in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = OPTIONS.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def work_of(nodes, weights, inputs, outputs):
    """Calls that read the inputs and write the same arrays of outputs each time."""
    session = session_of(nodes, weights, inputs, outputs)
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    results = {}
    for name, dims in outputs.items():
        results[name] = onnxruntime.OrtValue.ortvalue_from_shape_and_type(dims, np.float32)
        binding.bind_ortvalue_output(name, results[name])

    def work():
        session.run_with_iobinding(binding)
        return results

    return {"I/O binding": work}


def one_node(kind, inputs, dims, **attributes):
    node = helper.make_node(kind, list(inputs), ["y"], **attributes)
    return work_of([node], {}, inputs, {"y": dims})


def call(tiny):
    node = helper.make_node("Add", ["x", "one"], ["y"])
    return work_of([node], {"one": np.float32(1).reshape(())}, {"x": uniform(16)}, {"y": [16]})


def softmax_of(*dims):
    return one_node("Softmax", {"x": uniform(*dims)}, dims, axis=-1)


def softmax(tiny):
    return softmax_of(*((8, 10) if tiny else (8192, 1000)))


def softmax_small(tiny):
    return softmax_of(*((4, 10) if tiny else (64, 1000)))


def permuted(dims, pattern):
    return one_node("Transpose", {"x": uniform(*dims)}, [dims[axis] for axis in pattern],
                    perm=pattern)


def transpose_4096(tiny):
    return permuted([20, 20] if tiny else [4096, 4096], [1, 0])


def nhwc_to_nchw(tiny):
    return permuted([2, 3, 3, 5] if tiny else [32, 56, 56, 64], [0, 3, 1, 2])


def concat_4(tiny):
    rows, columns = (4, 5) if tiny else (2048, 512)
    parts = {f"x{i}": uniform(rows, columns) for i in range(4)}
    return one_node("Concat", parts, [rows, 4 * columns], axis=-1)


def gather_rows(tiny):
    rows, columns, count = (20, 8, 24) if tiny else (50000, 128, 16384)
    indices = random.integers(rows, size=count).astype(np.int32)
    return one_node("Gather", {"table": uniform(rows, columns), "indices": indices},
                    [count, columns], axis=0)


def cnn_inference(batch, tiny):
    """In ONNX's order of axes: samples, channels, rows, columns."""
    size, first, second, hidden, classes = (8, 2, 3, 4, 3) if tiny else (28, 32, 64, 128, 10)
    pixels = ((size - 4) // 2) ** 2 * second
    shapes = {"k1": (first, 1, 3, 3), "k2": (second, first, 3, 3), "w1": (pixels, hidden),
              "w2": (hidden, classes)}
    fan_in = {"k1": 9, "k2": 9 * first, "w1": pixels, "w2": hidden}
    weights = {name: uniform(*dims, bound=fan_in[name] ** -0.5) for name, dims in shapes.items()}
    for name, count in (("b1", first), ("b2", second), ("c1", hidden), ("c2", classes)):
        weights[name] = np.zeros(count, np.float32)
    node = helper.make_node
    nodes = [node("Conv", ["x", "k1", "b1"], ["p1"]), node("Relu", ["p1"], ["r1"]),
             node("Conv", ["r1", "k2", "b2"], ["p2"]), node("Relu", ["p2"], ["r2"]),
             node("MaxPool", ["r2"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Flatten", ["pooled"], ["flat"]),
             node("Gemm", ["flat", "w1", "c1"], ["p3"]), node("Relu", ["p3"], ["r3"]),
             node("Gemm", ["r3", "w2", "c2"], ["p4"]), node("Softmax", ["p4"], ["y"], axis=-1)]
    return work_of(nodes, weights, {"x": uniform(batch, 1, size, size)}, {"y": [batch, classes]})


def cnn_infer(tiny):
    return cnn_inference(2 if tiny else 64, tiny)


def cnn_infer_one(tiny):
    return cnn_inference(1, tiny)


ROWS = {row.__name__: row for row in (
    call, softmax, softmax_small, transpose_4096, nhwc_to_nchw, concat_4, gather_rows, cnn_infer,
    cnn_infer_one)}
ROWS.update(peers_onnx_sizes.rows(session_of, uniform))
ROWS.update(peers_onnx_networks.rows(work_of, uniform))

if __name__ == "__main__":
    peer_loop.Rows(ROWS).serve(f"ONNX Runtime {onnxruntime.__version__}")
