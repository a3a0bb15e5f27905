"""What hospitals store: DICOM, HL7 aECG, GE MUSE and EDF. Needs the extra `marecg-model[clinical]`.

A patient's name is never read; a patient's number becomes a pseudonym.
"""
