"""Prints the expected minima and numbers of evaluations of lbfgs_test.cpp.

They are those of SciPy 1.17's L-BFGS-B and of torch 2.15's LBFGS with strong_wolfe, both with 10
pairs, in float64, until no absolute gradient is above the tolerance. Run: python scipy_lbfgs.py
"""
import numpy as np
import torch
from scipy.optimize import minimize


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rosenbrock_start(n):
    return torch.tensor([-1.2, 1.0] * (n // 2), dtype=torch.float64)


SCALES = 10 ** (4 * torch.arange(50, dtype=torch.float64) / 49)


def quadratic(x):
    return 0.5 * (SCALES * (x - 1) ** 2).sum()


ROWS, COLUMNS = np.meshgrid(np.arange(60), np.arange(4), indexing="ij")
X = torch.tensor(np.sin(1.7 * ROWS * (COLUMNS + 1) + COLUMNS))
Y = torch.tensor((np.sin(2.3 * ROWS[:, 0]) + X[:, 0].numpy() > 0.3).astype(float))


def logistic(w):
    logits = X @ w[:4] + w[4]
    return (torch.nn.functional.softplus(logits) - Y * logits).mean() + 0.005 * (w**2).sum()


PROBLEMS = {
    "Rosenbrock, 2": (rosenbrock, rosenbrock_start(2), 1e-5),
    "Rosenbrock, 10": (rosenbrock, rosenbrock_start(10), 1e-5),
    "quadratic, condition 1e4": (quadratic, torch.zeros(50, dtype=torch.float64), 1e-5),
    "logistic regression": (logistic, torch.zeros(5, dtype=torch.float64), 1e-8),
}


def scipy_run(loss, start, tolerance):
    def both(values):
        x = torch.tensor(values, requires_grad=True)
        f = loss(x)
        f.backward()
        return f.item(), x.grad.numpy()

    options = {"maxcor": 10, "gtol": tolerance, "ftol": 0, "maxiter": 10000, "maxfun": 10000}
    return minimize(both, start.numpy(), jac=True, method="L-BFGS-B", options=options)


def torch_run(loss, start, tolerance):
    x = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([x], max_iter=10000, max_eval=10000, tolerance_grad=tolerance,
                                  tolerance_change=0, history_size=10,
                                  line_search_fn="strong_wolfe")
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        f = loss(x)
        f.backward()
        return f

    optimizer.step(closure)
    return evaluations, x.detach().numpy()


if __name__ == "__main__":
    for name, (loss, start, tolerance) in PROBLEMS.items():
        scipy = scipy_run(loss, start, tolerance)
        evaluations, x = torch_run(loss, start, tolerance)
        print(f"{name}: evaluations: SciPy {scipy.nfev}, torch {evaluations}; "
              f"difference of minima {abs(scipy.x - x).max():.1e}")
        print("  ", ", ".join(f"{value:.7g}" for value in scipy.x[:5]))
