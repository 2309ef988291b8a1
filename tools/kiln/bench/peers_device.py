"""The rows of a GPU's table in PyTorch: those of peers.py on the device, or others of their name
where sizes or forms differ. TF32 is off; cuDNN chooses convolutions by trial."""
import torch
from torch import nn
from torch.nn import functional

import peer_loop
import peers
import peers_halves
import peers_training_networks
from peers import uniform


def with_compiled(function, forms=None):
    """The forms and, beside them, the function compiled by torch.compile."""
    return {**(forms or {"eager": function}), "compiled": torch.compile(function)}


def applied(function, *inputs):
    """The function on these inputs, eager and compiled, as work."""
    return {name: lambda form=form: form(*inputs)
            for name, form in with_compiled(function).items()}


def large(tiny):
    return 1000 if tiny else 64 << 20


def matrix(tiny):
    return uniform(*((16, 48) if tiny else (65536, 1024)))


def chain10(tiny):
    return applied(peers.ten_operations,
                   *(uniform(large(tiny), low=0.5, high=1.5) for _ in range(2)))


def chain10_tanh(tiny):
    return applied(peers.tanh_chain, *(uniform(large(tiny)) for _ in range(3)))


def cast(tiny):
    return applied(lambda x: x.to(torch.float16), uniform(large(tiny)))


def broadcast(tiny):
    x = matrix(tiny)
    rows, columns = x.shape
    return applied(lambda x, row, column: x + row * column, x, uniform(columns), uniform(rows, 1))


def softmax(tiny):
    return applied(lambda x: torch.softmax(x, -1), uniform(*((8, 10) if tiny else (65536, 1000))))


def with_gradients(function, inputs, dy=None):
    """Forward of the function and the gradients of its inputs, eager and compiled."""
    def work(form):
        y = form(*inputs)
        return y, torch.autograd.grad(y, inputs, dy)

    return {name: lambda form=form: work(form) for name, form in with_compiled(function).items()}


def cross_entropy(tiny):
    rows, classes = (8, 10) if tiny else (65536, 1000)
    y = torch.randint(classes, (rows,))
    return with_gradients(lambda logits: functional.cross_entropy(logits, y),
                          [uniform(rows, classes).requires_grad_()])


def layernorm_train(tiny):
    rows, columns = (8, 16) if tiny else (65536, 1024)
    inputs = [uniform(rows, columns), torch.ones(columns), torch.zeros(columns)]
    return with_gradients(
        lambda x, scale, offset: functional.layer_norm(x, (columns,), scale, offset),
        [x.requires_grad_() for x in inputs], uniform(rows, columns))


def bn_relu_train(tiny):
    batch, size, channels = (2, 3, 4) if tiny else (256, 56, 64)
    inputs = [peers.images(batch, channels, size, size), torch.ones(channels),
              torch.zeros(channels)]
    return with_gradients(
        lambda x, scale, offset: torch.relu(
            functional.batch_norm(x, None, None, scale, offset, training=True)),
        [x.requires_grad_() for x in inputs], peers.images(batch, channels, size, size))


def transpose(tiny):
    size = 40 if tiny else 8192
    x, out = uniform(size, size), torch.empty(size, size)
    return {"copy_": lambda: out.copy_(x.t())}


def deterministic(work):
    def run():
        torch.use_deterministic_algorithms(True)
        try:
            return work()
        finally:
            torch.use_deterministic_algorithms(False)

    return run


def lookup(tiny):
    rows, columns, count = (20, 16, 24) if tiny else (50000, 512, 16384)
    return uniform(rows, columns), torch.randint(rows, (count,)), uniform(count, columns)


def gather(tiny):
    table, indices, out = lookup(tiny)
    return {"index_select": lambda: torch.index_select(table, 0, indices, out=out)}


def gather_gradient(tiny):
    table, indices, dy = lookup(tiny)
    out = torch.zeros_like(table)
    table.requires_grad_()

    def by_embedding():
        return torch.autograd.grad(functional.embedding(indices, table), table, dy)

    return {"deterministic embedding": deterministic(by_embedding),
            "deterministic index_add_": deterministic(
                lambda: out.zero_().index_add_(0, indices, dy))}


