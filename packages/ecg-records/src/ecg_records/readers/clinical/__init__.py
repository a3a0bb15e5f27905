"""Clinical formats: DICOM, HL7 aECG, GE MUSE, Philips, SCP-ECG, EDF.

Patients' names are never read. Patients' numbers become pseudonyms.
"""
