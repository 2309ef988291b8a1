"""The rows of halves.cpp in PyTorch: inference with activations of the weights' dtype, training by
autocast."""
import torch


def mlp(batch, dtype):
    def row(tiny):
        sizes = (9, 20, 17, 4) if tiny else (1024, 4096, 4096, 1024)
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        network = torch.nn.Sequential(*layers[:-1]).to(dtype).eval()
        x = torch.empty(3 if tiny and batch > 1 else batch, sizes[0], dtype=dtype).uniform_(-1, 1)

        def infer():
            with torch.inference_mode():
                return network(x)
        return {"eager": infer}
    return row


def train_mixed(batch, sizes, device):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs, bias=False), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    x = torch.empty(batch, sizes[0]).uniform_(-1, 1)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            y = network(x)
        y.float().square().mean().backward()
        optimizer.step()
    return step


def mlp_train_mixed(tiny):
    batch, sizes = (3, (9, 20, 17, 4)) if tiny else (128, (1024, 1024, 1024, 256))
    return {"eager": train_mixed(batch, sizes, "cpu")}


def conv_with_gradients(n, size, channels):
    x = torch.empty(n, channels, size, size).uniform_(-1, 1).bfloat16()
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    filters = torch.empty(channels, channels, 3, 3).uniform_(-1, 1).bfloat16()
    filters = filters.to(memory_format=torch.channels_last).requires_grad_()

    def step():
        y = torch.nn.functional.conv2d(x, filters, padding=1)
        return torch.autograd.grad(y.float().square().mean(), [x, filters]), y
    return step


def conv_train_bf16(tiny):
    return {"eager": conv_with_gradients(*((2, 5, 8) if tiny else (8, 28, 128)))}


def gelu_train_bf16(tiny):
    size = 100 if tiny else 1 << 21
    x = torch.empty(size).uniform_(-1, 1).bfloat16().requires_grad_()
    dy = torch.empty(size).uniform_(-1, 1).bfloat16()

    def step():
        y = torch.nn.functional.gelu(x, approximate="tanh")
        return y, torch.autograd.grad(y, x, dy)
    return {"eager": step}


ROWS = {"mlp_bf16_weights_1": mlp(1, torch.bfloat16),
        "mlp_bf16_weights_64": mlp(64, torch.bfloat16),
        "mlp_f16_weights_1": mlp(1, torch.float16),
        "mlp_train_mixed": mlp_train_mixed, "conv_train_bf16": conv_train_bf16,
        "gelu_train_bf16": gelu_train_bf16}
