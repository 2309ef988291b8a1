"""Writes random.npz: random draws, whose values are Kiln's own."""

from case_file import CaseFile, TensorProto, floats, np

cases = CaseFile("random.npz")

for op in ["RandomNormal", "RandomUniform"]:
    cases.node(op, op, [], opset=22, shape=[3, 4], seed=1.0, random=True)
    cases.node(f"{op}_double", op, [], opset=13, shape=[5], dtype=TensorProto.DOUBLE, random=True)
    cases.node(f"{op}Like", f"{op}Like", [floats(2, 3)], opset=22, second=[floats(5, 1)],
               random=True)
cases.node("Bernoulli", "Bernoulli", [floats(4, 3, low=0, high=1)], opset=15, random=True,
           second=[floats(1, 2, low=0, high=1)])
cases.node("Multinomial", "Multinomial", [floats(2, 5)], opset=7, sample_size=6, random=True,
           dtype=TensorProto.INT64, dims={"a": ["n", 5]})
cases.node("RandomUniform_between", "RandomUniform", [], opset=22, shape=[40], low=5.0, high=6.0,
           random=True)
cases.node("RandomNormal_far", "RandomNormal", [], opset=22, shape=[40], mean=100.0, scale=2.0,
           random=True)

cases.write()
