"""Writes convolution.npz: convolutions, pooling, normalisation, padding, resizing."""

from case_file import CaseFile, floats, np, vector

cases = CaseFile("convolution.npz")

image = floats(1, 4, 6, 7)
other = floats(2, 4, 5, 9)
cases.node("Conv", "Conv", [image, floats(3, 4, 3, 3), floats(3)], weights=[1, 2], gradient=True,
           dims={"a": ["n", 4, "h", "w"]}, second=[other], pads=[1, 0, 2, 1], strides=[2, 1])
cases.node("Conv_groups", "Conv", [image, floats(6, 2, 2, 3)], weights=[1], group=2,
           dims={"a": ["n", 4, "h", "w"]}, second=[other], dilations=[1, 2], gradient=True)
cases.node("Conv_depthwise", "Conv", [image, floats(4, 1, 3, 3)], weights=[1], group=4,
           dims={"a": ["n", 4, "h", "w"]}, second=[other], auto_pad="SAME_UPPER", strides=[2, 2])
cases.node("Conv_lower", "Conv", [image, floats(2, 4, 2, 2)], weights=[1], auto_pad="SAME_LOWER",
           dims={"a": ["n", 4, "h", "w"]}, second=[other])
cases.node("Conv_1d", "Conv", [floats(2, 3, 8), floats(5, 3, 3), floats(5)], weights=[1, 2],
           dims={"a": ["n", 3, "t"]}, second=[floats(1, 3, 11)], pads=[1, 1], gradient=True)
cases.node("Conv_3d", "Conv", [floats(1, 2, 4, 4, 5), floats(3, 2, 2, 2, 2)], weights=[1],
           dims={"a": ["n", 2, "d", "h", "w"]}, second=[floats(2, 2, 3, 4, 4)])
cases.node("ConvTranspose", "ConvTranspose", [image, floats(4, 3, 3, 3), floats(3)],
           weights=[1, 2], dims={"a": ["n", 4, "h", "w"]}, second=[other], gradient=True,
           strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
cases.node("ConvTranspose_groups", "ConvTranspose", [image, floats(4, 2, 2, 2)], weights=[1],
           group=2, dims={"a": ["n", 4, "h", "w"]}, second=[other], dilations=[2, 1])

for op in ["MaxPool", "AveragePool"]:
    smooth = op == "AveragePool"
    cases.node(op, op, [image], kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 1, 1],
               second=[other], gradient=smooth)
    cases.node(f"{op}_ceil", op, [image], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1,
               second=[other])
    cases.node(f"{op}_same", op, [image], kernel_shape=[2, 2], auto_pad="SAME_LOWER",
               second=[other])
cases.node("AveragePool_pad", "AveragePool", [image], kernel_shape=[2, 2], pads=[1, 1, 1, 1],
           count_include_pad=1, second=[other], gradient=True)
cases.node("MaxPool_dilated", "MaxPool", [image], kernel_shape=[2, 2], dilations=[2, 2],
           second=[other])
cases.node("MaxPool_indices", "MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2], outputs=2,
           second=[other])
cases.node("LpPool", "LpPool", [image], kernel_shape=[2, 2], p=2, opset=18, second=[other])
for op in ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]:
    cases.node(op, op, [image], second=[other], gradient=op == "GlobalAveragePool")
cases.node("MaxUnpool", "MaxUnpool",
           [vector(5, 6, 7, 8, dtype=np.float32).reshape(1, 1, 2, 2),
            vector(5, 7, 13, 15).reshape(1, 1, 2, 2)], kernel_shape=[2, 2], strides=[2, 2],
           opset=11, dims="static")
cases.node("LRN", "LRN", [image], size=3, alpha=0.1, beta=0.6, bias=1.5, second=[other],
           gradient=True)

scale, shift, mean, spread = floats(4), floats(4), floats(4), floats(4, low=0.5)
cases.node("BatchNormalization", "BatchNormalization", [image, scale, shift, mean, spread],
           weights=[1, 2, 3, 4], opset=15, dims={"a": ["n", 4, "h", "w"]}, second=[other],
           gradient=True, epsilon=1e-3)
cases.node("BatchNormalization_7", "BatchNormalization", [floats(3, 4), scale, shift, mean, spread],
           weights=[1, 2, 3, 4], opset=7, dims={"a": ["n", 4]}, second=[floats(2, 4)])
