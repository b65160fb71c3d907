#!/usr/bin/env python3
"""Trains data/tokenizers/debug, the byte-level BPE of 2,048 tokens that debug recipes use.

    python3 -m venv venv && venv/bin/pip install tokenizers
    venv/bin/python tools/make_debug_tokenizer.py
"""
import json
import pathlib

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "data/tokenizers/debug"
VOCABULARY = 2048
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|pad|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def main():
    with open(ROOT / "data/corpus/train.jsonl", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    assert tokenizer.get_vocab_size() == VOCABULARY
    description = json.loads(tokenizer.to_str())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0], "eos_token": SPECIAL[1],
              "pad_token": SPECIAL[2], "clean_up_tokenization_spaces": False, "chat_template": CHAT_TEMPLATE}
    OUT.mkdir(parents=True, exist_ok=True)
    for name, value in {"tokenizer": description, "tokenizer_config": config}.items():
        text = json.dumps(value, ensure_ascii=False, indent=1)
        (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
