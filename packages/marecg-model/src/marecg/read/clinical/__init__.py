"""What hospitals store: DICOM, HL7 aECG, GE MUSE, Philips, SCP-ECG, EDF. Needs `marecg-model[clinical]`.

A patient's name is never read; a patient's number becomes a pseudonym.
"""
