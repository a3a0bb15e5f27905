"""Formats of hospitals: DICOM, HL7 aECG, GE MUSE, Philips, SCP-ECG, EDF (`marecg-model[clinical]`).

A patient's name is never read; a patient's number becomes a pseudonym.
"""
