"""The answers of a fitted model, each against its definition."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from psidag import DAG, InputError, Solution, fit_dag, learn_dag
from psidag.simulate import LinearSEM, simulate


@pytest.fixture(scope="module")
def problem():
    return simulate("ER2", d=12, n=3000, seed=4, n_test=500)


@pytest.fixture(scope="module")
def solution(problem):
    return fit_dag(problem.X + 3.0, problem.dag)


def test_standard_errors_are_those_of_least_squares(problem, solution):
    for edge in solution.edges():
        parents = solution.dag.parents(edge.target)
        A = np.column_stack([np.ones(problem.n), *(problem.X[:, solution.dag.index(p)] for p in parents)])
        y = problem.X[:, solution.dag.index(edge.target)]
        coefficients, rss, *_ = np.linalg.lstsq(A, y)
        covariance = rss[0] / (problem.n - A.shape[1]) * np.linalg.inv(A.T @ A)
        k = 1 + parents.index(edge.source)
        assert edge.weight == pytest.approx(coefficients[k], rel=1e-6)
        assert edge.standard_error == pytest.approx(np.sqrt(covariance[k, k]), rel=1e-6)


def test_standardised_weights_are_those_of_standardised_data(problem, solution):
    standard = fit_dag(problem.X / problem.X.std(axis=0), problem.dag)
    for edge in solution.edges():
        again = standard.dag.weights[standard.dag.index(edge.source), standard.dag.index(edge.target)]
        assert edge.standardised == pytest.approx(again, rel=1e-6)


def test_edge_table_is_sorted_and_prints(solution):
    table = solution.edges()
    strengths = [abs(edge.standardised) for edge in table]
    assert strengths == sorted(strengths, reverse=True)
    assert table[0].source in str(table)
    assert len(str(table).splitlines()) == len(table) + 1
    frame = table.to_pandas()
    assert list(frame.columns) == [
        "source",
        "target",
        "weight",
        "standard_error",
        "standardised",
        "directed",
        "because",
        "derived",
    ]
    assert len(frame) == solution.dag.n_edges


def test_family_and_ancestral_subgraph():
    dag = DAG.from_edges([("a", "b"), ("b", "c"), ("x", "c"), ("c", "d"), ("y", "z")])
    assert dag.ancestors("c") == ["a", "x", "b"]
    assert dag.descendants("a") == ["b", "c", "d"]
    assert dag.ancestors("a") == []
    sub = dag.ancestral_subgraph(["c", "z"])
    assert set(sub.names) == {"a", "b", "c", "x", "y", "z"}
    assert {edge[:2] for edge in sub.edges()} == {("a", "b"), ("b", "c"), ("x", "c"), ("y", "z")}
    assert DAG.from_weights(sub.weights, sub.order, sub.names).n_edges == 4


def test_cycle_is_printed_by_name():
    with pytest.raises(InputError, match=r"a -> b -> a|b -> a -> b"):
        DAG.from_edges([("a", "b"), ("b", "a")])


def test_total_effects_are_the_inverse(solution):
    effects = np.linalg.inv(np.eye(12) - solution.dag.to_dense())
    for i, source in enumerate(solution.names):
        for j, target in enumerate(solution.names):
            assert solution.total_effect(source, target) == pytest.approx(effects[i, j], abs=1e-10)
        assert set(solution.total_effects(source)) == set(solution.dag.descendants(source))


def test_effect_while_holding_the_mediator_is_direct():
    chain = DAG.from_edges([("a", "b", 2.0), ("b", "c", 3.0), ("a", "c", 5.0)])
    solution = fit_dag(LinearSEM(chain).sample(20_000, 0), chain, names=chain.names)
    assert solution.total_effect("a", "c") == pytest.approx(11, abs=0.2)
    assert solution.total_effect("a", "c", holding=["b"]) == pytest.approx(5, abs=0.2)


def test_intervention_moves_the_mean_by_the_total_effect(solution):
    source = solution.names[solution.order[0]]
    for name in (source, solution.names[solution.order[6]]):
        low, high = solution.intervene({name: 0.0}), solution.intervene({name: 1.0})
        expected = [solution.total_effect(name, other) for other in solution.names]
        np.testing.assert_allclose(high.mean - low.mean, expected, atol=1e-12)
        drawn = high.sample(20, seed=0)
        assert np.all(drawn[:, solution.dag.index(name)] == 1.0)


def test_model_keeps_the_training_mean_and_samples(problem, solution):
    np.testing.assert_allclose(solution.model.mean, problem.X.mean(axis=0) + 3.0, atol=1e-10)
    rows = solution.sample(50_000, seed=0)
    np.testing.assert_allclose(rows.mean(axis=0), solution.mean, atol=0.1)
    # Moments of the sample give the model back.
    again = fit_dag(rows, solution.dag)
    np.testing.assert_allclose(again.dag.to_dense(), solution.dag.to_dense(), atol=0.05)


def test_prediction_is_the_conditional_mean(problem, solution):
    W, noise = solution.dag.to_dense(), solution.residual_variance
    mixing = np.linalg.inv(np.eye(12) - W)
    S = mixing.T @ np.diag(noise) @ mixing
    X = problem.X_test + 3.0
    for j, name in enumerate(solution.names):
        rest = np.delete(np.arange(12), j)
        gain = np.linalg.solve(S[np.ix_(rest, rest)], S[rest, j])
        expected = solution.mean[j] + (X[:, rest] - solution.mean[rest]) @ gain
        np.testing.assert_allclose(solution.predict(X, name), expected, atol=1e-8)
        from_parents = solution.intercept[j] + X @ W[:, j]
        np.testing.assert_allclose(solution.predict(X, name, given="parents"), from_parents, atol=1e-10)


def test_prediction_takes_a_table_with_the_columns_it_needs(problem, solution):
    frame = pd.DataFrame(problem.X_test + 3.0, columns=list(solution.names))
    target = next(edge.target for edge in solution.edges())
    whole = solution.predict(frame, target)
    np.testing.assert_allclose(solution.predict(frame.drop(columns=target)[::-1].iloc[::-1], target), whole)
    shuffled = frame[list(solution.names)[::-1]]
    np.testing.assert_allclose(solution.predict(shuffled, target), whole)
    with pytest.raises(InputError, match="not there"):
        solution.predict(frame[[target]], target)
    with pytest.raises(InputError, match="no variable named"):
        solution.predict(frame, "nobody")
    with pytest.raises(InputError, match="all 12 columns"):
        solution.predict(problem.X_test[:, :3], target)


def test_residuals_of_the_true_model_are_fine():
    problem = simulate("ER2", d=10, n=2000, seed=1)
    checks = fit_dag(problem.X, problem.dag).check_residuals(problem.X)
    assert not any(checks.standing_out(check) for check in ("variance", "normality", "linearity"))
    assert "look normal" in str(checks)


def test_residual_checks_name_the_culprits():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 2000))
    table = np.c_[a, a + 5 * b, a**2 + 0.5 * a + c, rng.exponential(size=2000)]
    dag = DAG.from_edges([("a", "loud"), ("a", "bent")], names=["a", "loud", "bent", "skewed"])
    solution = fit_dag(table, dag, names=dag.names)
    checks = solution.check_residuals(table)
    assert checks.standing_out("variance")[0] == "loud"
    assert checks.standing_out("linearity") == ["bent"]
    assert "skewed" in checks.standing_out("normality")
    assert "a" not in checks.standing_out("normality")
    assert "loud" in str(checks)
    assert checks.to_pandas().loc["bent", "nonlinearity_p"] < 1e-6


def test_residual_checks_bear_constants_and_few_rows():
    rng = np.random.default_rng(0)
    table = np.c_[np.ones(5), rng.normal(size=(5, 2))]
    with pytest.warns(UserWarning, match="constant"):
        solution = fit_dag(table, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert np.isnan(solution.check_residuals(table).variance_ratio[0])
    with pytest.raises(InputError, match="3 columns"):
        solution.check_residuals(rng.normal(size=(5, 4)))


def test_summary_in_words(problem):
    solution = learn_dag(problem.X, random_state=0)
    text = str(solution)
    assert f"{solution.dag.n_edges} edges among 12 variables, learned from 3000 rows" in text
    assert solution.status.code in text
    assert "strongest edges" in text


def test_saved_and_loaded(tmp_path, problem):
    names = [f"ä {k} \"'<&,\n" for k in range(12)]
    solution = learn_dag(problem.X, random_state=0, names=names)
    solution.save(tmp_path / "a.psidag")
    again = Solution.load(tmp_path / "a.psidag")
    assert again.names == tuple(names)
    assert again.status == solution.status
    assert again.engine == solution.engine
    np.testing.assert_equal(again.trace, solution.trace)
    np.testing.assert_array_equal(again.dag.to_dense(), solution.dag.to_dense())
    for key in ("intercept", "mean", "variance", "residual_variance", "order", "standard_error"):
        np.testing.assert_array_equal(getattr(again, key), getattr(solution, key))
    assert str(again) == str(solution)
    np.testing.assert_allclose(np.asarray(again.candidate.weights.todense()), _dense(solution.candidate.weights))


def _dense(W):
    return W.toarray() if hasattr(W, "toarray") else np.asarray(W)


def test_file_that_is_not_whole_is_refused(tmp_path, solution):
    path = tmp_path / "a.psidag"
    solution.save(path)
    whole = path.read_bytes()
    for cut in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError):
            Solution.load(path)
    with pytest.raises(InputError, match="no file"):
        Solution.load(tmp_path / "b.psidag")


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path, solution):
    path = tmp_path / "a.psidag"
    solution.save(path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole), 150, replace=False):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        try:
            again = Solution.load(path)
        except InputError:
            continue
        np.testing.assert_array_equal(again.dag.to_dense(), solution.dag.to_dense())


def test_later_version_and_foreign_zip(tmp_path, solution):
    path = tmp_path / "a.psidag"
    solution.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(members["solution.json"])
    for key, value, message in (("version", 2, "version 2"), ("format", "other", "not a psidag solution")):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                new = json.dumps({**head, key: value}) if name == "solution.json" else content
                archive.writestr(name, new)
        with pytest.raises(InputError, match=message):
            Solution.load(path)


def test_failed_save_leaves_the_old_file(tmp_path, solution):
    path = tmp_path / "sub" / "a.psidag"
    with pytest.raises(InputError, match="cannot write"):
        solution.save(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        solution.save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
