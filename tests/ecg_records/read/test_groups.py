"""Recordings in several groups of leads are read whole, whatever the order of the groups."""

import itertools

import numpy as np
import pytest
from tests.ecg_records import clinical_files as files
from tests.ecg_records.clinical_files.dicom_file import group_of
from tests.ecg_records.clinical_files.xml_files import sequence_set

from ecg_records import read
from ecg_records.errors import RecordError
from ecg_records.notes import NoteKind, reported
from ecg_records.signal.leads import LEADS

pytest.importorskip("pydicom")
FORMATS = ("dcm", "xml")
THREES = [LEADS[place : place + 3] for place in (0, 3, 6, 9)]
FOUR_BY_THREE = [(leads, 1250 * place, 1250 * (place + 1)) for place, leads in enumerate(THREES)]
YEAR = 365.25
MUSE_AGES = [(10, "DAYS", 10 / YEAR), (6, "MONTHS", 0.5), (3, "WEEKS", 21 / YEAR), (7, "YEARS", 7)]
STRIP = (("II",), 0, 5000)
ORDERS = {
    "as they are": lambda parts: parts,
    "backwards": lambda parts: parts[::-1],
    "turned": lambda parts: [*parts[2:], *parts[:2]],
}


def written(folder, form, x_CL, parts, *, offsets=True, labels=None, fs=None):
    """A file of parts, each some leads from one sample of the recording to another."""
    path = folder / f"r.{form}"
    labels, rates = labels or [""] * len(parts), fs or [None] * len(parts)
    if form == "dcm":

        def regroup(data):
            data.WaveformSequence = [
                group_of(data, leads, first, stop, 2 * first if offsets else None, label, rate)
                for (leads, first, stop), label, rate in zip(
                    parts, labels, fs or [None] * len(parts), strict=True
                )
            ]

        files.dicom(path, x_CL, spoil=regroup)
    else:
        sets = [
            sequence_set(
                x_CL[[LEADS.index(lead) for lead in leads], first:stop], leads, rate or 500,
                milliseconds=2 * first if offsets else 0,
            )
            for (leads, first, stop), rate in zip(parts, rates, strict=True)
        ]  # fmt: skip
        files.aecg(path, x_CL, sets=sets)
    return path


def expected(x_CL, parts):
    """What was recorded of each lead; the rest is NaN."""
    known_CL = np.full(x_CL.shape, np.nan)
    for leads, first, stop in parts:
        for lead in leads:
            known_CL[LEADS.index(lead), first:stop] = x_CL[LEADS.index(lead), first:stop]
    return known_CL


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "parts",
    [
        [(leads, 0, 5000) for leads in THREES],
        [((lead,), 0, 5000) for lead in LEADS],
        [(LEADS[:6], 0, 5000), (LEADS[6:], 0, 5000)],
        FOUR_BY_THREE,
        [*FOUR_BY_THREE, STRIP],
        [*FOUR_BY_THREE, STRIP, (("V1",), 0, 5000)],
        [(LEADS[:6], 0, 2500), (LEADS[6:], 2500, 5000), STRIP],
    ],
    ids=["4x3 at once", "12x1", "2x6 at once", "4x3", "4x3 and strip", "4x3 and two strips", "2x6 and strip"],
)
def test_groups_of_leads_are_one_recording(tmp_path, x_CL, parts, form, order):
    record = read(written(tmp_path, form, x_CL, ORDERS[order](parts)))
    assert (record.leads, record.length, record.fs) == (LEADS, 5000, 500)
    np.testing.assert_allclose(record.x_CL, expected(x_CL, parts), atol=1e-6)
    [note] = [note for note in reported(record.notes) if note.kind == NoteKind.timing]
    assert note == f"{len(parts)} groups of leads joined by their time offsets"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("form", FORMATS)
def test_the_longest_of_several_recordings_is_read_and_the_others_are_noted(tmp_path, x_CL, form, order):
    parts = [(LEADS, 0, 600), (LEADS, 0, 2500), (LEADS, 100, 1500)]
    record = read(written(tmp_path, form, x_CL, [parts[place] for place in order], offsets=False))
    np.testing.assert_allclose(record.x_CL, x_CL[:, :2500], atol=1e-6)
    assert [note.kind for note in reported(record.notes)] == [NoteKind.unused]