cases.node("InstanceNormalization", "InstanceNormalization", [image, scale, shift],
           weights=[1, 2], dims={"a": ["n", 4, "h", "w"]}, second=[other], gradient=True)
cases.node("GroupNormalization", "GroupNormalization", [image, scale, shift], weights=[1, 2],
           opset=21, num_groups=2, dims={"a": ["n", 4, "h", "w"]}, second=[other], gradient=True)
cases.node("LayerNormalization", "LayerNormalization", [floats(2, 3, 4), scale, shift],
           weights=[1, 2], dims={"a": ["n", "t", 4]}, second=[floats(1, 5, 4)], outputs=3,
           gradient=True)
cases.node("RMSNormalization", "RMSNormalization", [floats(2, 3, 4), scale], weights=[1], opset=23,
           dims={"a": ["n", "t", 4]}, second=[floats(1, 5, 4)], gradient=True)

for mode in ["constant", "reflect", "edge", "wrap"]:
    cases.node(f"Pad_{mode}", "Pad", [floats(3, 4), vector(1, 2, 0, 1)], weights=[1], mode=mode,
               opset=19, second=[floats(4, 5)], gradient=True)
cases.node("Pad_value", "Pad", [floats(3, 4), vector(1, -1, 0, 2), np.float32(7)], weights=[1, 2],
           opset=13, second=[floats(2, 3)])
cases.node("Pad_axes", "Pad", [floats(3, 4), vector(1, 2), None, vector(-1)], weights=[1, 3],
           opset=18, second=[floats(2, 3)])
cases.node("Pad_attribute", "Pad", [floats(3, 4)], opset=10, pads=[0, 1, 2, 0],
           value=1.5)
cases.node("CenterCropPad", "CenterCropPad", [floats(5, 4), vector(3, 6)], weights=[1], opset=18)

roi = np.zeros(0, np.float32)
double = vector(1, 1, 2, 2, dtype=np.float32)
for mode in ["nearest", "linear", "cubic"]:
    for transformation in ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]:
        cases.node(f"Resize_{mode}_{transformation}", "Resize", [image[:, :2], roi, double],
                   weights=[1, 2], opset=13, mode=mode, gradient=mode != "nearest",
                   coordinate_transformation_mode=transformation, second=[other[:, :1]])
cases.node("Resize_scales", "Resize",
           [image, roi, vector(1, 1, 0.6, 1.7, dtype=np.float32)], weights=[1, 2], opset=11,
           mode="linear", second=[other])
cases.node("Resize_sizes", "Resize", [image, None, None, vector(1, 4, 3, 11)], weights=[3],
           opset=13, mode="nearest", dims={"a": [1, 4, "h", "w"]}, second=[floats(1, 4, 8, 5)])
cases.node("Resize_10", "Resize", [image, double], weights=[1], opset=10, mode="nearest",
           second=[other])
cases.node("Upsample", "Upsample", [image, double], weights=[1], opset=9, mode="nearest",
           second=[other])
for mode in ["bilinear", "nearest"]:
    cases.node(f"GridSample_{mode}", "GridSample",
               [image, floats(1, 3, 2, 2, low=-1.2, high=1.2)], opset=16, mode=mode,
               gradient=mode == "bilinear")
cases.node("AffineGrid", "AffineGrid", [floats(2, 2, 3), vector(2, 3, 4, 5)], weights=[1],
           opset=20)
cases.node("RoiAlign", "RoiAlign", [image, vector(0, 0, 4, 5, 1, 1, 3, 3, dtype=np.float32)
                                    .reshape(2, 4), vector(0, 0)], opset=16, output_height=2,
           output_width=3, sampling_ratio=2)
cases.node("MaxRoiPool", "MaxRoiPool",
           [image, vector(0, 0, 0, 4, 5, 0, 1, 1, 3, 3, dtype=np.float32).reshape(2, 5)], opset=11,
           pooled_shape=[2, 2], spatial_scale=1.0, dims={"a": [1, 4, 6, 7], "b": ["r", 5]})
cases.node("DeformConv", "DeformConv",
           [image, floats(2, 4, 2, 2), floats(1, 8, 5, 6, low=0.1, high=0.4), floats(2)],
           weights=[1, 3], opset=19, kernel_shape=[2, 2], dims="static", gradient=True)
cases.node("Col2Im", "Col2Im", [floats(1, 5, 5), vector(5, 5), vector(1, 5)], weights=[1, 2],
           opset=18, dims={"a": ["n", 5, 5]})

cases.write()
