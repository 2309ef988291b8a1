"""Prints the expected rates of schedules_test.cpp, computed by Keras 3.5 (torch backend).

Run: KERAS_BACKEND=torch python keras_schedules.py
"""
from keras.optimizers import schedules as s

STEPS = (0, 1, 7, 10, 11, 25, 64)
ROWS = {
    "ExponentialDecay": s.ExponentialDecay(0.1, 10, 0.9),
    "ExponentialDecay, staircase": s.ExponentialDecay(0.1, 10, 0.9, staircase=True),
    "PiecewiseConstantDecay": s.PiecewiseConstantDecay([7, 10, 30], [1.0, 0.5, 0.25, 0.1]),
    "PiecewiseConstantDecay, one boundary": s.PiecewiseConstantDecay([10], [1.0, 0.5]),
    "PolynomialDecay": s.PolynomialDecay(0.1, 20),
    "PolynomialDecay, power": s.PolynomialDecay(0.1, 20, end_learning_rate=0.01, power=0.5),
    "PolynomialDecay, cycle": s.PolynomialDecay(0.1, 10, end_learning_rate=0.01, cycle=True),
    "InverseTimeDecay": s.InverseTimeDecay(0.1, 10, 0.5),
    "InverseTimeDecay, staircase": s.InverseTimeDecay(0.1, 10, 0.5, staircase=True),
    "CosineDecay": s.CosineDecay(0.1, 50),
    "CosineDecay, warm-up": s.CosineDecay(
        0.01, 50, alpha=0.1, warmup_target=0.1, warmup_steps=10
    ),
    "CosineDecayRestarts": s.CosineDecayRestarts(0.1, 10),
    "CosineDecayRestarts, equal": s.CosineDecayRestarts(0.1, 10, t_mul=1.0, m_mul=0.9, alpha=0.1),
    "CosineDecayRestarts, 1.5": s.CosineDecayRestarts(0.1, 8, t_mul=1.5, m_mul=0.8, alpha=0.2),
}

if __name__ == "__main__":
    for name, rate in ROWS.items():
        print(f"{name}\n  {{{', '.join(f'{float(rate(step)):.7g}' for step in STEPS)}}},")
