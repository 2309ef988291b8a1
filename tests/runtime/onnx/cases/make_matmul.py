"""Writes matmul.npz: matrix products, recurrent layers, attention, quantisation, losses, signals."""

from case_file import CaseFile, floats, integers, np, vector

cases = CaseFile("matmul.npz")

cases.node("MatMul", "MatMul", [floats(2, 3, 4), floats(4, 5)], weights=[1], gradient=True,
           dims={"a": ["n", "t", 4]}, second=[floats(1, 2, 4)])
cases.node("MatMul_batched", "MatMul", [floats(2, 1, 3, 4), floats(5, 4, 2)],
           dims={"a": ["n", 1, "t", 4], "b": [5, 4, 2]}, second=[floats(3, 1, 1, 4), floats(5, 4, 2)])
cases.node("MatMul_vector", "MatMul", [floats(4), floats(4, 3)], weights=[1], gradient=True,
           dims={"a": [4]})
cases.node("Gemm", "Gemm", [floats(2, 4), floats(3, 4), floats(3)], weights=[1, 2], transB=1,
           dims={"a": ["n", 4]}, second=[floats(5, 4)], gradient=True)
cases.node("Gemm_scaled", "Gemm", [floats(4, 2), floats(4, 3), floats(2, 1)], alpha=0.5, beta=2.0,
           transA=1, gradient=True, dims="static")
cases.node("Gemm_two", "Gemm", [floats(2, 4), floats(4, 3)], weights=[1], opset=11,
           dims={"a": ["n", 4]}, second=[floats(1, 4)])
