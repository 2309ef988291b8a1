"""The rows of sizes.cpp in PyTorch: sizes that change from call to call."""
import torch
from torch import nn


def uniform(*dims, bound=1.0):
    return torch.empty(*dims).uniform_(-bound, bound)


def matrix(rows, columns):
    return uniform(rows, columns, bound=rows ** -0.5)


def round_of(function, feeds):
    """Not compiled: the checks of torch.compile's code take longer than what it saves."""
    def call():
        with torch.inference_mode():
            for feed in feeds:
                function(*feed)

    return {"eager": call}


def rotate(count, tiny):
    width = 8 if tiny else 256
    weights = [matrix(width, width) for _ in range(3)]

    def layers(x):
        for weight in weights:
            x = torch.relu_(x @ weight)
        return x

    return round_of(layers, [(uniform(64 * i // count, width),) for i in range(1, count + 1)])


class Layer:
    def __init__(self, tiny):
        self.width, self.heads, hidden = (8, 2, 12) if tiny else (128, 4, 512)
        self.q, self.k, self.v, self.o = (matrix(self.width, self.width) for _ in range(4))
        self.first, self.second = matrix(self.width, hidden), matrix(hidden, self.width)

    def split(self, x, weight):
        return (x @ weight).view(-1, self.heads, self.width // self.heads).transpose(0, 1)

    def output(self, x, keys, values):
        # With an axis of samples: without it, attention is not fused.
        mixed = nn.functional.scaled_dot_product_attention(
            self.split(x, self.q)[None], keys[None], values[None])[0]
        mixed = mixed.transpose(0, 1).reshape(-1, self.width)
        y = nn.functional.layer_norm(torch.addmm(x, mixed, self.o), (self.width,))
        hidden = torch.relu_(y @ self.first)
        return nn.functional.layer_norm(torch.addmm(y, hidden, self.second), (self.width,))

    def encode(self, x):
        return self.output(x, self.split(x, self.k), self.split(x, self.v))

    def decode(self, x, k, v):
        keys = torch.cat([k, self.split(x, self.k)], 1)
        values = torch.cat([v, self.split(x, self.v)], 1)
        return self.output(x, keys, values), keys, values


def decode_cache(tiny):
    layer = Layer(tiny)
    x = uniform(1, layer.width)
    first = [uniform(layer.heads, 1, layer.width // layer.heads) for _ in range(2)]

    def call():
        with torch.inference_mode():
            k, v = first
            for _ in range(4 if tiny else 256):
                y, k, v = layer.decode(x, k, v)
            return y, k, v

    return {"eager": call}


def encode_64(tiny):
    layer = Layer(tiny)
    lengths = range(1, (4 if tiny else 64) + 1)
    return round_of(layer.encode, [(uniform(2 * n, layer.width),) for n in lengths])


ROWS = {"rotate_2": lambda tiny: rotate(2, tiny), "rotate_8": lambda tiny: rotate(8, tiny),
        "rotate_64": lambda tiny: rotate(64, tiny), "decode_cache": decode_cache,
        "encode_64": encode_64}
