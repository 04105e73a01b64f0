"""Files that are broken, bombs, or written in another country."""

import gzip
import tracemalloc

import numpy as np
import pytest

from psidag.data.files import read_table
from psidag.data.lines import LONGEST_LINE
from psidag.system.errors import InputError

TEXT = "a,b\n" + "".join(f"{x!r},{y!r}\n" for x, y in np.random.default_rng(0).normal(size=(2000, 2)).tolist())


@pytest.mark.parametrize("place", [20, 2000, -3000, -6, -1])
def test_a_damaged_gzip_file_is_named(tmp_path, place):
    content = bytearray(gzip.compress(TEXT.encode()))
    for offset in range(3):
        content[place - offset] ^= 0xFF
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.csv\.gz"):
        read_table(path)


def test_a_line_without_end_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(20):
            file.write(b"1" * (LONGEST_LINE // 8))
    tracemalloc.start()
    with pytest.raises(InputError, match="a line of more than"):
        read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * LONGEST_LINE


def test_an_endless_line_among_others_is_refused(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n1,2\n" + b"3," + b"9" * LONGEST_LINE + b"\n")
    with pytest.raises(InputError, match="a line of more than"):
        read_table(path)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_empty_array_is_a_table_without_rows_or_an_error(tmp_path, shape):
    path = tmp_path / "empty.npy"
    np.save(path, np.empty(shape))
    if shape[1]:
        assert read_table(path).X.shape == shape
    else:
        with pytest.raises(InputError, match=r"no column of .*empty\.npy"):
            read_table(path)


def test_separators_in_quotes_are_not_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"height, in cm, at noon";weight\n1;2\n3;4\n')
    assert read_table(path).names == ("height, in cm, at noon", "weight")


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, monkeypatch, separator, arrow):
    if not arrow:
        monkeypatch.setattr("psidag.data.delimited.find_spec", lambda _: None)
    path = tmp_path / "t.csv"
    path.write_text("x;y;who\n1,5;2;Ann\n-0,25;;Bob\n1e3;NA;Cem\n".replace(";", separator))
    table = read_table(path)
    assert table.names == ("x", "y")
    np.testing.assert_array_equal(table.X, [[1.5, 2], [-0.25, np.nan], [1000, np.nan]])
    assert any("decimal comma" in note for note in table.notes)
    path.write_text("1,5;2,5\n3,5;4\n5;6,25\n".replace(";", separator))
    assert read_table(path).X.tolist() == [[1.5, 2.5], [3.5, 4], [5, 6.25]]


def test_a_point_is_a_point(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y;pair\n1.5;2;1,2\n2.5;3;3,4\n")
    table = read_table(path)
    assert table.names == ("x", "y")
    assert "pair" in table.text
