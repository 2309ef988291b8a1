"""Writes indexed.npz: slices, gathers, scatters, selections and control flow."""

from case_file import CaseFile, TensorProto, bools, floats, helper, integers, np, vector

cases = CaseFile("indexed.npz")

END = np.iinfo(np.int64).max
cases.node("Slice_attributes", "Slice", [floats(4, 5)], opset=9, starts=[1, -3], ends=[END, -1],
           axes=[0, 1], second=[floats(3, 6)], gradient=True)
cases.node("Slice", "Slice", [floats(4, 6), vector(0, 1), vector(3, END), vector(0, 1),
                              vector(1, 2)], weights=[1, 2, 3, 4], opset=13,
           second=[floats(3, 5)], gradient=True)
cases.node("Slice_backward", "Slice", [floats(5, 6), vector(-1, 4), vector(-END, 0), vector(0, 1),
                                       vector(-1, -2)], weights=[1, 2, 3, 4], opset=13,
           second=[floats(2, 7)], gradient=True)
cases.node("Slice_beyond", "Slice", [floats(5), vector(-100), vector(100)], weights=[1, 2],
           opset=10, second=[floats(3)])
cases.node("Gather", "Gather", [floats(5, 3), vector(0, -1, 2)], weights=[1], opset=13,
           second=[floats(4, 2)], gradient=True)
cases.node("Gather_axis", "Gather", [floats(2, 5), vector(1, 4, -5).reshape(1, 3)], opset=11,
           axis=1, second=[floats(3, 6), vector(0, 5, -1).reshape(1, 3)], gradient=True)
cases.node("Gather_scalar", "Gather", [floats(5, 3), np.int64(-2)], weights=[1], opset=13)
cases.node("GatherElements", "GatherElements", [floats(3, 4), integers(3, 2, low=-4, high=4)],
           opset=13, axis=1, gradient=True)
cases.node("GatherND", "GatherND", [floats(2, 3, 4), vector(0, 1, 1, -1).reshape(2, 2)], opset=13,
           gradient=True, dims="static")
cases.node("GatherND_batch", "GatherND", [floats(2, 3, 4), vector(1, 2).reshape(2, 1)], opset=12,
           batch_dims=1, dims="static")
cases.node("OneHot", "OneHot", [vector(1, -1, 9, 0), np.int64(4), vector(2, 5, dtype=np.float32)],
           weights=[1, 2], opset=11, second=[vector(3, 2)])
cases.node("OneHot_axis", "OneHot", [integers(2, 3, low=0, high=4), np.int64(4),
                                     vector(0, 1, dtype=np.float32)], weights=[1, 2], opset=11,
           axis=1)
cases.node("ReverseSequence", "ReverseSequence", [floats(4, 3), vector(4, 1, 2)], opset=10,
           second=[floats(2, 1), vector(2)])

base, rows = floats(4, 3), vector(1, 0, 2, 3, 1, 0).reshape(2, 3)
for reduction in ["none", "add", "mul", "max", "min"]:
    cases.node(f"ScatterElements_{reduction}", "ScatterElements", [base, rows, floats(2, 3)],
               opset=18, reduction=reduction, gradient=reduction in ["none", "add"])
    cases.node(f"ScatterND_{reduction}", "ScatterND",
               [base, vector(1, 3).reshape(2, 1), floats(2, 3)], opset=18, reduction=reduction,
               dims="static")
cases.node("ScatterElements_axis", "ScatterElements", [base, vector(-1, 0).reshape(2, 1),
                                                       floats(2, 1)], opset=11, axis=1)
cases.node("Scatter", "Scatter", [base, rows, floats(2, 3)], opset=9)
cases.node("ScatterND_elements", "ScatterND", [base, vector(0, 1, 3, -1).reshape(2, 2), floats(2)],
           opset=11, dims="static")
for largest in [0, 1]:
    cases.node(f"TopK_{largest}", "TopK", [floats(3, 6), vector(3)], weights=[1], opset=11,
               outputs=2, largest=largest, second=[floats(2, 4)])
cases.node("TopK_ties", "TopK", [vector(1, 3, 3, 0, 3, dtype=np.float32), vector(4)], weights=[1],
           opset=11, outputs=2)
