"""The rows of sizes.cpp in ONNX Runtime: sizes that change from call to call. One session serves
all sizes; inputs and outputs are bound to arrays."""
import numpy as np
import onnxruntime
from onnx import helper


def rows(session_of, uniform):
    """`session_of` and `uniform`: of peers_onnx.py."""
    node = helper.make_node

    def matrix(rows, columns):
        return uniform(rows, columns, bound=rows ** -0.5)

    def round_of(nodes, weights, inputs, outputs, feeds, result_dims):
        """`inputs`, `outputs`: dims by name, with the names of those that change. `result_dims`:
        of each output by name, from a feed."""
        session = session_of(nodes, weights, inputs, outputs)
        bindings = []
        for feed in feeds:
            binding = session.io_binding()
            for name, array in feed.items():
                binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
            for name, dims in result_dims(feed).items():
                binding.bind_ortvalue_output(
                    name, onnxruntime.OrtValue.ortvalue_from_shape_and_type(dims, np.float32))
            bindings.append(binding)

        def work():
            for binding in bindings:
                session.run_with_iobinding(binding)
            return bindings

        return {"I/O binding": work}

    def rotate(count, tiny):
        width = 8 if tiny else 256
        weights = {f"w{i}": matrix(width, width) for i in range(3)}
        nodes, last = [], "x"
        for i in range(3):
            nodes += [node("MatMul", [last, f"w{i}"], [f"p{i}"]), node("Relu", [f"p{i}"], [f"y{i}"])]
            last = f"y{i}"
        feeds = [{"x": uniform(64 * i // count, width)} for i in range(1, count + 1)]
        return round_of(nodes, weights, {"x": ["n", width]}, {last: ["n", width]}, feeds,
                        lambda feed: {last: feed["x"].shape})

    def layer(tiny):
        """The sizes, the weights, the nodes of the heads of q, k and v, and those from q, keys and
        values to y."""
        width, heads, hidden = (8, 2, 12) if tiny else (128, 4, 512)
        weights = {name: matrix(width, width) for name in ("wq", "wk", "wv", "wo")}
        weights.update(first=matrix(width, hidden), second=matrix(hidden, width),
                       scale=np.float32((width // heads) ** -0.5).reshape(()),
                       ones=np.ones(width, np.float32),
                       split=np.array([-1, heads, width // heads], np.int64),
                       join=np.array([-1, width], np.int64))
        split = []
        for name in "qkv":
            split += [node("MatMul", ["x", "w" + name], [name + "1"]),
                      node("Reshape", [name + "1", "split"], [name + "2"]),
                      node("Transpose", [name + "2"], [name], perm=[1, 0, 2])]
        rest = [node("Transpose", ["keys"], ["kt"], perm=[0, 2, 1]),
                node("MatMul", ["q", "kt"], ["s1"]), node("Mul", ["s1", "scale"], ["s2"]),
                node("Softmax", ["s2"], ["s3"], axis=-1),
                node("MatMul", ["s3", "values"], ["m1"]),
                node("Transpose", ["m1"], ["m2"], perm=[1, 0, 2]),
                node("Reshape", ["m2", "join"], ["m3"]), node("MatMul", ["m3", "wo"], ["m4"]),
                node("Add", ["x", "m4"], ["a1"]),
                node("LayerNormalization", ["a1", "ones"], ["a2"], axis=-1),
                node("MatMul", ["a2", "first"], ["h1"]), node("Relu", ["h1"], ["h2"]),
                node("MatMul", ["h2", "second"], ["h3"]), node("Add", ["a2", "h3"], ["a3"]),
                node("LayerNormalization", ["a3", "ones"], ["y"], axis=-1)]
        return width, heads, weights, split, rest

    def encode_64(tiny):
        width, _, weights, split, rest = layer(tiny)
        same = [node("Identity", ["k"], ["keys"]), node("Identity", ["v"], ["values"])]
        feeds = [{"x": uniform(2 * n, width)} for n in range(1, (4 if tiny else 64) + 1)]
        return round_of(split + same + rest, weights, {"x": ["n", width]}, {"y": ["n", width]},
                        feeds, lambda feed: {"y": feed["x"].shape})

    def decode_cache(tiny):
        width, heads, weights, split, rest = layer(tiny)
        head = width // heads
        grow = [node("Concat", ["past_k", "k"], ["keys"], axis=1),
                node("Concat", ["past_v", "v"], ["values"], axis=1)]
        feeds = []
        for n in range(1, (4 if tiny else 256) + 1):
            cache = uniform(heads, n, head)
            feeds.append({"x": uniform(1, width), "past_k": cache, "past_v": cache})

        def result_dims(feed):
            grown = [heads, feed["past_k"].shape[1] + 1, head]
            return {"y": [1, width], "keys": grown, "values": grown}

        inputs = {"x": [1, width], "past_k": [heads, "n", head], "past_v": [heads, "n", head]}
        outputs = {"y": [1, width], "keys": [heads, "m", head], "values": [heads, "m", head]}
        return round_of(split + grow + rest, weights, inputs, outputs, feeds, result_dims)

    return {"rotate_2": lambda tiny: rotate(2, tiny), "rotate_8": lambda tiny: rotate(8, tiny),
            "rotate_64": lambda tiny: rotate(64, tiny), "decode_cache": decode_cache,
            "encode_64": encode_64}
