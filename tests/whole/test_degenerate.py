"""Three thousand degenerate tables with prior knowledge, through every engine and front door."""

import pytest

from support.degenerate import check, draw


@pytest.mark.parametrize("first", range(0, 3000, 200))
def test_degenerate_tables_with_knowledge(first):
    results = 0
    for seed in range(first, first + 200):
        try:
            results += check(draw(seed))
        except Exception as error:
            raise AssertionError(f"case {seed}: {draw(seed)}") from error
    assert results > 100
