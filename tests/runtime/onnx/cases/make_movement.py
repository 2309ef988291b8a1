"""Writes movement.npz: operators that move elements, constants, shapes."""

from case_file import CaseFile, TensorProto, floats, helper, integers, np, numpy_helper, vector

cases = CaseFile("movement.npz")

cases.node("Reshape", "Reshape", [floats(2, 3, 4), vector(0, -1)], opset=14, weights=[1],
           second=[floats(5, 3, 4)], gradient=True, dims={"a": ["n", 3, 4]})
cases.node("Reshape_allowzero", "Reshape", [np.zeros((0, 3), np.float32), vector(3, 0)],
           opset=14, weights=[1], allowzero=1)
cases.node("Transpose", "Transpose", [floats(2, 3, 4)], opset=13, perm=[1, 2, 0],
           second=[floats(1, 5, 2)], gradient=True)
cases.node("Transpose_default", "Transpose", [floats(2, 3, 4)], opset=13)
cases.node("Squeeze_attribute", "Squeeze", [floats(1, 3, 1)], opset=11, axes=[0, -1],
           second=[floats(1, 5, 1)])
cases.node("Squeeze_input", "Squeeze", [floats(1, 3, 1), vector(0)], opset=13, weights=[1],
           second=[floats(1, 5, 2)], gradient=True)
cases.node("Squeeze_all", "Squeeze", [floats(1, 3, 1)], opset=13, dims="static")
cases.node("Unsqueeze_attribute", "Unsqueeze", [floats(3)], opset=11, axes=[0, 2])
cases.node("Unsqueeze_input", "Unsqueeze", [floats(3, 2), vector(-1, 1)], opset=13, weights=[1],
           second=[floats(5, 1)], gradient=True)
for axis in [0, 1, 3, -1]:
    cases.node(f"Flatten_{axis}", "Flatten", [floats(2, 3, 4)], opset=13, axis=axis,
               second=[floats(1, 3, 5)])
cases.node("Concat", "Concat", [floats(2, 3), floats(2, 1)], opset=13, axis=1, gradient=True,
           dims={"a": ["n", 3], "b": ["n", "m"]}, second=[floats(4, 3), floats(4, 2)])
cases.node("Expand", "Expand", [floats(3, 1), vector(2, 1, 4)], opset=13, weights=[1],
           gradient=True, dims={"a": [3, 1]})
cases.node("Expand_computed", "Expand", [floats(1, 2), vector(3, 2)], opset=13,
           dims={"a": [1, 2], "b": [2]}, second=[floats(1, 2), vector(5, 2)])
cases.node("Tile", "Tile", [floats(2, 3), vector(2, 3)], opset=13, weights=[1],
           second=[floats(1, 4)], gradient=True)
cases.node("Split_equal", "Split", [floats(6, 2)], opset=13, outputs=3, second=[floats(9, 1)],
           gradient=True)
cases.node("Split_attribute", "Split", [floats(2, 5)], opset=11, outputs=2, axis=1, split=[2, 3],
           dims={"a": ["n", 5]}, second=[floats(3, 5)])
cases.node("Split_input", "Split", [floats(2, 5), vector(4, 1)], opset=13, outputs=2, axis=-1,
           weights=[1], dims={"a": ["n", 5]}, second=[floats(3, 5)])
cases.node("Split_uneven", "Split", [floats(7)], opset=18, outputs=3, num_outputs=3)
for mode in ["DCR", "CRD"]:
    cases.node(f"DepthToSpace_{mode}", "DepthToSpace", [floats(1, 8, 2, 3)], opset=13, blocksize=2,
               mode=mode, second=[floats(2, 4, 1, 2)], gradient=True)
cases.node("SpaceToDepth", "SpaceToDepth", [floats(1, 2, 4, 6)], opset=13, blocksize=2,
           second=[floats(2, 1, 2, 4)], gradient=True)
for upper in [0, 1]:
    cases.node(f"Trilu_{upper}", "Trilu", [floats(2, 3, 4), np.int64(upper - 1)], opset=14,
               weights=[1], upper=upper, second=[floats(1, 4, 3)], gradient=True)

