"""The rows of operations.cpp in PyTorch: one operation each. They are bound by memory, so each also
has a form that writes into an allocated array."""
import torch


def uniform(*dims):
    return torch.empty(*dims).uniform_(-1, 1)


def permuted(dims, pattern):
    x = uniform(*dims)
    out = torch.empty([dims[axis] for axis in pattern])
    return {"contiguous": lambda: x.permute(pattern).contiguous(),
            "copy_": lambda: out.copy_(x.permute(pattern))}


def transpose_4096(tiny):
    return permuted([20, 20] if tiny else [4096, 4096], [1, 0])


def nhwc_to_nchw(tiny):
    return permuted([2, 3, 3, 5] if tiny else [32, 56, 56, 64], [0, 3, 1, 2])


def cumsum_2048(tiny):
    side = 20 if tiny else 2048
    x, out = uniform(side, side), torch.empty(side, side)
    return {"eager": lambda: torch.cumsum(x, -1), "out=": lambda: torch.cumsum(x, -1, out=out)}


def random_normal_4m(tiny):
    size = 1000 if tiny else 4 << 20
    out = torch.empty(size)
    return {"eager": lambda: torch.randn(size), "normal_": lambda: out.normal_()}


def concat_4(tiny):
    rows, columns = (4, 5) if tiny else (2048, 512)
    parts, out = [uniform(rows, columns) for _ in range(4)], torch.empty(rows, 4 * columns)
    return {"eager": lambda: torch.cat(parts, -1), "out=": lambda: torch.cat(parts, -1, out=out)}


def gather_rows(tiny):
    rows, columns, indices = (20, 8, 24) if tiny else (50000, 128, 16384)
    table, out = uniform(rows, columns), torch.empty(indices, columns)
    chosen = torch.randint(rows, (indices,), dtype=torch.int32)
    wide = chosen.long()
    return {"embedding": lambda: torch.nn.functional.embedding(chosen, table),
            "index_select": lambda: torch.index_select(table, 0, wide),
            "out=": lambda: torch.index_select(table, 0, chosen, out=out)}


def div_int32(tiny):
    size = 1000 if tiny else 4 << 20
    x = torch.randint(1 << 30, (size,), dtype=torch.int32)
    y = torch.randint(1, 1000, (size,), dtype=torch.int32)
    out = torch.empty(size, dtype=torch.int32)
    return {"eager": lambda: torch.div(x, y, rounding_mode="trunc"),
            "out=": lambda: torch.div(x, y, rounding_mode="trunc", out=out)}


ROWS = {row.__name__: row for row in (
    transpose_4096, nhwc_to_nchw, cumsum_2048, random_normal_4m, concat_4, gather_rows,
    div_int32)}
