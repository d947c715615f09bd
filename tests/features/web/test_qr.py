"""The QR code of the page's address: square, quiet at its border, and different for each token."""

from kith.features.web.qr import qr_lines


def test_it_is_square_with_a_light_border() -> None:
    lines = qr_lines("http://127.0.0.1:5484/?token=JEE6Ik7tKi6WOryfIzCjHsGv_yt9OBra0VqJaAFMD9c")
    assert len({len(line) for line in lines}) == 1 and abs(2 * len(lines) - len(lines[0])) <= 1
    assert set(lines[0]) == {"█"} and all(line[0] == line[-1] == "█" for line in lines)
    assert len(lines[0]) <= 80


def test_another_address_is_another_code() -> None:
    assert qr_lines("http://a/?token=1") != qr_lines("http://a/?token=2")
