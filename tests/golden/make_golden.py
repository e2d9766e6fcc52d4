"""Writes gpt.safetensors and llama.safetensors: what PyTorch says about two tiny models, for the C++ tests.

    OMP_NUM_THREADS=1 /usr/bin/python3 tests/golden/make_golden.py  # python3-torch 1.13; same CPU, same bytes

Each file holds, from a float64 run (F64 unless noted):
    input.tokens, input.targets  I32 [batch, context]; target -1 is ignored
    value.<parameter>            initial values, exact in float32 too, so that both precisions start equal
    logits                       [batch, context, vocab] at the initial values
    grad.<parameter>             of loss_sum / count at the initial values, before clipping
    adamw.<parameter>            after 3 steps of clipped AdamW on the same batch, decay on matrices only
    sgd.<parameter>              after 3 steps of plain SGD on the same batch
    __metadata__                 strings: sizes, hyperparameters, loss_sum, count, adamw.norm.<step> (of the
                                 whole gradient, before clipping), f32_error.<kind>: PyTorch's float32 run
                                 against this one, worst max|a - b| / max|b| over the tensors

The key bias of gpt adds one number to all scores of a query, which the softmax cancels: its gradient is 0 and
what programs compute is noise.  Its scale is max|grad| of the key weight instead, times lr * steps for sgd.
AdamW divides noise by its own size, which makes float32 steps arbitrary, so adamw leaves the key bias out.
"""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F

SIZES = dict(layers=2, dim=16, heads=4, head_dim=4, ffn_dim=33, vocab=37, context=8, batch=3, norm_eps=1e-5)
MODELS = [SIZES | dict(model="gpt", kv_heads=4), SIZES | dict(model="llama", kv_heads=2, rope_base=10000.0)]
STEPS, SGD_LR = 3, 0.1
ADAMW = dict(lr=1e-2, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1, max_norm=1.0)
INITIAL_STD = 0.2  # large enough that attention is not uniform
IGNORED = (0, 2, 5)  # targets per sequence, so that no two sequences weigh the same
KEY_BIAS = ".attention.k.bias"


# ---- The models, as functions of the configuration c and the dictionary p of parameters ----
def initial_parameters(c, rng):
    gpt, p = c.model == "gpt", {}
    def add(name, *shape, mean=0.0, bias=gpt):
        draw = lambda shape: torch.from_numpy(INITIAL_STD * rng.standard_normal(shape))
        p[f"{name}.weight"] = (mean + draw(shape)).float().double()  # matrices are [out, in]
        if bias:
            p[f"{name}.bias"] = draw(shape[:1]).float().double()
    add("embedding", c.vocab, c.dim, bias=False)
    if gpt:
        add("position", c.context, c.dim, bias=False)
    for block in (f"blocks.{i}" for i in range(c.layers)):
        add(f"{block}.norm1", c.dim, mean=1.0)
        for name, heads in dict(q=c.heads, k=c.kv_heads, v=c.kv_heads, out=c.heads).items():
            add(f"{block}.attention.{name}", heads * c.head_dim, c.dim)
        add(f"{block}.norm2", c.dim, mean=1.0)
        for name in ("up",) if gpt else ("gate", "up"):
            add(f"{block}.mlp.{name}", c.ffn_dim, c.dim)
        add(f"{block}.mlp.down", c.dim, c.ffn_dim)
    add("norm", c.dim, mean=1.0)
    if not gpt:
        add("head", c.vocab, c.dim)
    return p


def linear(p, name, x):
    return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))


def norm(c, p, name, x):
    if c.model == "gpt":
        return F.layer_norm(x, (c.dim,), p[f"{name}.weight"], p[f"{name}.bias"], c.norm_eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + c.norm_eps) * p[f"{name}.weight"]