cases.node("TopK_10", "TopK", [floats(2, 5), vector(2)], weights=[1], opset=10, outputs=2, axis=0)
cases.node("NonZero", "NonZero", [np.array([[1, 0, 2], [0, 0, 3]], np.float32)], opset=13,
           second=[np.zeros((2, 2), np.float32)])
cases.node("Compress", "Compress", [floats(3, 4), np.array([True, False, True])], opset=11, axis=0)
cases.node("Unique", "Unique", [vector(2, 1, 1, 3, 2)], opset=11, outputs=4)
boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11], [0, 10.1, 1, 11.1]]], np.float32)
cases.node("NonMaxSuppression", "NonMaxSuppression",
           [boxes, np.array([[[0.9, 0.75, 0.6, 0.95]]], np.float32), vector(3),
            vector(0.5, dtype=np.float32), vector(0.0, dtype=np.float32)], weights=[2, 3, 4],
           opset=11, dims="static")


def branch(name, nodes):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(
        nodes[-1].output[0], TensorProto.FLOAT, None)])


# Decided by a size: the branches have different ranks.
cases.graph("If_size", [
    helper.make_node("Shape", ["x"], ["s"]),
    helper.make_node("Size", ["s"], ["r"]),
    helper.make_node("Equal", ["r", "two"], ["c"]),
    helper.make_node("If", ["c"], ["y"],
                     then_branch=branch("then", [helper.make_node("ReduceSum", ["x", "axis"], ["p"],
                                                                  keepdims=0)]),
                     else_branch=branch("else", [helper.make_node("Identity", ["x"], ["q"])])),
], [{"x": floats(2, 3)}, {"x": floats(4, 1)}], ["y"], {"two": np.int64(2), "axis": vector(1)},
            opset=13, gradient=True)
# Decided by data at each call.
cases.graph("If_data", [
    helper.make_node("If", ["c"], ["y"],
                     then_branch=branch("then", [helper.make_node("Mul", ["x", "x"], ["p"])]),
                     else_branch=branch("else", [helper.make_node("Neg", ["x"], ["q"])])),
], [{"c": np.array(True), "x": floats(3)}, {"c": np.array(False), "x": floats(2)}], ["y"], opset=13,
            gradient=True)


