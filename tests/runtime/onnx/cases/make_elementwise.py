"""Writes elementwise.npz: arithmetic, comparisons, logic, functions of one operand, activations."""

from case_file import CaseFile, TensorProto, bools, floats, integers, np, vector

cases = CaseFile("elementwise.npz")

for op in ["Abs", "Neg", "Exp", "Sin", "Cos", "Tanh", "Sigmoid", "Softplus", "Softsign", "Relu",
           "LeakyRelu", "Elu", "Selu", "HardSigmoid"]:
    cases.node(op, op, [floats(2, 3)], second=[floats(5, 1)], gradient=True, opset=13)
for op, opset in [("Ceil", 13), ("Floor", 13), ("Round", 11), ("Sign", 13)]:
    special = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan], np.float32)
    cases.node(op, op, [special], second=[floats(3)], opset=opset)
for op, opset in [("Erf", 13), ("Sinh", 9), ("Cosh", 9), ("Asinh", 9), ("Tan", 7), ("Celu", 12),
                  ("ThresholdedRelu", 10), ("HardSwish", 14), ("Mish", 18), ("Gelu", 20),
                  ("Shrink", 9)]:
    cases.node(op, op, [floats(4, 3, low=-1.4, high=1.4)], second=[floats(1, 2)], opset=opset,
               gradient=op not in ["ThresholdedRelu", "Shrink"])
for op, low in [("Log", 0.1), ("Sqrt", 0.1), ("Reciprocal", 0.5), ("Acosh", 1.1)]:
    cases.node(op, op, [floats(3, 2, low=low, high=3)], gradient=True, opset=13)
cases.node("Atanh", "Atanh", [floats(5, low=-0.9, high=0.9)], gradient=True, opset=9)
cases.node("Sinh_large", "Sinh", [vector(-80, 30, 1e-4, dtype=np.float32)], opset=9)
cases.node("Gelu_tanh", "Gelu", [floats(4)], opset=20, gradient=True, approximate="tanh")
cases.node("Swish", "Swish", [floats(4)], opset=24, gradient=True, alpha=1.5)
cases.node("SwiGLU", "SwiGLU", [floats(4), floats(4)], opset=28, gradient=True, alpha=1.5)
cases.node("LeakyRelu_alpha", "LeakyRelu", [floats(6)], opset=16, alpha=0.3, gradient=True)
cases.node("Selu_gamma", "Selu", [floats(6)], opset=6, alpha=2.0, gamma=3.0, gradient=True)
cases.node("Elu_large", "Elu", [vector(100, -100, dtype=np.float32)], opset=6, gradient=True)
cases.node("PRelu", "PRelu", [floats(2, 3, 4), floats(3, 1)], opset=16, weights=[1], gradient=True)
cases.node("Clip_inputs", "Clip", [floats(9), np.float32(-1), np.float32(0.5)], opset=13,
           weights=[1, 2], gradient=True)
cases.node("Clip_minimum", "Clip", [integers(9), np.int64(-1)], opset=13, weights=[1])
cases.node("Clip_attributes", "Clip", [floats(9)], opset=6, min=-1.0, max=0.5)
cases.node("Clip_crossed", "Clip", [floats(9), np.float32(2), np.float32(1)], opset=13)

for op in ["Add", "Sub", "Mul", "Div"]:
    cases.node(op, op, [floats(2, 3), floats(3, low=0.5)], dims={"a": ["n", 3], "b": [3]},
               second=[floats(4, 3), floats(3, low=0.5)], gradient=True, opset=14)
    cases.node(f"{op}_int32", op, [integers(9, dtype=np.int32),
                                   integers(9, low=1, dtype=np.int32)], opset=14)
cases.node("Add_weight", "Add", [floats(2, 1), floats(1, 3)], weights=[1], opset=7,
           dims={"a": ["n", 1]}, second=[floats(5, 1)], gradient=True)
