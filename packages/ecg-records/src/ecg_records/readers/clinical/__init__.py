"""Formats of hospitals: DICOM, HL7 aECG, GE MUSE, Philips, SCP-ECG, EDF.

A patient's name is never read; a patient's number becomes a pseudonym.
"""
