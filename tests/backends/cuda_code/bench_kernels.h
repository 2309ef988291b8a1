// Kernels of the benchmark's passes over arrays, in their text form (parse_kernel.h).
#pragma once

namespace kiln::testing {

/// Softmax of 65536 x 1000.
inline constexpr const char* kSoftmax = R"(kernel softmax(b0: float32 read, b1: float32 written)
  i0 below 65536
  i1 below 1000, inner, lanes
  v0: float32 = load a0 b0[i0*1000 + i1]
  v1: float32 = result of stage 0
  v2: float32 = sub(v0, v1)
  v3: float32 = exp(v2)
  v4: float32 = 1
  v5: float32 = result of stage 1
  v6: float32 = div(v4, v5)
  v7: float32 = mul(v3, v6)
  stage 0: reduce over inner axes, max of v0
  stage 1: reduce over inner axes, sum of v3
  stage 2: map over inner axes
    store v7 to a1 b1[i0*1000 + i1]
)";

/// Layer norm of 65536 x 1024 with all gradients.
inline constexpr const char* kLayerNorm =
    R"(kernel layer_norm(b0: float32 read, b1: float32 read, b2: float32 read written, )"
    R"(b3: float32 read, b4: float32 read, b5: float32 written, )"
    R"(b6: float32 read written, b7: float32 written)
  i0 below 1024
  i1 below 64
  i2 below 1024, inner, lanes
  v0: float32 = load a0 b0[i0*65536 + i1*1024 + i2]
  v1: float32 = load a1 b1[i0*65536 + i1*1024 + i2]
  v2: float32 = result of stage 0
  v3: float32 = 1024
  v4: float32 = div(v2, v3)
  v5: float32 = sub(v0, v4)
  v6: float32 = mul(v5, v5)
  v7: float32 = load a3 b3[i2]
  v8: float32 = mul(v1, v7)
  v9: float32 = result of stage 2
  v10: float32 = div(v9, v3)
  v11: float32 = 9.99999975e-06
  v12: float32 = add(v10, v11)
  v13: float32 = 0
  v14: bool = less_equal(v12, v13)
  v15: float32 = 1
  v16: float32 = select(v14, v15, v12)
  v17: float32 = sqrt(v16)
  v18: float32 = select(v14, v13, v17)
  v19: float32 = div(v5, v18)
  v20: float32 = mul(v8, v19)
  v21: float32 = div(v20, v18)
  v22: float32 = neg(v21)
  v23: float32 = div(v8, v18)
  v24: float32 = neg(v23)
  v25: float32 = mul(v7, v19)
  v26: float32 = load a4 b4[i2]
  v27: float32 = add(v25, v26)
  v28: float32 = mul(v1, v19)
  v29: float32 = result of stage 3
  v30: float32 = select(v14, v13, v29)
  v31: float32 = 0.5
  v32: float32 = mul(v30, v31)
  v33: float32 = div(v32, v17)
  v34: float32 = select(v14, v13, v33)
  v35: float32 = 2
  v36: float32 = mul(v34, v35)
  v37: float32 = div(v36, v3)
  v38: float32 = mul(v5, v37)
  v39: float32 = add(v38, v23)
  v40: float32 = result of stage 4
  v41: float32 = div(v40, v3)
  v42: float32 = add(v39, v41)
  stage 0: reduce over inner axes, sum of v0
  stage 1: map over inner axes
    add v1 to a2 b2[i0*1024 + i2]
  stage 2: reduce over inner axes, sum of v6
  stage 3: reduce over inner axes, sum of v22
  stage 4: reduce over inner axes, sum of v24
  stage 5: map over inner axes
    store v27 to a5 b5[i0*65536 + i1*1024 + i2]
    add v28 to a6 b6[i0*1024 + i2]
  stage 6: map over inner axes
    store v42 to a7 b7[i0*65536 + i1*1024 + i2]
)";

