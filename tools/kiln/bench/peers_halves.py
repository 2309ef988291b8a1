"""The rows of halves.cpp in PyTorch, with activations of the weights' dtype."""
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


ROWS = {"mlp_bf16_weights_1": mlp(1, torch.bfloat16),
        "mlp_bf16_weights_64": mlp(64, torch.bfloat16),
        "mlp_f16_weights_1": mlp(1, torch.float16)}