for name, attribute in {
        "float": {"value_float": 2.5}, "floats": {"value_floats": [1.0, 2.0]},
        "int": {"value_int": 7}, "ints": {"value_ints": [1, 2]},
        "tensor": {"value": numpy_helper.from_array(np.eye(3, dtype=np.float32))}}.items():
    cases.graph(f"Constant_{name}", [helper.make_node("Constant", [], ["y"], **attribute)], [{}],
                ["y"], opset=13)
cases.graph("Constant_large",
            [helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(
                floats(40, 30))),
             helper.make_node("ReduceSum", ["w"], ["y"])], [{}], ["y"], opset=13)
cases.node("ConstantOfShape", "ConstantOfShape", [vector(2, 3)], opset=9, weights=[0],
           value=numpy_helper.from_array(vector(5, dtype=np.int32)))
cases.node("ConstantOfShape_computed", "ConstantOfShape", [vector(2, 3)], opset=9, dims="static",
           second=[vector(4, 1)])
cases.node("Shape", "Shape", [floats(2, 3, 4)], opset=15, second=[floats(1, 0, 7)])
cases.node("Shape_slice", "Shape", [floats(2, 3, 4)], opset=15, start=-2, end=3)
cases.node("Size", "Size", [floats(2, 3)], opset=13, second=[floats(4, 0)])
cases.node("Range", "Range", [np.int64(1), np.int64(10), np.int64(3)], opset=11,
           weights=[0, 1, 2])
cases.node("Range_down", "Range", [np.int32(10), np.int32(4), np.int32(-2)], opset=11,
           weights=[0, 1, 2])
cases.node("EyeLike", "EyeLike", [floats(3, 4)], opset=9, k=1, dtype=TensorProto.INT32,
           second=[floats(2, 2)])

# Shape, Gather, Concat, Reshape: the sizes stay symbolic, so that one function serves both calls.
cases.graph("shape_chain", [
    helper.make_node("Shape", ["x"], ["s"]),
    helper.make_node("Split", ["s"], ["n", "c", "h", "w"]),
    helper.make_node("Mul", ["h", "w"], ["p"]),
    helper.make_node("Concat", ["n", "p", "c"], ["t"], axis=0),
    helper.make_node("Transpose", ["x"], ["z"], perm=[0, 2, 3, 1]),
    helper.make_node("Reshape", ["z", "t"], ["y"]),
], [{"x": floats(2, 3, 4, 5)}, {"x": floats(1, 2, 6, 2)}], ["y"], opset=13, gradient=True)
# Half the height by float arithmetic, as old exporters write resizes.
cases.graph("shape_floats", [
    helper.make_node("Shape", ["x"], ["s"]),
    helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
    helper.make_node("Mul", ["f", "half"], ["g"]),
    helper.make_node("Floor", ["g"], ["k"]),
    helper.make_node("Cast", ["k"], ["i"], to=TensorProto.INT64),
    helper.make_node("ConstantOfShape", ["i"], ["y"]),
], [{"x": floats(5, 4)}, {"x": floats(2, 3)}], ["y"], {"half": vector(0.5, dtype=np.float32)},
            opset=13)
# A function of the model, with an attribute of the call and a default.
scaled = helper.make_function(
    "local", "Scaled", ["v"], ["w"],
    [helper.make_node("LeakyRelu", ["v"], ["w"])], [helper.make_opsetid("", 16)], ["alpha"])
scaled.node[0].attribute.add(name="alpha", ref_attr_name="alpha", type=1)
cases.graph("local_function", [
    helper.make_node("Scaled", ["x"], ["a"], domain="local", alpha=0.5),
    helper.make_node("Scaled", ["a"], ["y"], domain="local"),
], [{"x": floats(6)}, {"x": floats(3)}], ["y"], opset=16, functions=[scaled],
            opsets=[helper.make_opsetid("local", 1)], gradient=True)

cases.write()
