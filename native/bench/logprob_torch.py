"""PyTorch's log-probs under an LM head, forward and backward, at the shape of gpu_bench's logprob stage."""

import json
import sys
import time

import torch
import torch.utils.checkpoint

ROWS, HIDDEN, VOCAB, CHUNK = 16384, 1024, 151936, 1024


def plain(x, head, targets):
    return torch.log_softmax((x @ head.T).float(), -1).gather(1, targets[:, None])[:, 0]


def chunked(x, head, targets):
    parts = [
        torch.utils.checkpoint.checkpoint(plain, x[i : i + CHUNK], head, targets[i : i + CHUNK], use_reentrant=False)
        for i in range(0, len(x), CHUNK)
    ]
    return torch.cat(parts)


def measure(name, function, out):
    torch.manual_seed(0)
    x = torch.randn(ROWS, HIDDEN, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    head = (0.05 * torch.randn(VOCAB, HIDDEN, device="cuda")).bfloat16().requires_grad_()
    targets = torch.arange(ROWS, device="cuda") * 7919 % VOCAB
    weight = torch.randn(ROWS, device="cuda")
    best = float("inf")
    base = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(4):
        x.grad = head.grad = None
        torch.cuda.synchronize()
        begin = time.perf_counter()
        (function(x, head, targets) * weight).sum().backward()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    extra = (torch.cuda.max_memory_allocated() - base) / 1e9
    print(f"logprob  torch {name:28s}  forward_backward_ms {best * 1e3:.4g}  extra_gb {extra:.3g}", flush=True)
    out.write(json.dumps({"stage": "logprob", "row": f"torch {name}", "forward_backward_ms": best * 1e3, "extra_gb": extra}) + "\n")


def main():
    with open(sys.argv[1], "a", encoding="utf-8") as out:
        ways = [("chunked", chunked), ("plain", plain)]
        if hasattr(torch, "compile"):
            ways.append(("compiled", torch.compile(plain)))
        for name, function in ways:
            try:
                measure(name, function, out)
            except Exception as error:  # an out-of-memory row is a result too
                print(f"logprob  torch {name}: {type(error).__name__}: {str(error)[:100]}", flush=True)
            torch.cuda.empty_cache()


main()