def info(name, kind=TensorProto.FLOAT, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


body = helper.make_graph([
    helper.make_node("Identity", ["go"], ["again"]),
    helper.make_node("Mul", ["h", "w"], ["m"]),
    helper.make_node("Add", ["m", "x"], ["k"]),
    helper.make_node("Identity", ["k"], ["o"]),
], "body", [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("h", dims=["n"])],
    [info("again", TensorProto.BOOL), info("k"), info("o")])
cases.graph("Loop", [helper.make_node("Loop", ["trips", "", "x"], ["last", "all"], body=body)],
            [{"x": floats(3)}, {"x": floats(2)}], ["last", "all"],
            {"trips": np.int64(4), "w": vector(0.5, dtype=np.float32)}, opset=13, gradient=True)
# Collatz steps: the condition depends on data, and so does the number of stacked outputs.
collatz = [
    helper.make_node("Mod", ["h", "two"], ["odd"]),
    helper.make_node("Cast", ["odd"], ["is_odd"], to=TensorProto.BOOL),
    helper.make_node("Div", ["h", "two"], ["half"]),
    helper.make_node("Mul", ["h", "three"], ["tripled"]),
    helper.make_node("Add", ["tripled", "one"], ["more"]),
    helper.make_node("Where", ["is_odd", "more", "half"], ["k"]),
    helper.make_node("Greater", ["k", "one"], ["again"]),
    helper.make_node("Identity", ["k"], ["o"]),
]
numbers = {"one": np.int64(1), "two": np.int64(2), "three": np.int64(3)}
starts = [{"x": np.array(number, np.int64)} for number in [27, 6, 1]]


def collatz_body(*outputs):
    ends = [info("again", TensorProto.BOOL, []), *[info(o, TensorProto.INT64, []) for o in outputs]]
    return helper.make_graph(collatz, "collatz", [info("i", TensorProto.INT64, []),
                                                  info("go", TensorProto.BOOL, []),
                                                  info("h", TensorProto.INT64, [])], ends)


cases.graph("Loop_while_stacked", [
    helper.make_node("Greater", ["x", "one"], ["go"]),
    helper.make_node("Loop", ["most", "go", "x"], ["last", "all"], body=collatz_body("k", "o")),
], starts, ["last", "all"], {**numbers, "most": np.int64(300)}, opset=13)
cases.graph("Loop_while", [
    helper.make_node("Loop", ["", "yes", "x"], ["last"], body=collatz_body("k")),
], starts, ["last"], {**numbers, "yes": np.array(True)}, opset=13)
step = helper.make_graph([
    helper.make_node("Add", ["h", "x"], ["k"]),
    helper.make_node("Tanh", ["k"], ["o"]),
], "step", [info("h", dims=[2]), info("x", dims=[2])], [info("k", dims=[2]), info("o", dims=[2])])
cases.graph("Scan", [helper.make_node("Scan", ["h0", "xs"], ["last", "all"], body=step,
                                      num_scan_inputs=1)],
            [{"h0": floats(2), "xs": floats(4, 2)}, {"h0": floats(2), "xs": floats(3, 2)}],
            ["last", "all"], opset=11, gradient=True, dims={"h0": [2], "xs": ["t", 2]})

for largest in [0, 1]:  # more than the bits of an element
    cases.node(f"TopK_many_{largest}", "TopK", [floats(3, 50), vector(40)], weights=[1], opset=24,
               outputs=2, largest=largest, second=[floats(2, 40)])
    many = integers(70, 2, low=-9, high=9, dtype=np.int32)
    cases.node(f"TopK_many_equal_{largest}", "TopK", [many, vector(66)], weights=[1], opset=11,
               outputs=2, axis=0, largest=largest)
distinct = np.argsort(floats(37)) / 8 - 2
for dtype in [np.float16, np.float32]:
    cases.node(f"TopK_every_{np.dtype(dtype)}", "TopK", [distinct.astype(dtype), vector(37)],
               weights=[1], opset=11, outputs=2, gradient=dtype == np.float32)
cases.node("TopK_fed", "TopK", [floats(4, 6), vector(2)], opset=11, outputs=2,
           second=[floats(3, 8), vector(5)])
cases.node("Slice_far_steps", "Slice", [np.arange(12, dtype=np.float32).reshape(3, 4),
                                        vector(1, -1), vector(END, -END), vector(0, 1),
                                        vector(END, -END - 1)], weights=[1, 2, 3, 4], opset=13)
# The inner loop makes as many steps as the outer one has begun.
inner = helper.make_graph([
    helper.make_node("Add", ["b", "x"], ["b2"]),
    helper.make_node("Identity", ["go"], ["go2"]),
], "inner", [info("j", TensorProto.INT64, []), info("go", TensorProto.BOOL, []),
             info("b", dims=["n"])], [info("go2", TensorProto.BOOL, []), info("b2", dims=["n"])])
outer = helper.make_graph([
    helper.make_node("Add", ["i", "one"], ["steps"]),
    helper.make_node("Loop", ["steps", "on", "a"], ["a2"], body=inner),
    helper.make_node("Identity", ["on"], ["on2"]),
    helper.make_node("ReduceSum", ["a2"], ["s"], keepdims=0),
], "outer", [info("i", TensorProto.INT64, []), info("on", TensorProto.BOOL, []),
             info("a", dims=["n"])], [info("on2", TensorProto.BOOL, []), info("a2", dims=["n"]),
                                      info("s", dims=[])])
cases.graph("Loop_in_loop", [
    helper.make_node("Loop", ["trips", "", "x"], ["last", "all"], body=outer),
], [{"x": floats(3), "trips": np.array(300)}, {"x": floats(2), "trips": np.array(2)}],
            ["last", "all"], {"one": np.int64(1)}, opset=13)
unordered = np.array([[3, np.nan, np.inf, -0.0, 0, -np.inf, -2, np.nan]], np.float32)
for largest, order in [(0, [5, 6, 3, 4, 0, 2, 1, 7]), (1, [1, 7, 2, 0, 3, 4, 6, 5])]:
    for dtype in [np.float16, np.float32, np.float64]:
        given = unordered.astype(dtype)
        cases.node(f"TopK_NaN_{np.dtype(dtype)}_{largest}", "TopK", [given, vector(8)], weights=[1],
                   opset=11, outputs=2, largest=largest,
                   expected=[[given[:, order], np.array([order])]])

cases.write()
