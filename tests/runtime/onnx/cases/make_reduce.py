"""Writes reduce.npz: reductions, running sums, norms."""

from case_file import CaseFile, floats, integers, np, vector

cases = CaseFile("reduce.npz")

MOVED = {"ReduceSum": 13}  # the opset in which axes became an input, else 18
for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
           "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]:
    low = 0.2 if op in ["ReduceLogSum", "ReduceProd"] else -2.0
    smooth = op not in ["ReduceMax", "ReduceMin"]
    moved = MOVED.get(op, 18)
    x, other = floats(2, 3, 4, low=low), floats(4, 3, 1, low=low)
    cases.node(f"{op}_attribute", op, [x], opset=11, axes=[1], second=[other], gradient=smooth)
    cases.node(f"{op}_input", op, [x, vector(-1, 0)], opset=moved, weights=[1], keepdims=0,
               second=[other], gradient=smooth)
    cases.node(f"{op}_all", op, [x], opset=moved, second=[other])
    cases.node(f"{op}_noop", op, [x], opset=moved, noop_with_empty_axes=1)
    cases.node(f"{op}_int32", op, [integers(3, 4, low=1, high=5, dtype=np.int32)], opset=11,
               axes=[0]) if op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd"] else None

for op in ["ArgMax", "ArgMin"]:
    ties = vector(1, 3, 3, 0, 0, 2, dtype=np.float32)
    cases.node(op, op, [floats(3, 4)], opset=13, axis=1, second=[floats(2, 7)])
    cases.node(f"{op}_first", op, [ties], opset=11, axis=0, keepdims=0)
    cases.node(f"{op}_last", op, [ties], opset=13, axis=-1, select_last_index=1)

for exclusive in [0, 1]:
    for reverse in [0, 1]:
        cases.node(f"CumSum_{exclusive}{reverse}", "CumSum", [floats(2, 3, 2), np.int64(1)],
                   opset=14, weights=[1], second=[floats(1, 4, 3)], gradient=True,
                   exclusive=exclusive, reverse=reverse)
cases.node("CumProd", "CumProd", [floats(4, low=0.5), np.int64(0)], opset=26, weights=[1])
for p in [1, 2]:
    cases.node(f"LpNormalization_{p}", "LpNormalization", [floats(2, 3)], opset=22, axis=1, p=p,
               second=[floats(3, 2)], gradient=True)
cases.node("LpNormalization_zero", "LpNormalization", [np.zeros((2, 2), np.float32)], opset=13)
cases.node("MeanVarianceNormalization", "MeanVarianceNormalization", [floats(2, 3, 2, 2)], opset=13,
           second=[floats(1, 3, 4, 1)], gradient=True)
for op in ["ReduceLogSum", "ReduceLogSumExp"]:
    cases.node(f"{op}_int32", op, [vector(3, 5, 7, 9, dtype=np.int32).reshape(2, 2), vector(1)],
               weights=[1], opset=18)

cases.write()
