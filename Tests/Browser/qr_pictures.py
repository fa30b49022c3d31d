"""Pictures of QR codes, as a phone would take them: made, never found, and the same each time.

The codes come from qrencode, whose library draws the agent's own (`postern-agent pair`).
"""

import io
import math
import random
import subprocess

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def claim_url(chance: random.Random, length: int = 200) -> str:
    """A text like a claim's: a page, and what is secret behind `#`."""
    base = "https://authority.example/claim#v=1&i="
    return base + "".join(chance.choice(ALPHABET) for _ in range(length - len(base)))


def modules(text: str, level: str = "M", version: int | None = None, *options: str) -> list[str]:
    """The code's rows, `#` for dark, without its quiet zone, as qrencode draws it."""
    command = ["qrencode", "-t", "ASCII", "-m", "0", "-l", level, *options, "-o", "-"]
    if version is not None:
        command += ["-v", str(version), "--strict-version"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=20)
    return [line[::2] for line in done.stdout.decode().splitlines() if line]


def drawn(rows: list[str], scale: int = 8, quiet: int = 4) -> Image.Image:
    """The code, dark on white."""
    side = len(rows) + 2 * quiet
    image = Image.new("L", (side, side), 255)
    for y, row in enumerate(rows):
        for x, mark in enumerate(row):
            if mark == "#":
                image.putpixel((x + quiet, y + quiet), 0)
    return image.resize((side * scale, side * scale), Image.Resampling.NEAREST)


def terminal(rows: list[str], size: int = 20, spacing: int = 0) -> Image.Image:
    """What `postern-agent pair` prints, half blocks on a dark terminal, light modules drawn."""
    quiet, side = 4, len(rows)

    def light(x: int, y: int) -> bool:
        inside = 0 <= x < side and 0 <= y < side
        return not (inside and rows[y][x] == "#") and y < side + quiet

    lines = []
    for y in range(-quiet, side + quiet, 2):
        lines.append("".join(
            " ▄▀█"[2 * light(x, y) + light(x, y + 1)] for x in range(-quiet, side + quiet)))
    font = ImageFont.truetype(FONT, size)
    width = font.getlength("█")
    ascent, descent = font.getmetrics()
    height = ascent + descent + spacing
    image = Image.new("L", (round(width * len(lines[0])) + 60, height * len(lines) + 60), 18)
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        for column, mark in enumerate(line):
            pen.text((30 + column * width, 30 + number * height), mark, font=font, fill=225)
    return image


def warped(image: Image.Image, size: tuple[int, int], corners: list[tuple[float, float]],
           ground: int = 200) -> Image.Image:
    """The picture with its corners (from the top left, clockwise) at these places."""
    width, height = image.size
    source = [(0, 0), (width, 0), (width, height), (0, height)]
    # A code drawn larger than it is seen is made smaller first, as a lens would.
    seen = max(math.dist(corners[0], corners[1]), math.dist(corners[0], corners[3]))
    if seen < width / 2:
        image = image.filter(ImageFilter.GaussianBlur(width / seen / 3))
    return image.transform(size, Image.Transform.PERSPECTIVE, _perspective(corners, source),
                           Image.Resampling.BICUBIC, fillcolor=ground)


def _perspective(target: list[tuple[float, float]],
                 source: list[tuple[float, float]]) -> list[float]:
    """The eight factors that take each target point to its source, by elimination."""
    rows = []
    for (x, y), (u, v) in zip(target, source):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    for i in range(8):
        pivot = max(range(i, 8), key=lambda row: abs(rows[row][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(8):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i])]
    return [row[8] for row in rows]


def placed(image: Image.Image, size: tuple[int, int], side: float, turn: float = 0,
           tilt: float = 0, ground: int = 200) -> Image.Image:
    """The picture in the middle, `side` px wide, turned (degrees) and tilted back (degrees)."""
    points = []
    for x, y in [(-1, -1), (1, -1), (1, 1), (-1, 1)]:
        angle, back = math.radians(turn), math.radians(tilt)
        u = x * math.cos(angle) - y * math.sin(angle)
        v = x * math.sin(angle) + y * math.cos(angle)
        # Seen from five half sides away.
        depth = 1 + v * math.sin(back) / 5
        points.append((size[0] / 2 + u * side / 2 / depth,
                       size[1] / 2 + v * math.cos(back) * side / 2 / depth))
    return warped(image, size, points, ground)


def noisy(image: Image.Image, chance: random.Random, strength: float) -> Image.Image:
    """With the noise of a dark room; strength is its deviation in grey levels."""
    parts = [Image.frombytes("L", image.size, chance.randbytes(image.width * image.height))
             for _ in range(2)]
    # The mean of two evenly spread bytes deviates by 52.
    noise = Image.blend(*parts, 0.5).point(lambda value: 128 + (value - 127.5) * strength / 52)
    return ImageChops.add(image, noise, 1, -128)


def shaded(image: Image.Image, darkest: float) -> Image.Image:
    """With light that falls from one corner: down to `darkest` of it at the other."""
    shade = Image.linear_gradient("L").rotate(45, expand=True).crop((90, 90, 272, 272))
    shade = shade.resize(image.size, Image.Resampling.BICUBIC)
    return ImageChops.multiply(
        image, shade.point(lambda value: 255 * darkest + value * (1 - darkest)))


def faint(image: Image.Image, low: int, high: int) -> Image.Image:
    """With black and white no further apart than these."""
    return image.point(lambda value: low + value * (high - low) / 255)


def damaged(image: Image.Image, chance: random.Random, spots: int, size: float) -> Image.Image:
    """With grey spots on the code, none on the finders' corners; size as a share of the side."""
    image = image.copy()
    pen = ImageDraw.Draw(image)
    side = image.width
    while spots:
        x, y = chance.uniform(0.35, 0.85), chance.uniform(0.35, 0.85)
        radius = side * size / 2
        pen.ellipse([x * side - radius, y * side - radius, x * side + radius, y * side + radius],
                    fill=chance.choice([30, 128, 230]))
        spots -= 1
    return image


def curved(image: Image.Image, depth: float) -> Image.Image:
    """As on a sheet that is bent round: columns shifted down by up to `depth` of the height."""
    result = Image.new("L", (image.width, round(image.height * (1 + depth))), 255)
    for x in range(image.width):
        down = round(math.sin(math.pi * x / image.width) * depth * image.height)
        result.paste(image.crop((x, 0, x + 1, image.height)), (x, down))
    return result


def jpeg(image: Image.Image, quality: int) -> bytes:
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
