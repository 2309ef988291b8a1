"""The rows of language.cpp in PyTorch."""
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, softplus


def skip_gram(rows, columns, count, negatives):
    def row(tiny):
        n, d, batch, k = (20, 8, 6, 3) if tiny else (rows, columns, count, negatives)
        center, context, others = (torch.randint(n, dims)
                                   for dims in [(batch,), (batch, 1), (batch, k)])

        def form(sparse):
            centers, contexts = (nn.Embedding(n, d, sparse=sparse) for _ in range(2))
            optimizer = torch.optim.SGD([centers.weight, contexts.weight], lr=0.01)

            def step():
                optimizer.zero_grad()
                h = centers(center)[:, None]
                loss = (softplus(-(h * contexts(context)).sum(2)).mean() +
                        softplus((h * contexts(others)).sum(2)).sum(1).mean())
                loss.backward()
                optimizer.step()
            return step
        return {"sparse": form(True), "dense": form(False)}
    return row


def drawn(tiny, heads, queries, keys, depth):
    dims = (2, min(queries, 6), 6, 4) if tiny else (heads, queries, keys, depth)
    heads, queries, keys, depth = dims
    return [torch.empty(1, heads, count, depth).uniform_(-1, 1)
            for count in (queries, keys, keys, queries)]


def attention(*sizes, causal=False):
    def row(tiny):
        q, k, v, _ = drawn(tiny, *sizes)
        return {"sdpa": lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)}
    return row


def attention_train(*sizes, causal=False):
    def row(tiny):
        q, k, v, w = drawn(tiny, *sizes)
        operands = [x.requires_grad_() for x in (q, k, v)]

        def step():
            o = scaled_dot_product_attention(q, k, v, is_causal=causal)
            return torch.autograd.grad(o, operands, w)
        return {"sdpa": step}
    return row


ROWS = {"skip_gram": skip_gram(100000, 128, 1024, 5),
        "skip_gram_wide": skip_gram(20000, 300, 256, 10),
        "attention_1024": attention(8, 1024, 1024, 64),
        "attention_4096_causal": attention(2, 4096, 4096, 64, causal=True),
        "attention_train_1024": attention_train(8, 1024, 1024, 64, causal=True),
        "attention_train_128": attention_train(32, 128, 128, 64),
        "attention_one_query": attention(32, 1, 4096, 64)}