/// Cross entropy of 65536 x 1000 and its gradient.
inline constexpr const char* kCrossEntropy =
    R"(kernel cross_entropy(b0: float32 read, b1: int64 read, b2: float32 read, )"
    R"(b3: float32 written, b4: bool read, b5: float32 written)
  i0 below 65536
  i1 below 1000, inner, lanes
  v0: float32 = load a0 b0[i0*1000 + i1]
  v1: int64 = load a1 b1[i0]
  v2: int64 = i1
  v3: bool = equal(v1, v2)
  v4: float32 = load a2 b2[i0]
  v5: float32 = 0
  v6: float32 = select(v3, v4, v5)
  v7: float32 = result of stage 0
  v8: float32 = sub(v0, v7)
  v9: float32 = exp(v8)
  v10: float32 = result of stage 2
  v11: float32 = log(v10)
  v12: float32 = sub(v8, v11)
  v13: float32 = select(v3, v12, v5)
  v14: float32 = exp(v12)
  v15: float32 = result of stage 1
  v16: float32 = mul(v14, v15)
  v17: float32 = sub(v6, v16)
  v18: bool = load a4 b4[i0]
  v19: float32 = result of stage 3
  v20: float32 = neg(v19)
  v21: float32 = nan
  v22: float32 = select(v18, v20, v21)
  stage 0: reduce over inner axes, max of v0
  stage 1: reduce over inner axes, sum of v6
  stage 2: reduce over inner axes, sum of v9
  stage 3: reduce over inner axes, sum of v13
  stage 4: map over inner axes
    store v17 to a3 b3[i0*1000 + i1]
  stage 5: map once
    store v22 to a5 b5[i0]
)";

/// Batch normalisation of 256 x 56 x 56 x 64, relu, and sums of gradients.
inline constexpr const char* kBatchNorm =
    R"(kernel batch_norm(b0: float32 read, b1: float32 read, b2: float32 read, )"
    R"(b3: float32 read, b4: float32 read, b5: float32 written, b6: float32 read, )"
    R"(b7: float32 written, b8: float32 written, b9: float32 written, )"
    R"(b10: float32 written)
  i0 below 64, lanes
  i1 below 802816, inner
  v0: float32 = load a0 b0[i0 + i1*64]
  v1: float32 = load a1 b1[i0]
  v2: float32 = sub(v0, v1)
  v3: float32 = load a2 b2[i0]
  v4: float32 = mul(v2, v3)
  v5: float32 = load a3 b3[i0]
  v6: float32 = add(v4, v5)
  v7: float32 = 0
  v8: bool = less_equal(v6, v7)
  v9: float32 = load a4 b4[i0 + i1*64]
  v10: float32 = select(v8, v7, v9)
  v11: float32 = mul(v2, v10)
  v12: float32 = mul(v3, v10)
  v13: float32 = neg(v12)
  v14: float32 = select(v8, v7, v6)
  v15: float32 = result of stage 0
  v16: float32 = mul(v3, v15)
  v17: float32 = load a6 b6[i0]
  v18: float32 = 0.00100000005
  v19: float32 = add(v17, v18)
  v20: float32 = sqrt(v19)
  v21: float32 = div(v16, v20)
  v22: float32 = neg(v21)
  v23: float32 = 0.5
  v24: float32 = mul(v22, v23)
  v25: float32 = div(v24, v20)
  v26: float32 = 2
  v27: float32 = mul(v25, v26)
  v28: float32 = 802816
  v29: float32 = div(v27, v28)
  v30: float32 = result of stage 1
  v31: float32 = div(v30, v28)
  v32: float32 = div(v15, v20)
  v33: float32 = result of stage 2
  stage 0: reduce over inner axes, sum of v11
  stage 1: reduce over inner axes, sum of v13
  stage 2: reduce over inner axes, sum of v10
  stage 3: map over inner axes
    store v14 to a5 b5[i0 + i1*64]
  stage 4: map once
    store v29 to a7 b7[i0]
    store v31 to a8 b8[i0]
    store v32 to a9 b9[i0]
    store v33 to a10 b10[i0]
)";

}  // namespace kiln::testing
