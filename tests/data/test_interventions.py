"""Labels of experiments: what they mean, and what cannot be meant."""

import numpy as np
import pandas as pd
import pytest

from psidag import DataWarning, InputError
from psidag.data.interventions import Interventions

NAMES = ("dose", "diet", "a,b")


def conditions(labels, **options):
    targets = Interventions(labels, **options).bind(NAMES)
    return [targets.conditions[k] for k in targets.condition]


@pytest.mark.parametrize(
    ("label", "columns"),
    [
        (None, ()),
        ("", ()),
        (" ", ()),
        (float("nan"), ()),
        (np.nan, ()),
        (np.float32("nan"), ()),
        (pd.NA, ()),
        (pd.NaT, ()),
        ("Control", ()),
        ("non-targeting", ()),
        ("dose", (0,)),
        ("diet, dose", (0, 1)),
        ("dose,diet", (0, 1)),
        (("diet", "dose"), (0, 1)),
        ({"dose"}, (0,)),
        (("dose", None), (0,)),
        ("dose,control", (0,)),
        ("dose,", (0,)),
        ("control,control", ()),
        (np.str_("dose"), (0,)),
        ((), ()),
        ("a,b", (2,)),
        (["a,b", "dose"], (0, 2)),
    ],
)
def test_what_labels_mean(label, columns):
    assert conditions([label, None]) == [columns, ()]


def test_other_words_and_separators():
    assert conditions(["dose+diet", "wild type"], separator="+", none=["Wild Type"]) == [(0, 1), ()]


def test_the_same_targets_are_one_condition():
    targets = Interventions(["dose,diet", "diet,dose", ("diet", "dose"), None]).bind(NAMES)
    assert targets.conditions == ((), (0, 1))
    assert [(batch, rows.tolist()) for batch, rows in targets.rows_in(1)] == [(None, [0, 1, 2])]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (["dosis", None], "'dosis' in row 0.*did you mean 'dose'"),
        (["DOSE", None], "'DOSE' in row 0.*did you mean 'dose'"),
        ([None, "dose;diet"], "'dose;diet' in row 1.*--target-separator"),
        ([None, "a,dose"], "'a' in row 1.*part of the name of 'a,b'"),
        ([None, "wild type"], "'wild type' in row 1.*--control-words"),
        ([None, 3], "names are text; got 3 in row 1"),
        ([None, b"dose"], "names are text; got b'dose' in row 1"),
        (np.zeros((2, 3), dtype=bool), r"a label for each row.*table of shape \(2, 3\)"),
        (pd.DataFrame({"set": ["dose", None]}), r"a label for each row.*table of shape \(2, 1\)"),
        ("target", "goes with a table that has this column"),
        (7, "name of a column, or a label for each row"),
    ],
)
def test_what_cannot_be_meant(labels, says):
    with pytest.raises(InputError, match=says):
        Interventions(labels).bind(NAMES)


def test_a_column_that_is_a_word_for_nothing():
    with pytest.raises(InputError, match="'control' is a column and a word"):
        Interventions([None]).bind(("control", "dose"))


def test_options():
    with pytest.raises(InputError, match="kind must be"):
        Interventions([None], kind="soft")
    with pytest.raises(InputError, match="separator must be"):
        Interventions([None], separator="")


def test_every_row_has_a_label_and_every_equation_has_rows():
    with pytest.raises(InputError, match="2 labels of interventions for 3 rows"):
        Interventions([None, None]).bind(NAMES).check(3)
    always = Interventions(["dose", "dose", ("dose", "diet")])
    with pytest.raises(InputError, match="'dose' was set in every row"):
        always.bind(NAMES).check(3)
    Interventions(always.labels, kind="shift").bind(NAMES).check(3)
    with pytest.raises(InputError, match="'dose' was set in every row but one"):
        Interventions(["dose", "dose", None]).bind(NAMES).check(3)


def test_a_name_that_is_also_a_list_of_names_is_refused():
    with pytest.raises(InputError, match="name of a column, and of several"):
        Interventions(["a,b"]).bind(("a", "b", "a,b"))
    assert Interventions([["a,b"]]).bind(("a", "b", "a,b")).conditions == ((), (2,))


def test_conditions_by_name():
    named = {"heat": ["dose", "diet"], "cold": "dose", "plain": None}
    assert conditions(["heat", "cold", "plain", None], targets=named) == [(0, 1), (0,), (), ()]
    with pytest.raises(InputError, match="'wet' in row 1 is not among"):
        conditions(["heat", "wet"], targets=named)
    with pytest.raises(InputError, match="'heat' is there twice"):
        Interventions(["heat"], targets=[("heat", "dose"), ("heat", "diet")])
    assert conditions(["heat"], targets=[("heat", "dose"), ("heat", "dose")]) == [(0,)]
    assert conditions(["cold", "Control"], targets={"cold": "dose"}) == [(0,), ()]
    with pytest.raises(InputError, match="'cold' are a name, several names or None; got 3"):
        Interventions(["cold"], targets={"cold": 3})
    with pytest.raises(InputError, match="for each condition, as a mapping"):
        Interventions(["cold"], targets=["cold"])


def test_rows_without_a_label_beside_controls_are_said():
    with pytest.warns(DataWarning, match="1 rows have no label .* and 2 say that nothing was"):
        targets = Interventions(["control", None, "control", "dose"]).bind(NAMES)
    assert "1 rows have no label" in targets.remarks[0]


def test_batches_are_one_for_each_row():
    with pytest.raises(InputError, match="1 batches for 2 rows"):
        Interventions([None, None], batch=["x"]).bind(NAMES)
    with pytest.raises(InputError, match="column 'day' with the batches"):
        Interventions([None, None], batch="day").bind(NAMES)
    assert Interventions("set", batch="day").columns == ("set", "day")
