"""The shipped model's quality, through the server and in process."""

from __future__ import annotations

import pytest

from model.commands.evaluate import open_model
from model.data.corpus import Corpus
from model.evaluation import score
from serving.request_options import Options
from tests.e2e.launched import REPOSITORY, ROOT, LaunchedServer

TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba"


def test_served_translations_equal_those_in_process_and_are_good(server: LaunchedServer) -> None:
    if not TATOEBA.exists():
        pytest.skip(f"{TATOEBA} is not here: the corpora lie beside the project, not in it")
    corpus = Corpus.read(TATOEBA / "test.en.gz", TATOEBA / "test.de.gz")
    found = []
    for place in (f"127.0.0.1:{server.grpc_port}", str(REPOSITORY)):
        translations = open_model(place).translate(corpus.source, Options())
        found.append([hypotheses[0].text for hypotheses in translations])
    served, local = found
    assert served == local
    scores = score(served, corpus.target)
    print(scores)
    assert scores.bleu >= 33
    assert scores.chrf >= 53
