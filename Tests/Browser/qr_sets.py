"""The pictures that the reader is held to: easy ones, all of which it must read, and hard ones,
of which it must read nearly as many as zbarimg. Each is (kind, text, file)."""

import random
from collections.abc import Iterator

import qr_pictures as take

Picture = tuple[str, str, bytes]
ROOM = (1200, 900)


def easy(chance: random.Random) -> Iterator[Picture]:
    """What a person would call a good photo of a claim, of several sizes and ways to hold it."""
    for length in (120, 170, 200, 240):
        text = take.claim_url(chance, length)
        rows = take.modules(text)
        plain = take.drawn(rows)
        yield "plain", text, take.png(plain)
        yield "scale 3", text, take.png(take.drawn(rows, 3))
        for turn in (5, 45, 90, 163, 270):
            yield "turned", text, take.jpeg(take.placed(plain, ROOM, 560, turn), 85)
        for tilt in (10, 25):
            yield "tilted", text, take.jpeg(take.placed(plain, ROOM, 650, 8, tilt), 85)
        yield "inverted", text, take.png(take.drawn(rows).point(lambda value: 255 - value))
        yield "terminal", text, take.png(take.terminal(rows))
        photo = take.placed(take.terminal(rows), (1600, 1200), 900, 4, 12, ground=40)
        yield "terminal photo", text, take.jpeg(take.noisy(photo, chance, 4), 80)
        placed = take.placed(plain, ROOM, 600, 3)
        yield "noise", text, take.jpeg(take.noisy(placed, chance, 12), 80)
        yield "uneven light", text, take.jpeg(take.shaded(placed, 0.35), 80)
        yield "faint", text, take.jpeg(take.faint(placed, 100, 170), 85)
        yield "mirrored", text, take.png(plain.transpose(take.Image.Transpose.FLIP_LEFT_RIGHT))
        spotted = take.damaged(plain, chance, 1, 0.08)
        yield "damaged", text, take.jpeg(take.placed(spotted, ROOM, 600, 7), 85)
        large = take.placed(plain, (4000, 3000), 1500, 6, 8)
        yield "large photo", text, take.jpeg(large, 80)


def hard(chance: random.Random) -> Iterator[Picture]:
    """Each kind from a little to too much; nobody is expected to read them all."""
    text = take.claim_url(chance)
    rows = take.modules(text)
    plain, shown = take.drawn(rows), take.terminal(rows)
    code = take.placed(plain, ROOM, 500, 11)
    blur = take.ImageFilter.GaussianBlur
    for radius in (2, 2.5, 3, 3.5, 4, 4.5):
        yield "blur", text, take.jpeg(code.filter(blur(radius)), 85)
    for strength in (25, 40, 55, 70, 90):
        yield "noise", text, take.jpeg(take.noisy(code, chance, strength), 80)
    for tilt in (35, 42, 50, 56):
        for turn in (0, 20, 45, 200):
            photo = take.placed(plain, ROOM, 760, turn, tilt)
            yield "tilt", text, take.jpeg(photo, 85)
    for high in (150, 135, 125, 118):
        photo = take.noisy(take.faint(code, 105, high), chance, 3)
        yield "faint", text, take.jpeg(photo, 85)
    for darkest in (0.2, 0.1, 0.05):
        for turn in (0, 90):
            photo = take.shaded(code.rotate(turn), darkest)
            yield "shade", text, take.jpeg(take.noisy(photo, chance, 3), 80)
    for side in (260, 200, 160, 140):
        photo = take.placed(plain, (1600, 1200), side, 9)
        yield "small", text, take.jpeg(photo, 90)
    for side in (500, 400, 300):
        photo = take.placed(plain, (4000, 3000), side, 17)
        yield "small in 12 Mpx", text, take.jpeg(photo, 80)
    for quality in (20, 10, 6):
        yield "jpeg", text, take.jpeg(take.placed(plain, ROOM, 360, 3), quality)
    for spots in (2, 4, 6, 8):
        spotted = take.damaged(plain, chance, spots, 0.1)
        yield "damaged", text, take.jpeg(take.placed(spotted, ROOM, 600, 5), 85)
    for depth in (0.03, 0.06, 0.1, 0.15):
        bent = take.placed(take.curved(plain, depth), ROOM, 650, 2)
        yield "curved", text, take.jpeg(bent, 85)
    for spacing in (0, 1, 3):
        for tilt, radius in ((15, 1), (30, 1.5), (40, 2)):
            photo = take.placed(take.terminal(rows, spacing=spacing), ROOM, 800, 5, tilt, 40)
            photo = take.noisy(photo.filter(blur(radius)), chance, 10)
            yield "terminal", text, take.jpeg(photo, 70)
    for version in (1, 2, 5, 16, 20, 25):
        other = take.claim_url(chance, 10 if version == 1 else 40 + version * version)
        drawn = take.drawn(take.modules(other[-12:] if version < 3 else other, "M", version), 6)
        for turn, tilt in ((5, 15), (30, 30), (160, 40)):
            photo = take.placed(drawn, (1600, 1200), 800, turn, tilt).filter(blur(0.8))
            yield f"version {version}", other[-12:] if version < 3 else other, take.jpeg(photo, 80)
    for radius, strength, darkest in ((1, 10, 0.4), (1.5, 15, 0.3), (2, 20, 0.3), (2.5, 20, 0.2)):
        for picture in (plain, shown):
            photo = take.placed(picture, ROOM, 620, 20, 20).filter(blur(radius))
            photo = take.noisy(take.shaded(photo, darkest), chance, strength)
            yield "mixed", text, take.jpeg(photo, 60)
