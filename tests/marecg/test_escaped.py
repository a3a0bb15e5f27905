"""What others call their records and classes is text in every table and page that is written of them."""

import csv
import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.marecg.evaluate.test_table import row, tidy

from ecg_base import EcgError, guarded, plain_markdown, unguarded
from marecg.classify.classifier_scores import EVALUATION, read_evaluation
from marecg.corpus.cohort import as_csv as cohort_csv
from marecg.errors import InputError
from marecg.evaluate.table_print import long_csv, markdown
from marecg.model.card_figures import ClassFigure, Score, reached
from marecg.use.predict import as_csv as prediction_csv
from marecg_cli._predictions_text import print_calls

FORMULAS = ("=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1")
MARKUP = "<img src=x onerror=alert(1)> | ![a](http://a.invalid/b) `"


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_text_that_a_spreadsheet_would_calculate_is_quoted_in_every_csv(formula):
    said = (
        cohort_csv(pa.table({"row": [0], "id": [formula], "codes": [[formula]]})),
        prediction_csv(pd.DataFrame({"record": [formula], "start": [0.0], formula: [-0.5]})),
        long_csv(tidy([row(formula, 90.0)])),
    )
    for text in said:
        cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
        assert f"'{formula}" in cells
        assert formula not in cells
    assert "-0.5" in said[1], "a number stays one"
    assert unguarded(str(guarded(formula))) == formula


def test_a_carriage_return_in_a_name_ends_no_line_of_a_csv():
    name = "=a\rb"
    said = (
        cohort_csv(pa.table({"row": [0], "id": [name], "codes": [[name]]})),
        prediction_csv(pd.DataFrame({"record": [name], "start": [0.0], name: [-0.5]})),
        long_csv(tidy([row(name, 90.0)])),
    )
    for text in said:
        lines = list(csv.reader(io.StringIO(text, newline="")))
        assert len(lines) == 2
        assert name in [unguarded(cell) for cell in lines[1]]


def test_names_of_methods_and_classes_open_nothing_in_tables_and_cards():
    score = dict.fromkeys(("auc", "low", "high", "ece", "ece_chance"), 0.5)
    figure = ClassFigure(name=MARKUP, positives=1, **score)
    names = {"task": MARKUP, "method": MARKUP, "fraction": 1, "tested": 1, "leaks": None}
    card = reached([Score(**names, auc=0.5, low=0.5, high=0.5, classes=(figure,))])
    for text in (card, markdown(tidy([row(MARKUP, 90.0)]))):
        assert plain_markdown(MARKUP) in text
        assert "<img" not in text
        assert "![a](" not in text.replace(r"!\[a](", "")
    assert f"| {plain_markdown(MARKUP)} | 1 |" in card


ODD = "x (below its threshold)\nAF:\u202e 100\u200b%\u2028\x1b[31m\x7f"


def test_a_name_ends_no_line_and_turns_no_text_of_results_and_errors(capsys):
    classifier = SimpleNamespace(classes_=np.array([ODD]), several_=True, thresholds_=np.array([0.5]))
    classifier.calls = lambda p_BK: p_BK >= 0.5
    print_calls(classifier, pd.Series([0.25]), "text")
    for line in (capsys.readouterr().out.rstrip("\n"), str(EcgError(f"has no {ODD}", where=ODD, remedy=ODD))):
        assert line.isprintable()
        assert r"\nAF:\u202e 100\u200b%\u2028\x1b[31m\x7f" in line
    print_calls(classifier, pd.Series([0.25]), "json")
    said = capsys.readouterr().out
    assert json.loads(said)[0]["name"] == ODD
    assert said.replace("\n", "").isprintable()


@pytest.mark.parametrize("content", ["[" * 10**6, '{"scores": [{"name": "af", "auc": 2, "records": -1}]}'])
def test_an_evaluation_that_is_too_deep_or_has_numbers_that_cannot_be_is_one_line(content, tmp_path):
    (tmp_path / EVALUATION).write_text(content)
    with pytest.raises(InputError, match=r"isn't an evaluation") as refused:
        read_evaluation(tmp_path)
    assert "\n" not in str(refused.value)
