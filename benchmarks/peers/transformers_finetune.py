"""Full fine-tuning of a Hugging Face folder by transformers and torch's fused AdamW; the last line is JSON.

Usage: transformers_finetune.py MODEL TEXT autocast|bf16 STEPS. 4 x 512 tokens a step, two threads, norm clipped to 1.
"""
import json
import resource
import statistics
import sys
import time

ROWS, CONTEXT, THREADS = 4, 512, 2


def main():
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    folder, text, mode, steps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    dtype = torch.bfloat16 if mode == "bf16" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).train()
    with open(text, encoding="utf-8") as file:
        words = "\n".join(json.loads(line)["text"] for line in file)
    need = (steps + 1) * ROWS * CONTEXT
    ids = torch.tensor(AutoTokenizer.from_pretrained(folder)(words[: 8 * need]).input_ids)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    times = []
    for step in range(steps):
        batch = ids[step * ROWS * CONTEXT:(step + 1) * ROWS * CONTEXT].view(ROWS, CONTEXT)
        start = time.time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "autocast"):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.time() - start)
    seconds = statistics.median(times[2:])
    print(json.dumps({"tokens_per_second": ROWS * CONTEXT / seconds, "step_seconds": seconds,
                      "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
