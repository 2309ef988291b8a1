"""The rows of kiln bench in PyTorch, for peer_loop.py: peers.py [--device cuda|cpu]. With a device
they are the rows of a GPU's table (peers_device.py), with all their data there."""
import math
import sys

import peer_loop  # before torch

import torch
from torch import nn

import peers_first_step
import peers_halves
import peers_language
import peers_narrow
import peers_operations
import peers_sizes


def uniform(*dims, low=-1.0, high=1.0):
    return torch.empty(*dims).uniform_(low, high)


def call(tiny):
    x, out = uniform(16), torch.empty(16)
    return {"out=": lambda: torch.add(x, 1.0, out=out)}


def chain(function, tiny, operands):
    size = 1000 if tiny else 4 << 20
    inputs = [uniform(size, low=0.5, high=1.5) for _ in range(operands)]
    forms = {"eager": lambda: function(*inputs)}
    if not tiny:
        compiled = torch.compile(function)
        forms["compiled"] = lambda: compiled(*inputs)
    return forms


def ten_operations(a, b):
    u = (a + b) * a - b
    v = torch.maximum(u, a) / b
    w = torch.minimum(v, b) + u
    return torch.where(w > a, w, v) * b


def tanh_chain(x, a, b):
    return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * x * x * x))) * a + b


def chain10(tiny):
    return chain(ten_operations, tiny, 2)


def chain10_tanh(tiny):
    return chain(tanh_chain, tiny, 3)


def outer(tiny):
    size = 30 if tiny else 4096
    x, y, out = uniform(size), uniform(size), torch.empty(size, size)
    return {"eager": lambda: torch.outer(x, y), "out=": lambda: torch.outer(x, y, out=out)}


def softmax_of(rows, columns):
    x, out = uniform(rows, columns), torch.empty(rows, columns)
    return {"eager": lambda: torch.softmax(x, -1), "out=": lambda: torch.softmax(x, -1, out=out)}


def softmax(tiny):
    return softmax_of(*((8, 10) if tiny else (8192, 1000)))


def softmax_small(tiny):
    return softmax_of(*((4, 10) if tiny else (64, 1000)))


def outputs(tensors):
    return {f"out{i}": tensor for i, tensor in enumerate(tensors)}


def layernorm_train(tiny):
    rows, columns = (8, 16) if tiny else (8192, 1024)
    x = uniform(rows, columns).requires_grad_()
    dy = uniform(rows, columns)
    scale = torch.ones(columns, requires_grad=True)
    offset = torch.zeros(columns, requires_grad=True)

    def eager():
        y = nn.functional.layer_norm(x, (columns,), scale, offset)
        return y, torch.autograd.grad(y, [x, scale, offset], dy)

    operands = [tensor.detach() for tensor in (x, scale, offset)]
    results = [torch.empty(rows, columns), torch.empty(rows, 1), torch.empty(rows, 1)]
    gradients = [torch.empty_like(tensor) for tensor in operands]

    def out():
        torch.ops.aten.native_layer_norm.out(
            operands[0], [columns], *operands[1:], 1e-5, **outputs(results))
        torch.ops.aten.native_layer_norm_backward.out(
            dy, operands[0], [columns], *results[1:], *operands[1:], [True, True, True],
            **outputs(gradients))
        return results[0], gradients

    return {"eager": eager, "out=": out}


