import filecmp

import numpy as np
import wfdb
from tests.marecg_small import example_record

import ecg_ontology
import marecg
import marecg_small


def test_the_example_is_what_marecg_synth_makes(tmp_path):
    example_record.write(tmp_path)
    for suffix in (".hea", ".dat"):
        shipped = marecg_small.EXAMPLE.with_suffix(suffix)
        assert filecmp.cmp(tmp_path / shipped.name, shipped, shallow=False)


def test_the_example_reads_in_python_as_its_file_says():
    signal, fs, leads = marecg_small.example()
    read = wfdb.rdrecord(str(marecg_small.EXAMPLE))
    assert (fs, list(leads)) == (read.fs, read.sig_name)
    np.testing.assert_allclose(signal, read.p_signal.T, atol=1e-6)


def test_the_encoder_puts_the_example_next_to_what_it_is():
    signal, fs, leads = marecg_small.example()
    share = marecg.predict("marecg-small", signal[None], fs=fs, leads=leads)[0]
    assert ecg_ontology.load().nodes[share.argmax()].abbr == "AF"
