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

    def calls_of(session, bindings, memory=None):
        """`memory`: what the bindings refer to and do not own."""
        def work():
            for binding in bindings:
                session.run_with_iobinding(binding)
            return bindings, memory

        return {"I/O binding": work}

    def round_of(nodes, weights, width, output, counts):
        """Calls on each of `counts` rows of `width`; `output`: the name of a result like x."""
        session = session_of(nodes, weights, {"x": ["n", width]}, {output: ["n", width]})
        bindings = []
        for count in counts:
            binding = session.io_binding()
            binding.bind_ortvalue_input(
                "x", onnxruntime.OrtValue.ortvalue_from_numpy(uniform(count, width)))
            binding.bind_ortvalue_output(output, onnxruntime.OrtValue.ortvalue_from_shape_and_type(
                [count, width], np.float32))
            bindings.append(binding)
        return calls_of(session, bindings)

    def rotate(count, tiny):
        width = 8 if tiny else 256
        weights = {f"w{i}": matrix(width, width) for i in range(3)}
        nodes, last = [], "x"
        for i in range(3):
            nodes += [node("MatMul", [last, f"w{i}"], [f"p{i}"]), node("Relu", [f"p{i}"], [f"y{i}"])]
            last = f"y{i}"
        return round_of(nodes, weights, width, last, [64 * i // count for i in range(1, count + 1)])

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
        return round_of(split + same + rest, weights, width, "y",
                        [2 * n for n in range(1, (4 if tiny else 64) + 1)])

    def decode_cache(tiny):
        width, heads, weights, split, rest = layer(tiny)
        head = width // heads
        grow = [node("Concat", ["past_k", "k"], ["keys"], axis=1),
                node("Concat", ["past_v", "v"], ["values"], axis=1)]
        inputs = {"x": [1, width], "past_k": [heads, "n", head], "past_v": [heads, "n", head]}
        outputs = {"y": [1, width], "keys": [heads, "m", head], "values": [heads, "m", head]}
        session = session_of(split + grow + rest, weights, inputs, outputs)
        steps = 4 if tiny else 256
        x, y = uniform(1, width), uniform(1, width)
        # The caches before and after a call: two buffers that take turns.
        caches = [[uniform(heads, steps + 1, head) for _ in "kv"] for _ in range(2)]
        bindings = []
        for n in range(1, steps + 1):
            binding = session.io_binding()

            def bind(function, name, dims, array):
                function(name, "cpu", 0, np.float32, dims, array.ctypes.data)

            bind(binding.bind_input, "x", x.shape, x)
            bind(binding.bind_output, "y", y.shape, y)
            past, present = caches[n % 2], caches[(n + 1) % 2]
            for i, (before, after) in enumerate((("past_k", "keys"), ("past_v", "values"))):
                bind(binding.bind_input, before, [heads, n, head], past[i])
                bind(binding.bind_output, after, [heads, n + 1, head], present[i])
            bindings.append(binding)
        return calls_of(session, bindings, (x, y, caches))

    return {"rotate_2": lambda tiny: rotate(2, tiny), "rotate_8": lambda tiny: rotate(8, tiny),
            "rotate_64": lambda tiny: rotate(64, tiny), "decode_cache": decode_cache,
            "encode_64": encode_64}