for name, equation, shapes in [
        ("product", "bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]), ("trace", "ii->i", [(3, 3)]),
        ("ellipsis", "...ij->...ji", [(2, 3, 4)]), ("implicit", "ij,jk", [(2, 3), (3, 2)]),
        ("three", "ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)])]:
    cases.node(f"Einsum_{name}", "Einsum", [floats(*s) for s in shapes], opset=12,
               equation=equation, gradient=True, dims="static")
cases.node("Det", "Det", [floats(2, 3, 3)], opset=11, dims="static")

for op, gates in [("RNN", 1), ("LSTM", 4), ("GRU", 3)]:
    outputs = 3 if op == "LSTM" else 2
    def weights(directions, n=3, u=2):
        return [floats(directions, gates * u, n, low=-0.7, high=0.7),
                floats(directions, gates * u, u, low=-0.7, high=0.7),
                floats(directions, 2 * gates * u, low=-0.5, high=0.5)]
    sizes = {"a": ["t", "n", 3]}
    cases.node(op, op, [floats(4, 2, 3), *weights(1)], weights=[1, 2, 3], outputs=outputs,
               hidden_size=2, dims=sizes, second=[floats(6, 1, 3)], gradient=True, opset=14)
    cases.node(f"{op}_reverse", op, [floats(4, 2, 3), *weights(1)], weights=[1, 2, 3],
               outputs=outputs, hidden_size=2, direction="reverse", dims=sizes,
               second=[floats(3, 5, 3)], opset=7)
    states = [floats(2, 2, 2) for _ in range(outputs - 1)]
    cases.node(f"{op}_bidirectional", op,
               [floats(4, 2, 3), *weights(2), vector(4, 2, dtype=np.int32), *states],
               weights=[1, 2, 3], outputs=outputs, hidden_size=2, direction="bidirectional",
               dims="static", opset=14)
    cases.node(f"{op}_clip", op, [floats(4, 2, 3), *weights(1)], weights=[1, 2, 3],
               outputs=outputs, hidden_size=2, clip=0.3, dims=sizes, second=[floats(2, 1, 3)],
               opset=14)
    cases.node(f"{op}_last", op, [floats(4, 2, 3), *weights(1)], weights=[1, 2, 3],
               outputs=outputs, hidden_size=2, omitted=[0], dims=sizes, second=[floats(2, 1, 3)],
               opset=14)
peepholes = floats(1, 6)
cases.node("LSTM_peepholes", "LSTM",
           [floats(3, 2, 3), floats(1, 8, 3), floats(1, 8, 2), floats(1, 16), None, None, None,
            peepholes], weights=[1, 2, 3, 7], outputs=3, hidden_size=2, dims={"a": ["t", "n", 3]},
           opset=14)
cases.node("GRU_after", "GRU", [floats(3, 2, 3), floats(1, 6, 3), floats(1, 6, 2), floats(1, 12)],
           weights=[1, 2, 3], outputs=2, hidden_size=2, linear_before_reset=1,
           dims={"a": ["t", "n", 3]}, second=[floats(5, 1, 3)], opset=14, gradient=True)
cases.node("RNN_activation", "RNN", [floats(3, 2, 3), floats(1, 2, 3), floats(1, 2, 2)],
           weights=[1, 2], outputs=2, hidden_size=2, activations=["Relu"], opset=14,
           dims={"a": ["t", "n", 3]})

q, k, v = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
cases.node("Attention", "Attention", [q, k, v], opset=23, dims="static")
cases.node("Attention_causal", "Attention", [floats(2, 2, 4, 8), floats(2, 2, 4, 8),
                                             floats(2, 2, 4, 8)], opset=23, is_causal=1,
           dims="static")
cases.node("Attention_masked", "Attention", [q, k, v, floats(3, 5)], opset=23, softcap=2.0,
           dims="static")
cases.node("RotaryEmbedding", "RotaryEmbedding", [floats(2, 3, 4, 8), floats(2, 4, 4),
                                                  floats(2, 4, 4)], opset=23, dims="static")

cases.node("LinearAttention", "LinearAttention", [floats(2, 3, 8), floats(2, 3, 8), floats(2, 3, 8)],
           opset=27, q_num_heads=2, kv_num_heads=2, outputs=2, dims="static",
           update_rule="linear")
cases.node("CausalConvWithState", "CausalConvWithState", [floats(2, 3, 6), floats(3, 1, 4)],
           weights=[1], opset=27, outputs=2, dims="static")
cases.node("TensorScatter", "TensorScatter", [floats(2, 1, 5, 3), floats(2, 1, 2, 3), vector(1, 3)],
           opset=24, dims="static")

x, scale, zero = floats(3, 4, high=6), np.float32(0.1), np.uint8(20)
cases.node("QuantizeLinear", "QuantizeLinear", [x, scale, zero], weights=[1, 2], opset=13,
           second=[floats(1, 6)])
cases.node("QuantizeLinear_axis", "QuantizeLinear",
           [x, vector(0.1, 0.2, 0.05, dtype=np.float32), vector(0, 3, -4, dtype=np.int8)],
           weights=[1, 2], opset=13, axis=0, dims={"a": [3, "n"]})
cases.node("DequantizeLinear", "DequantizeLinear", [integers(3, 4, low=0, high=99, dtype=np.uint8),
                                                    scale, zero], weights=[1, 2], opset=13,
           second=[integers(2, 2, low=0, high=99, dtype=np.uint8)])
cases.node("DequantizeLinear_axis", "DequantizeLinear",
           [integers(3, 4, dtype=np.int8), vector(0.1, 0.2, 0.05, dtype=np.float32)], weights=[1],
           opset=13, axis=0, dims={"a": [3, "n"]})
cases.node("DynamicQuantizeLinear", "DynamicQuantizeLinear", [x], outputs=3, opset=11,
           second=[floats(5, 1)])
a8, b8 = integers(2, 3, low=0, high=99, dtype=np.uint8), integers(3, 4, low=0, high=99, dtype=np.uint8)
cases.node("MatMulInteger", "MatMulInteger", [a8, b8, np.uint8(7), np.uint8(9)],
           weights=[1, 2, 3], opset=10, dims={"a": ["n", 3]})
cases.node("QLinearMatMul", "QLinearMatMul",
           [a8, scale, zero, b8, np.float32(0.02), np.uint8(3), np.float32(0.5), np.uint8(100)],
           weights=[1, 2, 3, 4, 5, 6, 7], opset=10, dims={"a": ["n", 3]})
image = integers(1, 2, 5, 5, low=0, high=99, dtype=np.uint8)
filters = integers(3, 2, 2, 2, low=0, high=99, dtype=np.uint8)
cases.node("ConvInteger", "ConvInteger", [image, filters, np.uint8(4)], weights=[1, 2], opset=10,
           dims={"a": ["n", 2, "h", "w"]})
cases.node("QLinearConv", "QLinearConv",
           [image, scale, zero, filters, np.float32(0.02), np.uint8(3), np.float32(0.5),
            np.uint8(100)], weights=[1, 2, 3, 4, 5, 6, 7], opset=10,
           dims={"a": ["n", 2, "h", "w"]})

scores, labels = floats(3, 5), vector(1, 0, 4)
for reduction in ["none", "mean", "sum"]:
    cases.node(f"NegativeLogLikelihoodLoss_{reduction}", "NegativeLogLikelihoodLoss",
               [scores, labels], opset=13, reduction=reduction, dims="static", gradient=True)
    cases.node(f"SoftmaxCrossEntropyLoss_{reduction}", "SoftmaxCrossEntropyLoss",
               [scores, labels, floats(5, low=0.2)], weights=[2], opset=13, reduction=reduction,
               outputs=2, dims="static", gradient=True)
cases.node("SoftmaxCrossEntropyLoss_ignore", "SoftmaxCrossEntropyLoss",
           [floats(2, 4, 3), integers(2, 3, low=0, high=4)], opset=13, ignore_index=2,
           dims="static")

signal = floats(1, 16, 1)
cases.node("DFT", "DFT", [signal], opset=17, axis=1, dims="static")
cases.node("DFT_onesided", "DFT", [signal], opset=17, axis=1, onesided=1, dims="static")
cases.node("STFT", "STFT", [signal, np.int64(4), floats(8)], weights=[1, 2], opset=17,
           dims="static")
for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
    cases.node(op, op, [np.int64(9)], weights=[0], opset=17)
    cases.node(f"{op}_symmetric", op, [np.int64(9)], weights=[0], opset=17, periodic=0)
cases.node("MelWeightMatrix", "MelWeightMatrix",
           [np.int64(6), np.int64(16), np.int64(8000), np.float32(0), np.float32(4000)],
           weights=[0, 1, 2, 3, 4], opset=17)

cases.write()