def matmul(tiny):
    size = 16 if tiny else 8192
    a, b, out = (uniform(size, size) for _ in range(3))
    return {"mm": lambda: torch.mm(a, b, out=out)}


def matmul_of(dtype):
    def row(tiny):
        size = 16 if tiny else 8192
        a, b, out = (uniform(size, size).to(dtype) for _ in range(3))
        return {"mm": lambda: torch.mm(a, b, out=out)}
    return row


def mlp_train_mixed(tiny):
    batch, sizes = (3, [9, 20, 17, 4]) if tiny else (1024, [1024, 4096, 4096, 1024])
    return {"autocast": peers_halves.train_mixed(batch, sizes, "cuda")}


def conv_train_bf16(tiny):
    n, size, channels = (2, 5, 8) if tiny else (64, 56, 64)
    return {"channels last": peers_halves.conv_with_gradients(n, size, channels)}


def matmul_batch(tiny):
    count, size = (2, 8) if tiny else (64, 512)
    a, b, out = (uniform(count, size, size) for _ in range(3))
    return {"bmm": lambda: torch.bmm(a, b, out=out)}


def mlp_adam(tiny):
    """Also the step whose forward and backward are compiled, and recorded as CUDA graphs."""
    batch, sizes = (4, [8, 6, 6, 3]) if tiny else (64, [784, 512, 512, 10])
    x, y = uniform(batch, sizes[0]), torch.randint(sizes[-1], (batch,))

    def form(**options):
        net = peers.dense(sizes)
        optimizer = torch.optim.Adam(net.parameters(), fused=True)
        loss_of = torch.compile(lambda x, y: functional.cross_entropy(net(x), y), **options)

        def step():
            optimizer.zero_grad()
            loss_of(x, y).backward()
            optimizer.step()

        return step

    return {**peers.mlp_adam(tiny), "compiled": form(), "graphs": form(mode="reduce-overhead")}


def lstm_train(tiny):
    steps, samples, inputs, units = (4, 2, 3, 4) if tiny else (100, 64, 256, 512)
    x = uniform(steps, samples, inputs).requires_grad_()
    net = nn.LSTM(inputs, units)
    wanted = list(net.parameters()) + [x]

    def eager():
        loss = net(x)[0][-1].square().mean()
        return loss, torch.autograd.grad(loss, wanted)

    return {"nn.LSTM": eager}


def lnlstm_train(tiny):
    forms = dict(peers.lnlstm_train(tiny))
    if "loop, compiled" in forms:
        forms["compiled"] = forms.pop("loop, compiled")
    return forms


ROWS = {row.__name__: row for row in (
    chain10, chain10_tanh, cast, broadcast, softmax, cross_entropy, layernorm_train, bn_relu_train,
    transpose, gather, gather_gradient, matmul, matmul_batch, mlp_train_mixed, conv_train_bf16,
    mlp_adam, lstm_train, lnlstm_train)}
ROWS |= peers_training_networks.ROWS
ROWS |= {"matmul_f16": matmul_of(torch.float16), "matmul_bf16": matmul_of(torch.bfloat16)}


def placed(row, device):
    """The row with its data on the device. Work is not timed in that context, which slows it."""
    def make(tiny):
        with torch.device(device):
            return row(tiny)

    return make


def serve(device, rows):
    """`rows`: those of peers.py."""
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("this PyTorch finds no CUDA device")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    # Deterministic forms would fill each new tensor before they write it.
    torch.utils.deterministic.fill_uninitialized_memory = False

    def finish(_):
        if device == "cuda":
            torch.cuda.synchronize()

    all_rows = {name: placed(row, device) for name, row in {**rows, **ROWS}.items()}
    peer_loop.Rows(all_rows, finish, sample_seconds=peer_loop.DEVICE_SAMPLE_SECONDS,
                   names_all=True).serve(
        f"PyTorch {torch.__version__} on {device}")
