"""Writes torch.safetensors, the file of weights.md, with PyTorch 2.15, and prints the last outputs
that the page states. Usage: python3 torch_weights.py"""
import safetensors.torch
import torch

torch.manual_seed(7)
modules = torch.nn.ModuleDict({
    "lstm": torch.nn.LSTM(3, 2, batch_first=True),
    "gru": torch.nn.GRU(3, 2, batch_first=True),
})
safetensors.torch.save_file(modules.state_dict(), "torch.safetensors")
x = torch.tensor([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]])
with torch.no_grad():
    print(modules["lstm"](x)[0][:, -1].numpy(), modules["gru"](x)[0][:, -1].numpy())
