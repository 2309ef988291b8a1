"""The rows of training_networks.cpp, and those of attention on a GPU, in PyTorch: eager and
compiled, bfloat16 by autocast with float32 weights."""
import torch
from torch import nn
from torch.nn import functional


def attention_train(heads, length, dtype):
    def row(tiny):
        dims = (1, 2, 24, 8) if tiny else (1, heads, length, 64)
        q, k, v, w = (torch.empty(dims).uniform_(-1, 1).to(dtype) for _ in range(4))
        operands = [x.requires_grad_() for x in (q, k, v)]

        def step():
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return o, torch.autograd.grad(o, operands, w)
        return {"sdpa": step}
    return row


class Block(nn.Module):
    """A block of GPT-2."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.joined = (
            nn.Linear(width, width, bias=False) for _ in range(4))
        self.wide = nn.Linear(width, 4 * width, bias=False)
        self.narrow = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, time, width = x.shape
        h = self.first(x)
        q, k, v = (of(h).view(batch, time, self.heads, -1).transpose(1, 2)
                   for of in (self.q, self.k, self.v))
        o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(o.transpose(1, 2).reshape(batch, time, width))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


class Bottleneck(nn.Module):
    """Three convolutions beside the identity, or beside a convolution of 1x1."""

    def __init__(self, inputs, filters, stride):
        super().__init__()

        def convolved(inputs, outputs, window, stride):
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, window, stride, window // 2, bias=False),
                nn.BatchNorm2d(outputs, track_running_stats=False))
        self.layers = nn.Sequential(
            convolved(inputs, filters, 1, 1), nn.ReLU(),
            convolved(filters, filters, 3, stride), nn.ReLU(),
            convolved(filters, 4 * filters, 1, 1))
        is_identity = inputs == 4 * filters and stride == 1
        self.beside = nn.Identity() if is_identity else convolved(inputs, 4 * filters, 1, stride)

    def forward(self, x):
        return torch.relu(self.layers(x) + self.beside(x))


def resnet50(tiny):
    divisor, classes = (8, 8) if tiny else (1, 1000)
    channels = 64 // divisor
    layers = [nn.Conv2d(3, channels, 7, 2, 3, bias=False),
              nn.BatchNorm2d(channels, track_running_stats=False), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    for stage, blocks in enumerate((3, 4, 6, 3)):
        filters = (64 << stage) // divisor
        for i in range(blocks // 3 if tiny else blocks):
            layers.append(Bottleneck(channels, filters, 2 if stage > 0 and i == 0 else 1))
            channels = 4 * filters
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes, bias=False)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last), classes


def steps(network, loss_of, dtype):
    """The training step, its forward and backward eager and compiled. On a device alone."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)

    def form(function):
        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
                loss = function()
            loss.backward()
            optimizer.step()
        return step
    return {"eager": form(loss_of), "compiled": form(torch.compile(loss_of)),
            "graphs": form(torch.compile(loss_of, mode="reduce-overhead"))}


def transformer_train(dtype):
    def row(tiny):
        batch, time, width, heads = (2, 20, 16, 2) if tiny else (16, 1024, 768, 12)
        block = Block(width, heads)
        x = torch.empty(batch, time, width).uniform_(-1, 1)
        return steps(block, lambda: block(x).float().square().mean(), dtype)
    return row


def resnet50_train(dtype):
    def row(tiny):
        batch, size = (2, 32) if tiny else (64, 224)
        network, classes = resnet50(tiny)
        x = torch.empty(batch, 3, size, size).uniform_(-1, 1)
        x = x.to(memory_format=torch.channels_last)
        labels = torch.randint(classes, (batch,))
        return steps(network, lambda: functional.cross_entropy(network(x), labels), dtype)
    return row


ROWS = {"attention_train": attention_train(96, 1024, torch.float32),
        "attention_train_bf16": attention_train(96, 1024, torch.bfloat16),
        "attention_long_bf16": attention_train(24, 4096, torch.bfloat16),
        "transformer_train": transformer_train(torch.float32),
        "transformer_train_bf16": transformer_train(torch.bfloat16),
        "resnet50_train": resnet50_train(torch.float32),
        "resnet50_train_bf16": resnet50_train(torch.bfloat16)}
