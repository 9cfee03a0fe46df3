"""A training step of a Qwen3 folder in torch, for `vf bench train --peer torch`.

usage: torch_train.py FOLDER IDS.json THREADS
IDS.json: {"rows": [[id, ...], ...], "lr": x, "beta1": x, "beta2": x, "eps": x, "weightDecay": x}
One JSON line when ready (versions, speed of a matrix product, loss before any update), then for every line on stdin one
step (forward, cross-entropy, backward, AdamW) and one JSON line with its seconds and its loss.
"""
import json
import math
import struct
import sys
import time

import torch
import torch.nn.functional as F


def read_weights(folder):
    """The f32 tensors of model.safetensors, by name."""
    with open(f"{folder}/model.safetensors", "rb") as file:
        data = bytearray(file.read())
    (length,) = struct.unpack_from("<Q", data, 0)
    weights = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=8 + length + begin)
        weights[name] = flat.clone().view(entry["shape"]).requires_grad_(True)
    return weights


class Qwen3:
    def __init__(self, folder, positions):
        with open(f"{folder}/config.json") as file:
            self.config = json.load(file)
        self.weights = read_weights(folder)
        self.head_dim = self.config["head_dim"]
        exponents = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        angles = torch.outer(torch.arange(positions, dtype=torch.float64), self.config["rope_theta"] ** -exponents)
        self.cos, self.sin = angles.cos().float(), angles.sin().float()
        self.mask = torch.full((positions, positions), -math.inf).triu(1)

    def norm(self, x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]) * self.weights[name]

    def heads(self, x, layer, part):
        """Projection, norm and rotation of queries or keys: [batch, heads, positions, head_dim]."""
        y = F.linear(x, self.weights[f"{layer}.self_attn.{part}_proj.weight"])
        y = y.view(*x.shape[:2], -1, self.head_dim)
        if part != "v":
            y = self.norm(y, f"{layer}.self_attn.{part}_norm.weight")
        y = y.transpose(1, 2)
        if part == "v":
            return y
        a, b = y.chunk(2, -1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), -1)

    def attention(self, x, layer):
        q, k, v = (self.heads(x, layer, part) for part in "qkv")
        group = q.shape[1] // k.shape[1]
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = (q @ k.transpose(-1, -2) / math.sqrt(self.head_dim) + self.mask).softmax(-1) @ v
        y = y.transpose(1, 2).reshape(*x.shape[:2], -1)
        return F.linear(y, self.weights[f"{layer}.self_attn.o_proj.weight"])

    def loss(self, ids):
        """Mean negative log-probability of ids[:, 1:]."""
        w = self.weights
        x = w["model.embed_tokens.weight"][ids[:, :-1]]
        for index in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{index}"
            x = x + self.attention(self.norm(x, f"{layer}.input_layernorm.weight"), layer)
            h = self.norm(x, f"{layer}.post_attention_layernorm.weight")
            gate = F.silu(F.linear(h, w[f"{layer}.mlp.gate_proj.weight"]))
            up = F.linear(h, w[f"{layer}.mlp.up_proj.weight"])
            x = x + F.linear(gate * up, w[f"{layer}.mlp.down_proj.weight"])
        head = w.get("lm_head.weight", w["model.embed_tokens.weight"])
        logits = F.linear(self.norm(x, "model.norm.weight"), head)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def product_speed():
    """GFLOP/s of a 1024^3 product: shows whether torch has a real BLAS below it."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    best = math.inf
    for _ in range(20):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * 1024**3 / best / 1e9


def say(**fields):
    print(json.dumps(fields), flush=True)


def main():
    folder, ids_file, threads = sys.argv[1:4]
    torch.set_num_threads(int(threads))
    with open(ids_file) as file:
        work = json.load(file)
    ids = torch.tensor(work["rows"])
    model = Qwen3(folder, ids.shape[1] - 1)
    optimizer = torch.optim.AdamW(
        list(model.weights.values()),
        lr=work["lr"],
        betas=(work["beta1"], work["beta2"]),
        eps=work["eps"],
        weight_decay=work["weightDecay"],
    )
    with torch.no_grad():
        first = model.loss(ids).item()
    say(version=f"torch {torch.__version__}", gflops=product_speed(), loss=first)
    for _ in sys.stdin:
        start = time.perf_counter()
        loss = model.loss(ids)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        say(seconds=time.perf_counter() - start, loss=loss.item())


main()
