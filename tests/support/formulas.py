"""Operations that a traced function may use, and inputs for them."""
import math

import numpy as np

LANES = 16

INPUTS = {"q": 3, "n": 2, "t": None, "m": {"eps": None, "mu": 2.5}}


def states(dtype, seed=0):
    """Random inputs as the array functions take them, with ties, zeros and NaN among them."""
    values = np.random.default_rng(seed).uniform(-2, 2, (7, LANES))
    values[0, :3], values[1, :3], values[:, 3], values[0, 4], values[1, 5] = 0.5, 0.5, 0, np.nan, np.nan
    return dict(zip(("q0", "q1", "q2", "n0", "n1", "t", "m_eps"), values.astype(dtype)))


def by_argument(columns):
    class m:
        eps, mu = columns["m_eps"], 2.5
    q, n = (tuple(columns[f"{name}{i}"] for i in range(INPUTS[name])) for name in "qn")
    return {"q": q, "n": n, "t": columns["t"], "m": m}

OPERATIONS = {
    "arithmetic": lambda q, n, t: (q[0] + 2, 3 - q[1], q[0] * q[1] / 7, -q[0], +q[1], q[2] / n[0], 1 / (4 + q[0])),
    "parameters": lambda q, m: (m.eps * q[0] / m.mu, 2 * m.mu),
    "powers": lambda q: (q[0]**2, q[1]**3, q[2]**8, q[0]**0, q[0]**1.0, (3 + q[0])**-2, (3 + q[1])**0.5,
                         (3 + q[2])**-0.5),
    "general power": lambda q: ((3 + q[0])**q[1], (3 + q[0])**1.7, 2**q[2], np.power(3 + q[0], -0.3), (3 + q[0])**9),
    "square": lambda q: (np.square(q[0]), np.reciprocal(3 + q[1])),
    "compare": lambda q: (q[0] < q[1], q[0] <= q[1], q[0] > q[1], q[0] >= q[1], q[0] == q[1], q[0] != 0.5),
    "logic": lambda q: ((q[0] < q[1]) & (q[1] > 0), (q[0] < 0) | (q[2] < 0), ~(q[0] < q[1]),
                        np.logical_not(np.logical_or(q[0] > 0, q[1])), np.logical_and(True, q[0] < 0)),
    "booleans": lambda q: ((q[0] < q[1]) * q[2], q[0] + (q[1] > 0), 1 - (q[0] > 1), np.where(q[0], 1, q[1])),
    "roots": lambda q: (np.sqrt(3 + q[0]), np.sqrt(np.abs(q[1]))),
    "elementary": lambda q, n, t: (np.exp(q[0]), np.log(3 + q[1]), np.sin(q[2]), np.cos(n[0]), np.tan(t / 2),
                                   np.tanh(q[0])),
    "angle": lambda q: (np.arctan2(q[0], q[1]), np.arctan2(q[2], -1.0)),
    "sign": lambda q: (abs(q[0]), np.abs(q[1]), np.sign(q[0]), np.sign(q[2])),
    "extrema": lambda q: (np.minimum(q[0], q[1]), np.maximum(q[0], q[1]), np.maximum(q[2], 0.25), np.minimum(0, q[1])),
    "clip": lambda q: (np.clip(q[0], -1, 1), np.clip(q[1], None, 0.3), np.clip(q[2], q[0], None),
                       np.clip(q[0], min=0, max=1)),
    "where": lambda q: (np.where(q[0] < q[1], q[2], np.where(q[0] > 1, 2.0, 0 * q[2])),
                        np.where(q[0] < 0, q[1] < 0, q[2] < 0)),
    "constants": lambda q: (1.5, np.float32(0.5), np.array(2.0), q[0] * np.float64(3), np.int64(2) - q[0], True),
    "in place": lambda q: accumulated(q),
    "sums": lambda q, n: (sum(q), sum(a * b for a, b in zip(q, n))),
    "list": lambda q: [q[0] * 2],
    "non-finite": lambda q: (np.maximum(q[0], -np.inf), q[1] * math.nan, np.minimum(q[2], np.inf)),
}


def accumulated(q):
    total = 0
    for component in q:
        total += component**2
    total /= 2
    return (total, q[0])
