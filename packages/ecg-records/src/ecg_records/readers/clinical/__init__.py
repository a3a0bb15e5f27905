"""Read clinical formats: DICOM, HL7 aECG, GE MUSE, Philips, SCP-ECG, EDF.

Names of patients are never read. Patient ids are replaced by pseudonyms.
"""
