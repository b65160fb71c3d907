#!/usr/bin/env python3
"""Makes data/corpus/{train,validation}.jsonl from three Debian packages.

    mkdir debs && (cd debs && apt-get download dict-devil golang-1.19-src r-cran-janeaustenr)
    tools/make_corpus.py debs data/corpus

Source, author, year and licence of each text are in data/corpus/README.md. Line breaks
inside paragraphs are undone; a document is a run of whole paragraphs of one text. Every
25th document is held out for validation.
"""
import gzip
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

MAX_CHARACTERS = 5000
HOLD_OUT_EVERY = 25
OPTICKS_CHARACTERS = 330_000


def unpack(debs, package, into):
    (deb,) = pathlib.Path(debs).glob(f"{package}_*.deb")
    subprocess.run(["dpkg-deb", "-x", deb, into], check=True)


def lazy_load_chunks(path):
    """The serialized objects of an R lazy-load database: a length, then a zlib stream."""
    data = path.read_bytes()
    while data:
        decompressor = zlib.decompressobj()
        chunk = decompressor.decompress(data[4:])
        assert len(chunk) == struct.unpack(">I", data[:4])[0], path
        yield chunk
        data = decompressor.unused_data


def r_strings(chunk):
    """The character vector that fills a chunk of R's XDR serialization (version 2 or 3)."""
    at = chunk.find(struct.pack(">I", 0x10))  # STRSXP without attributes
    (count,) = struct.unpack(">i", chunk[at + 4:at + 8])
    at += 8
    strings = []
    for _ in range(count):
        flags, size = struct.unpack(">Ii", chunk[at:at + 8])
        assert flags & 0xFF == 9, "expected a CHARSXP"
        strings.append(chunk[at + 8:at + 8 + size].decode("utf-8"))
        at += 8 + size
    return strings


def paragraphs_of(lines):
    paragraph = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line.strip())
        elif paragraph:
            yield re.sub(r" +", " ", " ".join(paragraph))
            paragraph = []


def austen(folder):
    for path in folder.rglob("Rdata.rdb"):
        for chunk in lazy_load_chunks(path):
            lines = r_strings(chunk) if b"Persuasion" in chunk[:100] else []
            if lines:
                first = next(i for i, line in enumerate(lines) if line.startswith("Chapter 1"))
                return [p for p in paragraphs_of(lines[first:]) if p != "Finis"]
    raise SystemExit("no Persuasion in the package")


def newton(folder):
    (path,) = folder.rglob("Isaac.Newton-Opticks.txt")
    text = path.read_text(encoding="utf-8")
    text = text[text.index("THE FIRST BOOK OF OPTICKS"):][:OPTICKS_CHARACTERS]
    text = text.replace("_", "").replace("\r", "")
    paragraphs = list(paragraphs_of(text.split("\n")))[:-1]
    return [p for p in paragraphs if not p.startswith("[Illustration") and "* * *" not in p]


def bierce(folder):
    (path,) = folder.rglob("devil.dict.dz")
    text = gzip.decompress(path.read_bytes()).decode("latin-1")
    text = text[text.index("ABASEMENT, n."):]
    paragraphs = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        verse = all(line.startswith("    ") for line in lines)
        joined = ("\n" if verse else " ").join(re.sub(r" +", " ", line.strip()) for line in lines)
        paragraphs.append(joined.replace("_", ""))
    return paragraphs


def documents(paragraphs):
    document = ""
    for paragraph in paragraphs:
        new_chapter = re.fullmatch(r"Chapter \d+", paragraph)
        if document and (new_chapter or len(document) + len(paragraph) > MAX_CHARACTERS):
            yield document
            document = ""
        document += ("\n\n" if document else "") + paragraph
    yield document


def write(path, texts):
    with open(path, "w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    print(f"{path}: {len(texts)} documents, {sum(map(len, texts))} characters")


def main(debs, out):
    with tempfile.TemporaryDirectory() as folder:
        for package in ("dict-devil", "golang-1.19-src", "r-cran-janeaustenr"):
            unpack(debs, package, folder)
        root = pathlib.Path(folder)
        texts = [d for book in (austen, newton, bierce) for d in documents(book(root))]
    held_out = texts[HOLD_OUT_EVERY - 1::HOLD_OUT_EVERY]
    out = pathlib.Path(out)
    write(out / "validation.jsonl", held_out)
    write(out / "train.jsonl", [t for i, t in enumerate(texts) if (i + 1) % HOLD_OUT_EVERY])


if __name__ == "__main__":
    main(*sys.argv[1:])