def rope(c, x_bhtd):
    """Turns the pair (i, i + head_dim/2) by t * base^(-2i/head_dim); the angles are float64 in both runs."""
    frequencies = c.rope_base ** (-torch.arange(0, c.head_dim, 2, dtype=torch.float64) / c.head_dim)
    angles = torch.outer(torch.arange(c.context, dtype=torch.float64), frequencies)
    cos, sin = angles.cos().to(x_bhtd), angles.sin().to(x_bhtd)
    a, b = x_bhtd.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def attention(c, p, name, x):
    split = lambda y: y.unflatten(-1, (-1, c.head_dim)).transpose(1, 2)
    q, k, v = (split(linear(p, f"{name}.{part}", x)) for part in "qkv")
    if c.model == "llama":
        q, k = rope(c, q), rope(c, k)
    k, v = (y.repeat_interleave(c.heads // c.kv_heads, 1) for y in (k, v))  # query head h reads h / group
    scores = q @ k.transpose(-1, -2) / c.head_dim**0.5 + torch.full((c.context,) * 2, -torch.inf).triu(1)
    return linear(p, f"{name}.out", (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def mlp(c, p, name, x):
    up = linear(p, f"{name}.up", x)
    hidden = F.gelu(up) if c.model == "gpt" else F.silu(linear(p, f"{name}.gate", x)) * up
    return linear(p, f"{name}.down", hidden)


def forward(c, p, tokens, targets):
    """Returns the logits and the sum of the valid targets' cross-entropies."""
    x = F.embedding(tokens, p["embedding.weight"])
    if c.model == "gpt":
        x = x + p["position.weight"]
    for block in (f"blocks.{i}" for i in range(c.layers)):
        x = x + attention(c, p, f"{block}.attention", norm(c, p, f"{block}.norm1", x))
        x = x + mlp(c, p, f"{block}.mlp", norm(c, p, f"{block}.norm2", x))
    logits = linear(p, "embedding" if c.model == "gpt" else "head", norm(c, p, "norm", x))
    return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")


# ---- Runs, errors and the self-check ----
def adamw(p):
    groups = [dict(params=[t], weight_decay=ADAMW["weight_decay"] if t.dim() >= 2 else 0) for t in p.values()]
    return torch.optim.AdamW(groups, ADAMW["lr"], (ADAMW["beta1"], ADAMW["beta2"]), ADAMW["eps"])


def train(c, values, data, optimizer, max_norm=torch.inf):
    """Returns what the first step saw, the gradient norms of all steps, and the parameters after the last."""
    p = {name: value.clone().requires_grad_() for name, value in values.items()}
    optimizer, first, norms = optimizer(p), None, []
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits, loss = forward(c, p, **data)
        (loss / (data["targets"] >= 0).sum()).backward()
        grad = {name: t.grad.clone() for name, t in p.items()}
        first = first or dict(loss={"": loss.detach()}, logits={"": logits.detach()}, grad=grad)
        norms.append(torch.cat([g.flatten() for g in grad.values()]).norm())
        for t in p.values():
            t.grad *= (max_norm / norms[-1]).clamp(max=1)  # clip_grad_norm_ without its + 1e-6
        optimizer.step()
    return first, norms, {name: t.detach() for name, t in p.items()}


def run(c, values, data):
    first, norms, by_adamw = train(c, values, data, adamw, ADAMW["max_norm"])
    _, _, by_sgd = train(c, values, data, lambda p: torch.optim.SGD(p.values(), SGD_LR))
    return dict(first, adamw={n: t for n, t in by_adamw.items() if KEY_BIAS not in n}, sgd=by_sgd), norms


def worst_error(kind, a, reference):
    def error(name):
        scale = reference[kind][name].abs().max()
        if KEY_BIAS in name:
            scale = reference["grad"][name.replace("bias", "weight")].abs().max()
            scale *= SGD_LR * STEPS if kind == "sgd" else 1
        return ((a[kind][name] - reference[kind][name]).abs().max() / scale).item()
    return max(map(error, reference[kind]))


def difference_error(c, values, data, grad, rng, samples=20, h=1e-5):
    """Worst error of random gradient elements against central differences, as a share of the tensor's max."""
    def error(name):
        bump = torch.zeros_like(values[name])
        bump.view(-1)[rng.integers(bump.numel())] = h
        above, below = (forward(c, values | {name: values[name] + d}, **data)[1] for d in (bump, -bump))
        difference = (above - below) / (2 * h) / (data["targets"] >= 0).sum()
        return ((grad[name][bump > 0] - difference).abs() / grad[name].abs().max()).item()
    return max(map(error, rng.choice([n for n in values if KEY_BIAS not in n], samples, replace=False)))


# ---- Files ----
def write_safetensors(path, metadata, tensors):
    """Header length, JSON header padded with spaces to a multiple of 8, raw data; all little-endian."""
    header, data = {"__metadata__": {key: str(value) for key, value in metadata.items()}}, b""
    for name, tensor in tensors.items():
        dtype, code = ("F64", "<f8") if tensor.is_floating_point() else ("I32", "<i4")
        begin, data = len(data), data + tensor.numpy().astype(code).tobytes()
        header[name] = dict(dtype=dtype, shape=list(tensor.shape), data_offsets=[begin, len(data)])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(config):
    c, rng = SimpleNamespace(**config), np.random.default_rng(1)
    values = initial_parameters(c, rng)
    text = torch.from_numpy(rng.integers(c.vocab, size=(c.batch, c.context + 1)))
    data = dict(tokens=text[:, :-1], targets=text[:, 1:].clone())
    for target_t, ignored in zip(data["targets"], IGNORED):
        target_t[rng.choice(c.context, ignored, replace=False)] = -1
    f64, norms = run(c, values, data)
    f32, _ = run(c, {name: value.float() for name, value in values.items()}, data)
    checked = difference_error(c, values, data, f64["grad"], rng)
    assert checked < 1e-7, checked

    metadata = config | {"loss_sum": f64["loss"][""].item(), "count": (data["targets"] >= 0).sum().item()}
    metadata |= {"steps": STEPS, "sgd.lr": SGD_LR} | {f"adamw.{key}": value for key, value in ADAMW.items()}
    metadata |= {f"adamw.norm.{step}": norm.item() for step, norm in enumerate(norms, 1)}
    metadata |= {f"f32_error.{kind}": worst_error(kind, f32, f64) for kind in f64}
    tensors = {f"input.{name}": tensor.int() for name, tensor in data.items()} | {"logits": f64["logits"][""]}
    for kind, group in dict(value=values, grad=f64["grad"], adamw=f64["adamw"], sgd=f64["sgd"]).items():
        tensors |= {f"{kind}.{name}": tensor for name, tensor in group.items()}
    write_safetensors(Path(__file__).with_name(f"{c.model}.safetensors"), metadata, tensors)
    print(f"{c.model}: gradient agrees with central differences within {checked:.1e}")


torch.set_num_threads(1)
for config in MODELS:
    make(config)