@pytest.mark.parametrize("label", ["MEDIAN BEAT", "Representative", "AVERAGE", "template"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("samples", [600, 4000])
def test_what_is_labelled_as_derived_is_never_the_recording(tmp_path, x_CL, label, first, samples):
    parts, labels = [(LEADS, 0, samples), (LEADS[:8], 0, 3000)], [label, "RHYTHM"]
    if not first:
        parts, labels = parts[::-1], labels[::-1]
    record = read(written(tmp_path, "dcm", x_CL, parts, offsets=False, labels=labels))
    assert (record.length, record.leads) == (3000, LEADS[:8])
    assert f"not used: {label}" in record.notes
    with pytest.raises(RecordError, match="derived waveforms only"):
        read(written(tmp_path, "dcm", x_CL, [(LEADS, 0, samples)], labels=[label]))


@pytest.mark.parametrize("leads", [LEADS, LEADS[6:]])
@pytest.mark.parametrize("form", FORMATS)
def test_a_short_beat_is_not_joined_to_a_rhythm(tmp_path, x_CL, form, leads):
    parts = [(leads, 0, 600), (("I", "II", "V1"), 0, 5000)]
    record = read(written(tmp_path, form, x_CL, parts, offsets=False))
    assert record.length == 5000
    assert {"V2", "V6"}.isdisjoint(record.leads)


@pytest.mark.parametrize("form", FORMATS)
def test_groups_that_cannot_be_joined_are_refused(tmp_path, x_CL, form):
    halves = [(LEADS[:6], 0, 5000), (LEADS[6:], 0, 5000)]
    with pytest.raises(RecordError, match="250 and 500 Hz"):
        read(written(tmp_path, form, x_CL, halves, fs=[500, 250]))
    if form == "dcm":
        unequal = [(LEADS[:6], 0, 5000), (LEADS[6:], 0, 4000)]
        with pytest.raises(RecordError, match="must have time offsets, got none"):
            read(written(tmp_path, form, x_CL, unequal, offsets=False))


def spoilt(path, x_CL, change):
    """A DICOM file whose only group and its channels are changed."""

    def spoil(data):
        group = data.WaveformSequence[0]
        change(group, group.ChannelDefinitionSequence)

    files.dicom(path, x_CL, spoil=spoil)
    return read(path)


@pytest.mark.parametrize("way", ["ChannelSampleSkew", "ChannelTimeSkew", "ChannelOffset"])
@pytest.mark.parametrize("step", [1, 4])
def test_channels_that_were_sampled_one_after_another_are_shifted(tmp_path, x_CL, way, step):
    """Sample i of a channel is of the time of i plus its skew."""
    later_CL = np.stack([np.roll(x_L, -step * place) for place, x_L in enumerate(x_CL)])

    def skewed(group, channels):
        for place, channel in enumerate(channels):
            setattr(channel, way, step * place / (1 if way == "ChannelSampleSkew" else 500))

    record = spoilt(tmp_path / "d.dcm", later_CL, skewed)
    last = 11 * step
    assert record.length == 5000 - last
    np.testing.assert_allclose(record.x_CL, x_CL[:, last:], atol=1e-6)
    [note] = reported(record.notes)
    assert note == f"channels shifted by their skew, up to {2 * last:g} ms"


@pytest.mark.parametrize("zero", [0, 1, -20])
def test_a_padding_value_like_a_sample_counts_only_in_runs_over_all_channels(tmp_path, x_CL, zero):
    x_CL = x_CL - 0.2 + zero * files.STEP_UV / 1000
    x_CL[:, 3000:3010] = x_CL[:5, 4000:4010] = x_CL[:, 1000:1009] = 0

    def padded(group, channels):
        group.WaveformPaddingValue = bytes(2)

    record = spoilt(tmp_path / "d.dcm", x_CL, padded)
    x_CL[:, 3000:3010] = np.nan
    np.testing.assert_allclose(record.x_CL, x_CL, atol=1e-6)


@pytest.mark.parametrize("status", ["DISCONNECTED", "INVALID", "TEST DATA", "UNCALIBRATED"])
@pytest.mark.parametrize("lead", ["V3", "aVF"])
def test_a_lead_that_dicom_flags_as_off_is_hidden_and_noted(tmp_path, x_CL, status, lead):
    def flag(group, channels):
        for channel in channels:
            channel.ChannelStatus = "OK"
        channels[LEADS.index(lead)].ChannelStatus = status

    record = spoilt(tmp_path / "d.dcm", x_CL, flag)
    assert np.isnan(record.x_CL[LEADS.index(lead)]).all()
    np.testing.assert_allclose(
        np.delete(record.x_CL, LEADS.index(lead), 0), np.delete(x_CL, LEADS.index(lead), 0), atol=1e-6
    )
    [note] = reported(record.notes)
    assert (note, note.leads) == (f"{lead}: flagged as {status.lower()}", (lead,))


def test_a_questionable_lead_is_noted_and_read(tmp_path, x_CL):
    def flag(group, channels):
        channels[6].ChannelStatus = "QUESTIONABLE"

    record = spoilt(tmp_path / "d.dcm", x_CL, flag)
    np.testing.assert_allclose(record.x_CL, x_CL, atol=1e-6)
    assert list(reported(record.notes)) == ["V1: flagged as questionable"]


@pytest.mark.parametrize("flag", ["TRUE", "true", "1"])
def test_a_lead_that_muse_flags_as_off_is_hidden_and_noted(tmp_path, x_CL, flag):
    files.muse(tmp_path / "m.xml", x_CL)
    text = (tmp_path / "m.xml").read_text("latin-1")
    text = text.replace("<LeadID>V3</LeadID>", f"<LeadID>V3</LeadID><LeadOff>{flag}</LeadOff>")
    text = text.replace("<LeadID>V4</LeadID>", "<LeadID>V4</LeadID><LeadOff>FALSE</LeadOff>")
    (tmp_path / "m.xml").write_text(text, "latin-1")
    record = read(tmp_path / "m.xml")
    assert np.isnan(record.x_CL).all(axis=1).tolist() == [lead == "V3" for lead in LEADS]
    assert "V3: flagged as lead off" in record.notes


@pytest.mark.parametrize(
    "kinds", [[None], ["Median", None], [None, "Median"], ["beat", None], [None, "beat"]]
)
def test_a_muse_file_without_a_type_of_waveform_gives_its_longest(tmp_path, x_CL, kinds):
    files.muse(tmp_path / "m.xml", x_CL)
    files.muse(tmp_path / "beat.xml", x_CL[:, :600])
    whole, beat = ((tmp_path / name).read_text("latin-1") for name in ("m.xml", "beat.xml"))
    waves = []
    for kind in kinds:
        wave = (beat if kind else whole).partition("<Waveform>")[2].removesuffix("</RestingECG>")
        mark = "<WaveformType>Median</WaveformType>" if kind == "Median" else ""
        waves.append("<Waveform>" + wave.replace("<WaveformType>Rhythm</WaveformType>", mark))
    text = f"{whole.partition('<Waveform>')[0]}{''.join(waves)}</RestingECG>"
    (tmp_path / "m.xml").write_text(text, "latin-1")
    np.testing.assert_allclose(read(tmp_path / "m.xml").x_CL, x_CL, atol=1e-6)


@pytest.mark.parametrize(
    ("stated", "age"),
    [("006M", 0.5), ("010D", 10 / 365.25), ("003W", 21 / 365.25), ("042Y", 42), ("000D", 0.5 / 365.25)],
)
def test_an_infant_s_age_is_a_fraction_of_years(tmp_path, x_CL, stated, age):
    def infant(data):
        data.PatientAge = stated
        del data.PatientBirthDate

    files.dicom(tmp_path / "d.dcm", x_CL, spoil=infant)
    assert read(tmp_path / "d.dcm").age == pytest.approx(age)


@pytest.mark.parametrize(
    ("born", "age"),
    [
        *(("20120526", 244 / YEAR), ("20130125", 0.5 / YEAR), ("20130115", 10 / YEAR)),
        *(("20110125", 2), ("20110126", 730 / YEAR), ("20030125", 10), ("20030126", 9)),
        *(("20140125", None), ("18000101", None)),
    ],
)
@pytest.mark.parametrize("form", ["d.dcm", "a.xml", "s.scp", "m.xml"])
def test_ages_by_dates_are_years_and_of_infants_fractions(tmp_path, x_CL, born, age, form):
    if form != "m.xml":
        files.FILES[form](tmp_path / form, x_CL, born=born)
    else:
        files.muse(tmp_path / form, x_CL)
        text = (tmp_path / form).read_text("latin-1")
        day = f"<DateofBirth>{born[4:6]}-{born[6:]}-{born[:4]}</DateofBirth>"
        text = text.replace("<PatientAge>42</PatientAge><AgeUnits>YEARS</AgeUnits>", day)
        (tmp_path / form).write_text(text, "latin-1")
    assert read(tmp_path / form).age == pytest.approx(age)


@pytest.mark.parametrize(
    ("number", "unit", "age"),
    [(10, "DAYS", 10 / 365.25), (6, "MONTHS", 0.5), (3, "WEEKS", 21 / 365.25), (7, "YEARS", 7)],
)
def test_muse_s_age_has_units(tmp_path, x_CL, number, unit, age):
    files.muse(tmp_path / "m.xml", x_CL)
    text = (
        (tmp_path / "m.xml")
        .read_text("latin-1")
        .replace(">42<", f">{number}<")
        .replace(">YEARS<", f">{unit}<")
    )
    (tmp_path / "m.xml").write_text(text, "latin-1")
    assert read(tmp_path / "m.xml").age == pytest.approx(age)


def test_a_micro_sign_in_latin_1_and_a_decimal_comma_are_read(tmp_path, x_CL):
    files.edf(tmp_path / "e.edf", x_CL)
    content = (tmp_path / "e.edf").read_bytes()
    (tmp_path / "e.edf").write_bytes(content.replace(b"uV      ", b"\xb5V      "))
    np.testing.assert_allclose(read(tmp_path / "e.edf").x_CL, x_CL, atol=1e-6)
    files.aecg(tmp_path / "a.xml", x_CL)
    text = (tmp_path / "a.xml").read_text()
    (tmp_path / "a.xml").write_text(
        text.replace('<scale value="5" unit="uV"/>', '<scale value="0,005" unit="mV"/>')
    )
    np.testing.assert_allclose(read(tmp_path / "a.xml").x_CL, x_CL, atol=1e-6)
