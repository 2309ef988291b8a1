"""The rows of first_step.cpp in PyTorch, eager: from making the network to the end of the first
training step, in a new process. The time excludes the import of PyTorch."""
import torch
import torch._dynamo  # imported by the first step of an optimiser otherwise
from torch import nn


def normalised(inputs, channels, size, stride, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, channels, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(channels))


class Bottleneck(nn.Module):
    """ResNet50's block: 1x1, 3x3 and 1x1 convolutions with a residual connection."""

    def __init__(self, inputs, channels, stride):
        super().__init__()
        results = 4 * channels
        self.path = nn.Sequential(
            normalised(inputs, channels, 1, 1), nn.ReLU(),
            normalised(channels, channels, 3, stride), nn.ReLU(),
            normalised(channels, results, 1, 1))
        is_projected = stride != 1 or inputs != results
        self.shortcut = normalised(inputs, results, 1, stride) if is_projected else nn.Identity()

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


class InvertedResidual(nn.Module):
    """MobileNetV2's block: 1x1 convolution to more channels, depthwise 3x3, 1x1 to fewer."""

    def __init__(self, inputs, channels, stride, expansion):
        super().__init__()
        wide = inputs * expansion
        layers = [] if expansion == 1 else [normalised(inputs, wide, 1, 1), nn.ReLU6()]
        layers += [normalised(wide, wide, 3, stride, groups=wide), nn.ReLU6(),
                   normalised(wide, channels, 1, 1)]
        self.path = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == channels

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


def resnet50(classes, narrowing, blocks):
    inputs = 64 // narrowing
    layers = [normalised(3, inputs, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for group, count in enumerate((3, 4, 6, 3)):
        channels = (64 << group) // narrowing
        for block in range(min(count, blocks)):
            layers.append(Bottleneck(inputs, channels, 2 if block == 0 and group > 0 else 1))
            inputs = 4 * channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def mobilenet_v2(classes, narrowing, blocks):
    inputs = 32 // narrowing
    layers = [normalised(3, inputs, 3, 2), nn.ReLU6()]
    for expansion, channels, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(min(count, blocks)):
            layers.append(InvertedResidual(inputs, channels // narrowing,
                                           stride if block == 0 else 1, expansion))
            inputs = channels // narrowing
    last = 1280 // narrowing
    return nn.Sequential(*layers, normalised(inputs, last, 1, 1), nn.ReLU6(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


def first_step(make, memory_format):
    def step(tiny):
        size, classes, narrowing, blocks = (32, 10, 8, 1) if tiny else (224, 1000, 1, 6)
        batch = 2 if tiny else 1
        x = torch.empty(batch, 3, size, size).uniform_(-1, 1)
        y = torch.randint(classes, (batch,))
        net = make(classes, narrowing, blocks).to(memory_format=memory_format)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        nn.functional.cross_entropy(net(x.to(memory_format=memory_format)), y).backward()
        optimizer.step()

    return step


def forms_of(make):
    return {"eager": first_step(make, torch.contiguous_format),
            "eager, channels last": first_step(make, torch.channels_last)}


ROWS = {"first_step_resnet50": forms_of(resnet50),
        "first_step_mobilenet_v2": forms_of(mobilenet_v2)}