cases.node("Pow", "Pow", [floats(5, low=0.2), floats(5)], opset=15, gradient=True)
cases.node("Pow_mixed", "Pow", [floats(5), integers(5, low=0, high=4)], opset=15)
cases.node("Pow_integer", "Pow", [integers(5), vector(0, 1, 2, 3, 2)], opset=15)
for dtype in [np.int32, np.int64, np.uint8]:
    values = integers(8, low=0 if dtype == np.uint8 else -20, high=20, dtype=dtype)
    divisor = vector(3, 5, 7, 2, 3, 5, 7, 2, dtype=dtype)
    cases.node(f"Mod_{np.dtype(dtype)}", "Mod", [values, divisor], opset=13)
    cases.node(f"Mod_fmod_{np.dtype(dtype)}", "Mod", [values, divisor], opset=13, fmod=1)
cases.node("Mod_negative", "Mod", [integers(8, low=-9), vector(-3, 3, -2, 2, -4, 4, -5, 5)],
           opset=13)
cases.node("Mod_float", "Mod", [floats(8), floats(8, low=0.4)], opset=13, fmod=1)
for op in ["Max", "Min", "Sum", "Mean"]:
    cases.node(op, op, [floats(2, 3), floats(3), floats(2, 1)], opset=13,
               dims={"a": ["n", 3], "b": [3], "c": ["n", 1]},
               second=[floats(5, 3), floats(3), floats(5, 1)], gradient=op in ["Sum", "Mean"])
cases.node("Max_one", "Max", [floats(3)], opset=8)
for op, opset in [("Equal", 13), ("Greater", 13), ("Less", 13), ("GreaterOrEqual", 16),
                  ("LessOrEqual", 16)]:
    with_nan = np.array([1, 2, np.nan, -0.0, np.inf], np.float32)
    cases.node(op, op, [with_nan, vector(1, 1, 1, 0, 3, dtype=np.float32)], opset=opset)
    cases.node(f"{op}_int", op, [integers(9), integers(9)], opset=opset)
for op in ["And", "Or", "Xor"]:
    cases.node(op, op, [bools(2, 4), bools(4)], opset=7, dims={"a": ["n", 4], "b": [4]})
cases.node("Not", "Not", [bools(5)], opset=7)
cases.node("IsNaN", "IsNaN", [vector(1, np.nan, np.inf, dtype=np.float32)], opset=13)
cases.node("IsInf", "IsInf", [vector(1, np.nan, np.inf, -np.inf, dtype=np.float32)], opset=10)
cases.node("IsInf_negative", "IsInf", [vector(np.inf, -np.inf, dtype=np.float32)], opset=10,
           detect_positive=0)
cases.node("Where", "Where", [bools(2, 3), floats(2, 3), floats(1, 3)], opset=16,
           dims={"a": ["n", 3], "b": ["n", 3], "c": [1, 3]})
for direction in ["LEFT", "RIGHT"]:
    cases.node(f"BitShift_{direction}", "BitShift",
               [integers(6, low=0, high=200, dtype=np.uint8),
                vector(0, 1, 2, 3, 4, 7, dtype=np.uint8)], opset=11, direction=direction)

for to in [np.int32, np.int64, np.uint8, np.float64, np.float16, np.bool_]:
    target = np.dtype(to).name
    cases.node(f"Cast_{target}", "Cast", [vector(-1.5, 0, 0.5, 2.5, 100, dtype=np.float32)]
               if to != np.uint8 else [vector(0, 0.5, 2.5, 100, dtype=np.float32)], opset=13,
               to=getattr(TensorProto, {"bool": "BOOL", "float64": "DOUBLE"}.get(
                   target, target.upper())))
cases.node("CastLike", "CastLike", [floats(3), vector(1)], opset=15)
cases.node("Identity", "Identity", [floats(2, 2)], opset=13, gradient=True)
cases.node("Dropout", "Dropout", [floats(4)], opset=13, outputs=2)
cases.node("Dropout_ratio", "Dropout", [floats(4)], opset=7, ratio=0.5)

for op in ["Softmax", "LogSoftmax", "Hardmax"]:
    for axis in [0, 1, 2]:
        for opset in [11, 13]:
            cases.node(f"{op}_{axis}_{opset}", op, [floats(2, 3, 4)], opset=opset, axis=axis,
                       second=[floats(3, 1, 5)], gradient=op != "Hardmax")
