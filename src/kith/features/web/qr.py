"""The address of the page as a QR code in the terminal, for a phone's camera."""

import segno


def qr_lines(address: str) -> list[str]:
    """The code in half blocks, dark on light whatever the terminal's colours: two rows of it in a line."""
    rows = [[bool(cell) for cell in row] for row in segno.make(address, error="l").matrix_iter(border=2)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    signs = {(True, True): " ", (True, False): "▄", (False, True): "▀", (False, False): "█"}
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(signs[cells] for cells in zip(top, below, strict=True)) for top, below in pairs]
