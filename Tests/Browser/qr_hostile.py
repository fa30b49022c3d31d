"""Files that hold no code, and some that are made to cost a reader time."""

import random
import struct
import zlib
from collections.abc import Iterator

import qr_pictures as take
from PIL import Image, ImageDraw


def files(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Each as (name, file)."""
    yield "nothing", b""
    yield "text", b"https://authority.example/claim#not-a-picture"
    yield "random bytes", chance.randbytes(10_000)
    code = take.jpeg(take.drawn(take.modules(take.claim_url(chance))), 80)
    yield "half a photo's head", code[:200]
    yield "a picture that says it is huge", _claims(60_000, 60_000)
    yield "one pixel", take.png(Image.new("L", (1, 1), 0))
    yield "a line", take.png(Image.new("L", (5_000, 1), 0))
    yield "a column", take.png(Image.new("L", (3, 8_000), 255))
    yield "black", take.png(Image.new("L", (1600, 1200), 0))
    yield "clear", take.png(Image.new("RGBA", (600, 600), (0, 0, 0, 0)))
    size = (1600, 1600)
    yield "grey noise", take.png(Image.frombytes("L", size, chance.randbytes(1600 * 1600)))
    coarse = Image.frombytes("L", (400, 400), chance.randbytes(160_000))
    yield "black and white noise", take.png(
        coarse.point(lambda value: 255 * (value > 127)).resize(size, Image.Resampling.NEAREST))
    yield "stripes", take.png(_stripes(size))
    for scale in (1, 2, 4, 7):
        yield f"finders everywhere, scale {scale}", take.png(_finders(size, scale))
    for version in (1, 7, 12, 25, 40):
        yield f"no code in a frame of version {version}", take.png(_frame(version, chance))
    yield "a page of print", take.jpeg(_print(chance), 85)


def _claims(width: int, height: int) -> bytes:
    """A PNG of this size whose pixels are not there."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(b"\0" * 100_000)) + chunk(b"IEND", b""))


def _stripes(size: tuple[int, int]) -> Image.Image:
    """A finder's runs on every row, and on none of its columns."""
    row = "#.###.#." * 200
    line = Image.new("L", (len(row), 1))
    line.putdata([0 if mark == "#" else 255 for mark in row])
    return line.resize((size[0] * 2, size[1]), Image.Resampling.NEAREST).crop((0, 0, *size))


def _finders(size: tuple[int, int], scale: int) -> Image.Image:
    tile = Image.new("L", (9, 9), 255)
    pen = ImageDraw.Draw(tile)
    for inset, shade in ((1, 0), (2, 255), (3, 0)):
        pen.rectangle((inset, inset, 8 - inset, 8 - inset), fill=shade)
    tile = tile.resize((9 * scale, 9 * scale), Image.Resampling.NEAREST)
    image = Image.new("L", size, 255)
    for y in range(0, size[1], 9 * scale):
        for x in range(0, size[0], 9 * scale):
            image.paste(tile, (x, y))
    return image


def _frame(version: int, chance: random.Random) -> Image.Image:
    """A code's fixed patterns and format, and random modules between: no block is right."""
    rows = take.modules("1234", "L", version)
    middle = range(9, len(rows) - 9)
    mixed = ["".join(chance.choice("#.") if x in middle or (y in middle and x > 8) else mark
                     for x, mark in enumerate(row)) for y, row in enumerate(rows)]
    return take.drawn(mixed, 5)


def _print(chance: random.Random) -> Image.Image:
    image = Image.new("L", (1600, 1200), 245)
    pen = ImageDraw.Draw(image)
    font = take.ImageFont.truetype(take.FONT, 17)
    for y in range(20, 1180, 22):
        pen.text((30, y), "".join(chance.choice(take.ALPHABET + "    □■▣") for _ in range(150)),
                 font=font, fill=30)
    return image