cases.node("Softmax_large", "Softmax", [vector(1000, 999, -1000, dtype=np.float32)], opset=13)

for op in ["Asin", "Acos", "Atan"]:
    inside = floats(3, 2, low=-0.9, high=0.9)
    cases.node(op, op, [inside], second=[floats(4, 1, low=-1, high=1)], gradient=True, opset=22)
    for dtype in [np.float32, np.float64]:
        edges = vector(-1, -0.999999, -1e-6, -0.0, 0, 1e-20, 0.25, 0.999999, 1, 1.5, -2, np.inf,
                       -np.inf, np.nan, dtype=dtype)
        cases.node(f"{op}_edges_{np.dtype(dtype)}", op, [edges], opset=7,
                   expected=[[getattr(np, {"As": "arcsin", "Ac": "arccos", "At": "arctan"}[op[:2]])(
                       edges)]])
for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
    for dtype in [np.int8, np.uint16, np.int32, np.int64, np.uint64]:
        lowest = 0 if np.dtype(dtype).kind == "u" else -100
        cases.node(f"{op}_{np.dtype(dtype)}", op, [integers(2, 3, low=lowest, high=100, dtype=dtype),
                                                   integers(3, low=lowest, high=100, dtype=dtype)],
                   opset=18, dims={"a": ["n", 3], "b": [3]},
                   second=[integers(4, 3, low=lowest, high=100, dtype=dtype),
                           integers(3, low=lowest, high=100, dtype=dtype)])
for dtype in [np.int8, np.uint8, np.int64]:
    values = integers(5, low=0 if dtype == np.uint8 else -100, high=100, dtype=dtype)
    cases.node(f"BitwiseNot_{np.dtype(dtype)}", "BitwiseNot", [values], opset=18)
numbers = vector(0, -0.0, 1, -2.5, 1e-40, np.inf, np.nan, dtype=np.float32)
for source, to in [(numbers, np.int32), (numbers, np.uint32),
                   (numbers.view(np.int32), np.float32), (floats(2, 3, dtype=np.float64), np.uint64),
                   (floats(4, dtype=np.float16), np.int16), (integers(4, dtype=np.int8), np.uint8),
                   (bools(5), np.uint8), (vector(0, 1, 1, dtype=np.int8), np.bool_)]:
    target = np.dtype(to).name
    cases.node(f"BitCast_{source.dtype}_{target}", "BitCast", [source], opset=26,
               expected=[[source.view(to)]],
               to=getattr(TensorProto, {"bool": "BOOL", "float64": "DOUBLE", "float32": "FLOAT"}.get(
                   target, target.upper())))
for op, low in [("Asinh", -1e20), ("Acosh", 1.5)]:
    ends = vector(low, 99, 101, 1e20, np.inf, np.nan, dtype=np.float32)
    cases.node(f"{op}_large", op, [ends], opset=9)
    cases.node(f"{op}_slopes", op, [vector(50, 150, 300, dtype=np.float32)], opset=9, gradient=True)
    cases.node(f"{op}_float16", op, [vector(2, 99, 300, 60000, dtype=np.float16)], opset=9)
cases.node("Celu_negative", "Celu", [vector(-4, -0.5, 0, 3, dtype=np.float32)], opset=12,
           alpha=-1.5, expected=[[vector(-1.5 * np.expm1(4 / 1.5), -1.5 * np.expm1(0.5 / 1.5), 0, 3,
                                         dtype=np.float32)]])
cases.node("Hardmax_empty", "Hardmax", [np.zeros((2, 0), np.float32)], opset=13, dims="static",
           expected=[[np.zeros((2, 0), np.float32)]])
tiny = vector(1e-30, -1e-12, 3e-4, 0, dtype=np.float32)
for op in ["Asinh", "Sinh", "Atanh", "Softsign", "Erf", "Tanh"]:
    cases.node(f"{op}_tiny", op, [tiny], opset=13)
for op in ["Asinh", "Sinh"]:
    cases.node(f"{op}_at_zero", op, [vector(0, -0.0, dtype=np.float32)], opset=9, gradient=True)

cases.write()
