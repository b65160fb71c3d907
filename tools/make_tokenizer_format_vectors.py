#!/usr/bin/env python3
"""Makes titan/text/testdata/formats.json and the small models beside it with the reference implementations.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3 sentencepiece==0.2.3 tiktoken==0.14.0 protobuf
    venv/bin/python tools/make_tokenizer_format_vectors.py

Components of tokenizer.json (normalizers, pre-tokenizers, models, decoders), SentencePiece models and tekken files. The
models are trained on the bundled corpus; training is deterministic.
"""
import base64
import json
import pathlib
import tempfile

import sentencepiece
import tiktoken
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import pre_tokenizers, trainers

from make_tokenizer_vectors import BYTE_LEVEL, TEXTS, added, byte_symbols, byte_tokenizer, load

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "titan/text/testdata"
CORPUS = [json.loads(line)["text"] for line in (ROOT / "data/corpus/validation.jsonl").open(encoding="utf-8")]
MORE = ["  two  spaces  ", "▁mark ▁▁marks", " ▁x", "a▁b", "Ａｂｃ ﬁ … \u200b x", "<s>hi</s>hi", "hi<sep>there <sep> x",
        "<sep>", "İΣΑΣ ǅ ẞ", "e\u0301 a\u030a \u1e9b\u0323", "\ttab\u00a0nbsp\u3000", "x" * 30, "lower lowest newer",
        "unhappiness 123 4567", "日本語 ｶﾞ ㍿", "👩‍👩‍👧 🇩🇪🇫🇷 é̂"]
ALL = TEXTS + MORE
MARK = "▁"


def normalizer_vectors(character_map):
    yield from ({"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"))
    for left in (False, True):
        for right in (False, True):
            yield {"type": "Strip", "strip_left": left, "strip_right": right}
    yield {"type": "Prepend", "prepend": MARK}
    yield {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    yield {"type": "Replace", "pattern": {"Regex": r" {2,}"}, "content": " "}
    yield {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}
    yield {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(character_map).decode()}


def pre_tokenizer_vectors():
    for scheme in ("always", "first", "never"):
        for split in (False, True):
            yield {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split}
    for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        yield {"type": "Punctuation", "behavior": behavior}
    yield {"type": "Whitespace"}
    yield {"type": "WhitespaceSplit"}
    yield {"type": "Split", "pattern": {"Regex": r"\w+(?=\s)|[[:punct:]]"}, "behavior": "Isolated", "invert": False}
    yield {"type": "Split", "pattern": {"Regex": r"[\p{Lu}&&[^A-M]]|\d{2,3}?|(?i:s|k)+"}, "behavior": "Isolated",
           "invert": False}
    # Field case T15.
    yield {"type": "Sequence", "pretokenizers": [
        {"type": "Punctuation", "behavior": "Contiguous"}, {**BYTE_LEVEL},
        {"type": "Digits", "individual_digits": False},
        {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False}]}


def component_vectors(character_map):
    result = {"normalizers": [], "pre_tokenizers": []}
    for description in normalizer_vectors(character_map):
        part = load(byte_tokenizer(normalizer=description)).normalizer
        result["normalizers"].append({"normalizer": description, "texts": [part.normalize_str(t) for t in ALL]})
    for description in pre_tokenizer_vectors():
        part = load(byte_tokenizer(pre_tokenizer=description)).pre_tokenizer
        result["pre_tokenizers"].append(
            {"pre_tokenizer": description, "pieces": [[p for p, _ in part.pre_tokenize_str(t)] for t in ALL]})
    return result


def encodings(tokenizer, add_special_tokens=False):
    result = []
    for text in MORE + TEXTS[::3]:
        ids = tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        result.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False),
                       "skipped": tokenizer.decode(ids, skip_special_tokens=True)})
    return result


def tokenizer_json(model, **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model, **parts}


LLAMA_DECODER = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": MARK}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}


def llama_model(model):
    """A SentencePiece BPE model as a tokenizer.json: byte fallback, no pre-tokenizer."""
    vocab = {p.piece: i for i, p in enumerate(model.pieces)}
    merges = []
    for piece in model.pieces:
        if piece.type != 1:
            continue
        for cut in range(1, len(piece.piece)):
            left, right = piece.piece[:cut], piece.piece[cut:]
            if left in vocab and right in vocab:
                merges.append((-piece.score, vocab[left], vocab[right], left, right))
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
            "vocab": vocab, "merges": [[m[3], m[4]] for m in sorted(merges)]}


