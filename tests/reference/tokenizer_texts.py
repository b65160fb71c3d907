"""Texts that find differences between tokenizers; the same for the same seed."""
import random
import unicodedata

WORDS = ("the of and to in is Hello world naïve façade Ångström don't I'LL they're it's 'tis we've rock'n'roll "
         "HTTPServer getElementById snake_case CamelCase SCREAMING x1y2 Straße ſ'ſ K's İstanbul ﬁne résumé "
         "Привет мир Ελληνικά Σίσυφος עברית العربية हिन्दी தமிழ் ภาษาไทย 中文字符 日本語テキスト カタカナ 한국어 "
         "tokenization internationalization antidisestablishmentarianism Donaudampfschifffahrt qwertz").split(" ")
SPACES = [" ", " ", " ", "  ", "   ", " " * 7, " " * 40, "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\t\t", " \n", "\n ",
          " \n \n", "\u00a0", "\u2003", "\u3000", "\u0085", "\u2028", "\u180e", "\u200b", "\x0b\x0c", "\x1c"]
SIGNS = ["...", "!!!", "?", "---", "===", "->", "::", "//", "/*", "*/", "#", "$", "€", "§", "—", "…", "「", "」", "。",
         "، ", "\"", "'", "`", "\\", "{", "}", "();", "<=", "&&", "||", "@", "^", "~", "_", "__", "%20", "±", "∑", "▁"]
EMOJI = ["😀", "😃", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "🎉", "☃", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
CODE = ["def f(x):\n    return x + 1\n", "for (int i = 0; i < n; ++i) {\n\ta[i] *= 2;\n}\n", "SELECT * FROM t WHERE a=1;",
        "#include <vector>\n", "let x = `${y}`;\r\n", "if x:\n\t\tpass\n\n\n", "{\"a\": [1, 2.5e-10, null]}\n"]
SPECIALS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|endoftext|>", "[INST]", "<｜begin▁of▁sentence｜>", "<0x0A>"]
# Blocks of assigned characters, old enough to be in every Unicode version that is compared.
BLOCKS = [(0x20, 0x7E), (0xA0, 0x17F), (0x250, 0x36F), (0x370, 0x52F), (0x531, 0x5F4), (0x600, 0x6FF), (0x900, 0xDFF),
          (0xE00, 0xE7F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x27BF), (0x2C00, 0x2DFF),
          (0x3000, 0x30FF), (0x4E00, 0x9FA5), (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFE00, 0xFFFD),
          (0x10000, 0x100FA), (0x10400, 0x1044F), (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x20000, 0x2A6D6), (0x0, 0x1F)]


def character(rng):
    low, high = rng.choice(BLOCKS)
    while True:
        c = chr(rng.randint(low, high))
        if unicodedata.category(c) not in ("Cn", "Cs"):
            return c


def number(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return str(rng.randrange(10 ** rng.randint(1, 12)))
    if kind == 1:
        return f"{rng.random() * 1000:.{rng.randint(0, 6)}f}"
    if kind == 2:
        return hex(rng.getrandbits(32))
    if kind == 3:
        return f"{rng.randrange(10 ** 9):,}"
    return "".join(rng.choice("٠١٢३४५½²Ⅷ①𝟙0123456789") for _ in range(rng.randint(1, 8)))


def random_word(rng):
    letters = rng.choice(["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "aeiourstln", "абвгдежз", "αβγδε"])
    word = "".join(rng.choice(letters) for _ in range(rng.randint(1, 14)))
    return rng.choice([word, word.title(), word.swapcase() + word])


def part(rng):
    kind = rng.randrange(20)
    if kind < 7:
        return rng.choice(WORDS)
    if kind < 10:
        return random_word(rng)
    if kind < 12:
        return number(rng)
    if kind < 14:
        return rng.choice(SIGNS) * rng.choice([1, 1, 1, 2, 5])
    if kind == 14:
        return rng.choice(EMOJI)
    if kind == 15:
        return rng.choice(CODE)
    if kind == 16:
        return rng.choice(SPECIALS)
    if kind == 17:
        return rng.choice(["a", "é", "中", "-", " ", "\n", "x ", "😀"]) * rng.randint(2, 60)
    return "".join(character(rng) for _ in range(rng.randint(1, 12)))


def text(rng):
    parts = []
    for _ in range(rng.randint(1, 12)):
        if rng.random() < 0.7:
            parts.append(rng.choice(SPACES))
        parts.append(part(rng))
    if rng.random() < 0.3:
        parts.append(rng.choice(SPACES))
    return "".join(parts)


def texts(count, seed=0):
    rng = random.Random(seed)
    edges = ["", " ", "  ", "\n", "a", "\u0000", "é", "e\u0301", "\U0010ffff", "\ufeff"]
    return edges + [text(rng) for _ in range(count - len(edges))]


def every_character():
    """All characters of Python's Unicode version, with and without a space before, some in each text."""
    known = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    return ["".join(f"a{c} {c}1" for c in known[i:i + 40]) for i in range(0, len(known), 40)]
