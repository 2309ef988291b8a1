"""The rows of image_networks.cpp in ONNX Runtime, in ONNX's order of axes: samples, channels, rows,
columns."""
import numpy as np
from onnx import helper


class Network:
    """Adds nodes to an image; `last` is the name of the newest value."""

    def __init__(self, uniform):
        self.uniform, self.nodes, self.weights = uniform, [], {}
        self.last, self.channels = "x", 3

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array, np.float32)
        return name

    def add(self, kind, inputs=(), **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.last, *inputs], [name], **attributes))
        self.last = name

    def convolve(self, filters, window, stride, separate=False, size=0):
        """Pads as "same" does: of an even size, a stride of 2 pads one row less before it."""
        inputs = 1 if separate else self.channels
        extra = max(window - stride, 0) if size % stride == 0 else window - 1
        low = extra // 2
        filter_ = self.uniform(filters, inputs, window, window,
                               bound=1.7 * (window * window * inputs) ** -0.5)
        self.add("Conv", [self.weight(filter_)], kernel_shape=[window] * 2, strides=[stride] * 2,
                 pads=[low, low, extra - low, extra - low],
                 group=self.channels if separate else 1)
        self.channels = filters
        around = [1 + 0.2 * self.uniform(filters) for _ in "ab"]
        near = [0.2 * self.uniform(filters) for _ in "ab"]
        self.add("BatchNormalization", [self.weight(a) for a in (around[0], *near, around[1])],
                 epsilon=1e-3)
        return -(-size // stride)

    def relu6(self):
        self.add("Clip", [self.weight(0), self.weight(6)])

    def classify(self, classes):
        self.add("GlobalAveragePool")
        self.add("Flatten")
        matrix = self.uniform(self.channels, classes, bound=0.05)
        self.add("Gemm", [self.weight(matrix), self.weight(np.zeros(classes))])


def separable(net, size, divisor):
    size = net.convolve(32 // divisor, 3, 2, size=size)
    net.relu6()
    strides = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + 5 * [(512, 1)]
    for filters, stride in strides + [(1024, 2), (1024, 1)]:
        size = net.convolve(net.channels, 3, stride, separate=True, size=size)
        net.relu6()
        net.convolve(filters // divisor, 1, 1, size=size)
        net.relu6()


def residual(net, size, divisor):
    size = net.convolve(64 // divisor, 7, 2, size=size)
    net.add("Relu")
    net.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    size = -(-size // 2)
    for filters, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                            (512, 1)]:
        filters //= divisor
        x, channels, beside = net.last, net.channels, net.last
        if stride != 1 or channels != filters:
            net.convolve(filters, 1, stride, size=size)
            beside, net.last, net.channels = net.last, x, channels
        size = net.convolve(filters, 3, stride, size=size)
        net.add("Relu")
        net.convolve(filters, 3, 1, size=size)
        net.add("Add", [beside])
        net.add("Relu")


def rows(work_of, uniform):
    """`work_of` and `uniform`: of peers_onnx.py."""
    def row(layers):
        def make(tiny):
            size, divisor, classes = (32, 8, 10) if tiny else (224, 1, 1000)
            net = Network(uniform)
            layers(net, size, divisor)
            net.classify(classes)
            return work_of(net.nodes, net.weights, {"x": uniform(1, 3, size, size)},
                           {net.last: [1, classes]})
        return make

    return {"separable_one": row(separable), "resnet18_one": row(residual)}