def lstm_masked_train(tiny):
    time_steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    x = uniform(time_steps, samples, inputs).requires_grad_()
    last = torch.tensor([time_steps - (i * (time_steps // 2)) // samples - 1
                         for i in range(samples)])
    rows = torch.arange(samples)
    net = nn.LSTM(inputs, units)
    wanted = list(net.parameters()) + [x]

    def gathered():
        outputs, _ = net(x)
        loss = outputs[last, rows].square().mean()
        return loss, torch.autograd.grad(loss, wanted)

    return {"nn.LSTM, outputs gathered at the last valid step": gathered}


def gru_train(tiny):
    time_steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    x = uniform(time_steps, samples, inputs).requires_grad_()
    net = nn.GRU(inputs, units)
    wanted = list(net.parameters()) + [x]

    def eager():
        outputs, _ = net(x)
        loss = outputs[-1].square().mean()
        return loss, torch.autograd.grad(loss, wanted)

    return {"nn.GRU, eager": eager}


def lnlstm_last(x, w, u, norms):
    """The last output of a layer-norm LSTM over x (time, samples, inputs)."""
    units = u.shape[0]
    h = c = x.new_zeros(x.shape[1], units)

    def normal(y, scale, offset):
        return nn.functional.layer_norm(y, y.shape[-1:], scale, offset)

    for at in x.unbind(0):
        gates = normal(at @ w, *norms[0:2]) + normal(h @ u, *norms[2:4])
        i, f, g, o = gates.chunk(4, -1)
        cell = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        c = normal(cell, *norms[4:6])
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def lnlstm_train(tiny):
    time_steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (50, 32, 128, 128)
    x = uniform(time_steps, samples, inputs).requires_grad_()
    bound = 1 / math.sqrt(4 * units)
    w, u = (uniform(rows, 4 * units, low=-bound, high=bound).requires_grad_()
            for rows in (inputs, units))
    norms = [make(size, requires_grad=True) for size in (4 * units, 4 * units, units)
             for make in (torch.ones, torch.zeros)]
    wanted = [w, u, *norms, x]

    def form(last):
        def step():
            loss = last(x, w, u, norms).square().mean()
            return loss, torch.autograd.grad(loss, wanted)

        return step

    forms = {"loop, eager": form(lnlstm_last)}
    if not tiny:
        forms["loop, compiled"] = form(torch.compile(lnlstm_last))
    return forms


def lstm_step(tiny):
    inputs, units = (3, 4) if tiny else (512, 512)
    x, h, c = uniform(1, inputs), uniform(1, units), uniform(1, units)
    cell, net = nn.LSTMCell(inputs, units), nn.LSTM(inputs, units)

    def by_cell():
        with torch.inference_mode():
            return cell(x, (h, c))

    def by_layer():
        with torch.inference_mode():
            return net(x, (h, c))

    return {"nn.LSTMCell": by_cell, "nn.LSTM": by_layer}


def lstm_infer_one(tiny):
    time_steps, inputs, units = (4, 3, 4) if tiny else (100, 256, 256)
    x = uniform(time_steps, 1, inputs)
    net = nn.LSTM(inputs, units)

    def layer():
        with torch.inference_mode():
            return net(x)[0]

    return {"nn.LSTM": layer}


def dense(sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def ctc_train(tiny):
    samples, time_steps, classes, count = (2, 6, 4, 2) if tiny else (32, 200, 40, 40)
    logits = uniform(time_steps, samples, classes).requires_grad_()
    labels = torch.randint(0, classes - 1, (samples, count))
    lengths, counts = torch.full((samples,), time_steps), torch.full((samples,), count)

    def eager():
        loss = nn.functional.ctc_loss(torch.log_softmax(logits, -1), labels, lengths, counts,
                                      blank=classes - 1, reduction="sum")
        return loss, torch.autograd.grad(loss, [logits])

    return {"eager": eager}


def mlp_adam(tiny):
    batch, sizes = (4, [8, 6, 6, 3]) if tiny else (64, [784, 512, 512, 10])
    x, y = uniform(batch, sizes[0]), torch.randint(sizes[-1], (batch,))

    def form(**options):
        net = dense(sizes)
        optimizer = torch.optim.Adam(net.parameters(), **options)

        def step():
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        return step

    return {"eager": form(), "eager, fused Adam": form(fused=True)}


def mlp_train_f64(tiny):
    batch, sizes = (4, [8, 6, 6, 3]) if tiny else (64, [784, 512, 512, 10])
    x, y = uniform(batch, sizes[0]).double(), torch.randint(sizes[-1], (batch,))
    net = dense(sizes).double()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return {"eager": step}


def dot_of(dtype, size, tiny):
    size = 16 if tiny else size
    scale = 1 if dtype.is_floating_point else 100
    a, b = (uniform(size, size).mul(scale).to(dtype) for _ in range(2))
    out = torch.empty(size, size, dtype=dtype)
    return {"out=": lambda: torch.mm(a, b, out=out)}


def dot_f64_1024(tiny):
    return dot_of(torch.float64, 1024, tiny)


def dot_bf16_1024(tiny):
    return dot_of(torch.bfloat16, 1024, tiny)


def dot_f16_1024(tiny):
    return dot_of(torch.float16, 1024, tiny)


def dot_i32_512(tiny):
    return dot_of(torch.int32, 512, tiny)


def mlp_tiny(tiny):
    net, x, y = dense([16, 32, 1]), uniform(8, 16), uniform(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()

    return {"eager": step}


def embedding_train(tiny):
    rows, columns, count = (20, 8, 24) if tiny else (100_000, 128, 4096)
    indices = torch.randint(rows, (count,))

    def form(sparse):
        table = nn.Embedding(rows, columns, sparse=sparse)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad()
            table(indices).square().mean().backward()
            optimizer.step()

        return step

    return {"sparse": form(True), "dense": form(False)}


def cnn_net(tiny):
    size, first, second, hidden, classes = (8, 2, 3, 4, 3) if tiny else (28, 32, 64, 128, 10)
    pixels = ((size - 4) // 2) ** 2 * second
    net = nn.Sequential(
        nn.Conv2d(1, first, 3), nn.ReLU(), nn.Conv2d(first, second, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(pixels, hidden), nn.ReLU(),
        nn.Linear(hidden, classes))
    return net.to(memory_format=torch.channels_last), size, classes


def images(*dims):
    return uniform(*dims).to(memory_format=torch.channels_last)


def cnn_adam(tiny):
    batch = 2 if tiny else 64

    def form(**options):
        net, size, classes = cnn_net(tiny)
        x, y = images(batch, 1, size, size), torch.randint(classes, (batch,))
        optimizer = torch.optim.Adam(net.parameters(), **options)

        def step():
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()

        return step

    return {"eager": form(), "eager, fused Adam": form(fused=True)}


def cnn_inference(batch, tiny):
    net, size, _ = cnn_net(tiny)
    x = images(batch, 1, size, size)

    def eager():
        with torch.inference_mode():
            return torch.softmax(net(x), -1)

    return {"eager": eager}


def cnn_infer(tiny):
    return cnn_inference(2 if tiny else 64, tiny)


def cnn_infer_one(tiny):
    return cnn_inference(1, tiny)


def depthwise(tiny):
    batch, size, channels = (2, 5, 3) if tiny else (16, 56, 64)
    x = images(batch, channels, size, size)
    net = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
    net = net.to(memory_format=torch.channels_last)

    def eager():
        with torch.inference_mode():
            return net(x)

    return {"eager": eager}


def bn_relu_train(tiny):
    batch, size, channels = (2, 3, 4) if tiny else (32, 56, 64)
    x = images(batch, channels, size, size).requires_grad_()
    dy = images(batch, channels, size, size)
    net = nn.BatchNorm2d(channels)

    def eager():
        y = torch.relu(net(x))
        return y, torch.autograd.grad(y, [x, net.weight, net.bias], dy)

    return {"eager": eager}


def resnet_block(tiny):
    batch, size, channels = (2, 5, 3) if tiny else (16, 56, 64)
    x = images(batch, channels, size, size).requires_grad_()
    dy = images(batch, channels, size, size)
    net = nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
    ).to(memory_format=torch.channels_last)
    wanted = [x, *net.parameters()]

    def eager():
        y = torch.relu(net(x) + x)
        return y, torch.autograd.grad(y, wanted, dy)

    return {"eager": eager}


def adam_of(variables, size):
    def form(**options):
        weights = [torch.zeros(size, requires_grad=True) for _ in range(variables)]
        for weight in weights:
            weight.grad = uniform(size)
        return torch.optim.Adam(weights, **options).step

    return {"eager": form(), "foreach": form(foreach=True), "fused": form(fused=True)}


def adam(tiny):
    return adam_of(1, 1000 if tiny else 16 << 20)


def adam_many(tiny):
    return adam_of(*((5, 10) if tiny else (100, 1000)))


ROWS = {row.__name__: row for row in (
    call, chain10, chain10_tanh, outer, softmax, softmax_small, layernorm_train, lstm_masked_train,
    gru_train, lnlstm_train, lstm_step, lstm_infer_one, ctc_train, mlp_adam, mlp_tiny,
    embedding_train, cnn_adam, cnn_infer, cnn_infer_one, depthwise, bn_relu_train, resnet_block,
    adam, adam_many, dot_f64_1024, dot_bf16_1024, dot_f16_1024, dot_i32_512, mlp_train_f64)}
ROWS.update(peers_operations.ROWS)
ROWS.update(peers_halves.ROWS)
ROWS.update(peers_language.ROWS)
ROWS.update(peers_narrow.ROWS)
ROWS.update(peers_sizes.ROWS)


def main():
    if sys.argv[1:2] == ["--device"]:
        import peers_device
        return peers_device.serve(sys.argv[2], ROWS)
    torch.set_num_interop_threads(1)
    rows = peer_loop.Rows(ROWS, set_threads=torch.set_num_threads,
                          cold_rows=peers_first_step.ROWS)
    options = peer_loop.options()
    if options.cold:
        torch.set_num_threads(options.threads)
        return rows.run_cold(*options.cold)
    rows.serve("PyTorch " + torch.__version__)


if __name__ == "__main__":
    main()
