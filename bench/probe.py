"""The probe's fit beside a plain Adam loop on the same features, and the parts of a probe's time.

    python -m bench.probe [RECORDS] [FEATURES] [CLASSES]

Prints, for synthetic features of PTB-XL's size or the size given: seconds for the whole strict choice (eight
strengths, chosen on val), for one strength, and for 100 epochs of Adam at that strength; the training loss
at which each ends; and milliseconds per hand-crafted record.
"""

import sys
import time

import neurokit2 as nk
import numpy as np
import torch
from torch import nn

from marecg.evaluate.handcrafted import measure
from marecg.evaluate.probe import STRENGTHS, Part, choose_logistic

EPOCHS = 100


def main() -> None:
    records, features, classes = (
        int(value) for value in (*sys.argv[1:], *(17084, 768, 5)[len(sys.argv) - 1 :])
    )
    train, val = part(records, features, classes, 0), part(records // 8, features, classes, 1)
    started = time.perf_counter()
    strength = choose_logistic(train, val).chosen
    path = time.perf_counter() - started
    started = time.perf_counter()
    probe = choose_logistic(train, val, (strength,))
    single = time.perf_counter() - started
    started = time.perf_counter()
    logits_MK = adam(train, strength)
    loop = time.perf_counter() - started
    best = loss(train, probe.logits(train.x_MF))
    print(f"{records} records, {features} features, {classes} classes, C = {strength:g}")
    print(f"newton-cholesky, one strength     {single:8.2f} s   mean loss {best:.5f}")
    ratio = f"{loop / path:.2f}x as fast as Adam once"
    print(f"newton-cholesky, {len(STRENGTHS)} and choice     {path:8.2f} s   {ratio}")
    print(f"Adam, {EPOCHS} epochs, one strength  {loop:8.2f} s   mean loss {loss(train, logits_MK):.5f}")
    print(f"Adam over newton-cholesky, one strength each: {loop / single:.1f}x")
    print(f"hand-crafted features {handcrafted():8.1f} ms per record")


def part(records: int, features: int, classes: int, seed: int) -> Part:
    """Correlated features, as encoders give them, and labels that follow some of them."""
    generator = np.random.default_rng(seed)
    mixing_GF = np.random.default_rng(99).normal(size=(64, features))
    hidden_MG = generator.normal(size=(records, 64))
    x_MF = np.tanh(hidden_MG @ mixing_GF / 8) + generator.normal(0, 0.1, (records, features))
    y_MK = hidden_MG[:, :classes] + generator.normal(0, 1.5, (records, classes)) > 1.5
    return Part(x_MF, y_MK.astype(np.uint8))


def adam(train: Part, strength: float) -> np.ndarray:
    """What most probes do: 100 epochs of Adam, batch 256, on standardised features, at one L2 strength."""
    torch.manual_seed(0)
    x = torch.from_numpy((train.x_MF - train.x_MF.mean(0)) / train.x_MF.std(0)).float()
    y = torch.from_numpy(train.y_MK).float()
    head = nn.Linear(x.shape[1], y.shape[1])
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(256):
            optimizer.zero_grad()
            penalty = head.weight.square().sum() / (2 * strength * len(x))
            fit = nn.functional.binary_cross_entropy_with_logits(head(x[rows]), y[rows], reduction="none")
            (fit.sum(1).mean() + penalty).backward()
            optimizer.step()
    with torch.no_grad():
        return head(x).double().numpy()


def loss(train: Part, logits_MK: np.ndarray) -> float:
    return float((np.logaddexp(0, logits_MK) - train.y_MK * logits_MK).mean())


def handcrafted() -> float:
    lead_L = nk.ecg_simulate(duration=10, sampling_rate=500, random_state=0)[:5000]
    x_CL = np.tile(lead_L, (12, 1)).astype(np.float32)
    measure(x_CL)
    started = time.perf_counter()
    for _ in range(20):
        measure(x_CL)
    return (time.perf_counter() - started) / 20 * 1000


if __name__ == "__main__":
    main()