def tokenizer_descriptions(bpe_model, unigram_model):
    character_map = unigram_model.normalizer_spec.precompiled_charsmap
    specials = [added(i, bpe_model.pieces[i].piece) for i in range(3)]
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
    llama = llama_model(bpe_model)
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    yield "llama, prepend normalizer", tokenizer_json(
        llama, added_tokens=specials, post_processor=template, decoder=LLAMA_DECODER,
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, replace]})
    for scheme in ("always", "first", "never"):
        metaspace = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": scheme != "first"}
        decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, metaspace]}
        yield f"llama, metaspace {scheme}", tokenizer_json(
            llama, added_tokens=specials, pre_tokenizer=metaspace,
            decoder=metaspace if scheme == "never" else decoder)
    without = {**llama, "byte_fallback": False}
    yield "unknown fused", tokenizer_json(without, normalizer=replace, decoder=LLAMA_DECODER)
    yield "unknown apart", tokenizer_json({**without, "fuse_unk": False}, normalizer=replace, decoder=LLAMA_DECODER)

    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
               "vocab": [[p.piece, round(p.score, 3)] for p in unigram_model.pieces if p.type in (1, 2) or
                         p.piece in ("<s>", "</s>")]}
    metaspace = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
    yield "unigram", tokenizer_json(
        unigram, added_tokens=specials, pre_tokenizer=metaspace, decoder=metaspace,
        normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(character_map).decode()},
        post_processor={"type": "RobertaProcessing", "cls": ["<s>", 1], "sep": ["</s>", 2], "trim_offsets": True,
                        "add_prefix_space": True})
    byte_tokens = [[f"<0x{b:02X}>", 0.0] for b in range(256)]
    yield "unigram, byte fallback, one piece", tokenizer_json(
        {**unigram, "byte_fallback": True, "vocab": unigram["vocab"] + byte_tokens},
        added_tokens=specials, pre_tokenizer={**metaspace, "split": False}, decoder=LLAMA_DECODER)

    yield "end_of_word_suffix", affix_tokenizer(
        [letter + end for letter in LETTERS for end in ("", "</w>")],
        ["l o", "lo w", "lo w</w>", "e r</w>", "low er</w>", "n e", "ne w", "new er</w>", "e s", "es t</w>", "low est</w>"],
        end_of_word_suffix="</w>")
    yield "continuing_subword_prefix", affix_tokenizer(
        [start + letter for letter in LETTERS for start in ("", "##")],
        ["l ##o", "lo ##w", "##e ##r", "low ##er", "n ##e", "ne ##w", "new ##er", "##e ##s", "##es ##t"],
        continuing_subword_prefix="##")
    words = {word: i for i, word in enumerate(["<unk>", "hi", "lower", "Hello", ",", "world", "!", "the"])}
    yield "word level", tokenizer_json({"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
                                       pre_tokenizer={"type": "Whitespace"}, decoder={"type": "Fuse"})


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def affix_tokenizer(letters, merges, **affixes):
    """A BPE tokenizer whose tokens carry a mark where a word goes on or ends."""
    tokens = ["<unk>", *letters]
    for merge in merges:
        left, right = merge.split(" ")
        tokens.append(left + right.removeprefix(affixes.get("continuing_subword_prefix", "")))
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges, **affixes}
    return tokenizer_json(model, pre_tokenizer={"type": "WhitespaceSplit"}, decoder={"type": "Fuse"})


def train(name, **options):
    rules = [("9", "20"), ("A0", "20"), ("3000", "20"), ("FB01", "66 69"), ("2026", "2E 2E 2E"), ("200B", ""),
             ("FF21", "41"), ("41 30A", "C5"), ("65 301", "E9"), ("61 30A", "E5")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
        (folder / "rules.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rules))
        if options.pop("rules", False):
            options["normalization_rule_tsv"] = str(folder / "rules.tsv")
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "corpus.txt"), model_prefix=str(folder / name), num_threads=1,
            minloglevel=2, hard_vocab_limit=False, **options)
        data = (folder / f"{name}.model").read_bytes()
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(data)
    # Without the settings that name files of the machine.
    model.trainer_spec.ClearField("input")
    model.trainer_spec.ClearField("model_prefix")
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    (OUT / f"{name}.model").write_bytes(model.SerializeToString())
    return model


def sentencepiece_vectors():
    bpe = train("bpe", model_type="bpe", vocab_size=600, byte_fallback=True, normalization_rule_name="identity",
                remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True)
    unigram = train("unigram", model_type="unigram", vocab_size=300, rules=True,
                    user_defined_symbols=["<sep>", "hi"], control_symbols=["<mask>"])
    result = {}
    for name in ("bpe", "unigram"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(OUT / f"{name}.model"))
        result[name] = [{"text": t, "ids": (ids := processor.encode(t)), "decoded": processor.decode(ids)} for t in ALL]
    return bpe, unigram, result


def tekken_vectors():
    """Byte tokens and the first merges of a byte-level tokenizer trained on the corpus."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    table = {c: b for b, c in byte_symbols().items()}
    tokens = [bytes([b]) for b in range(256)]
    tokens += [bytes(table[c] for c in token) for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])
               if len(token) > 1]
    pattern = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    count = 24
    description = {
        "config": {"pattern": pattern, "num_vocab_tokens": len(tokens), "default_vocab_size": len(tokens) - 20 + count,
                   "default_num_special_tokens": count, "version": "v3"},
        "vocab": [{"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None}
                  for i, t in enumerate(tokens)]}
    (OUT / "tekken.json").write_text(json.dumps(description, separators=(",", ":")) + "\n")
    encoding = tiktoken.Encoding("small", pat_str=pattern, special_tokens={},
                                 mergeable_ranks={t: i for i, t in enumerate(tokens[:-20])})
    result = []
    for text in ALL:
        ids = encoding.encode(text, disallowed_special=())
        result.append({"text": text, "ids": [i + count for i in ids], "decoded": encoding.decode(ids)})
    return result


def main():
    bpe, unigram, sentencepieces = sentencepiece_vectors()
    vectors = {"texts": ALL, **component_vectors(unigram.normalizer_spec.precompiled_charsmap), "sentencepiece": sentencepieces,
               "tekken": tekken_vectors(), "tokenizers": []}
    for name, description in tokenizer_descriptions(bpe, unigram):
        tokenizer = load(description)
        vectors["tokenizers"].append({"name": name, "tokenizer": description, "encodings": encodings(tokenizer)})
        if description["post_processor"]:
            vectors["tokenizers"][-1]["with_special_tokens"] = encodings(tokenizer, True)
    text = json.dumps(vectors, ensure_ascii=False, separators=(",", ":"))
    (OUT / "formats.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
