"""The rows of narrow.cpp in PyTorch."""
import torch


def uniform(*dims, dtype=torch.float32):
    return torch.empty(*dims, dtype=dtype).uniform_(-1, 1)


def both(work, *inputs):
    compiled = torch.compile(work)
    return {"eager": lambda: work(*inputs), "compile": lambda: compiled(*inputs)}


def preprocess(mode):
    def row(tiny):
        images = torch.randint(256, (2, 4, 5, 3) if tiny else (8, 224, 224, 3), dtype=torch.uint8)
        mean = torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1)
        deviation = torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)
        options = {"align_corners": False} if mode == "bilinear" else {}

        def work(x):
            planes = x.permute(0, 3, 1, 2).float() / 255
            large = torch.nn.functional.interpolate(planes, scale_factor=2, mode=mode, **options)
            return ((large - mean) / deviation).contiguous()
        return both(work, images)
    return row


def bias(rows, columns, dtype):
    return lambda tiny: both(lambda x, b: x + b, uniform(40 if tiny else rows, columns, dtype=dtype),
                             uniform(columns, dtype=dtype))


def softmax_4(tiny):
    return both(lambda x: torch.softmax(x, -1), uniform(40 if tiny else 1 << 20, 4))


def columns(rows, count):
    def row(tiny):
        n, k = (40, 5) if tiny else (rows, count)
        x, v, r = (uniform(*dims, dtype=torch.float64) for dims in [(n, k), (k, 1), (n, 1)])
        return both(lambda x, v, r: (x @ v, x.T @ r), x, v, r)
    return row


def residual_sums(rows, columns, dtype):
    def row(tiny):
        n, k = (40, 5) if tiny else (rows, columns)
        return both(lambda x, r: ((r * x).sum(0), (x - r).square().mean(0)),
                    uniform(n, k, dtype=dtype), uniform(n, 1, dtype=dtype))
    return row


ROWS = {"preprocess_nearest": preprocess("nearest"), "preprocess_bilinear": preprocess("bilinear"),
        "bias_rgb": bias(1 << 20, 3, torch.float32),
        "bias_pairs_f64": bias(1 << 20, 2, torch.float64), "softmax_4": softmax_4,
        "columns_f64": columns(20000, 200), "columns_tall_f64": columns(100000, 32),
        "residual_sums": residual_sums(200000, 16, torch.float32),
        "residual_sums_f64": residual_sums(30000, 70, torch.float64)}
