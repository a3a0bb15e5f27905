"""Structure: nodes, indices, families and edges. A draft that breaks one of these rules can't be built."""

from ecg_ontology.checks.nodes import CONCEPTS
from ecg_ontology.checks.relations import RELATIONS
from ecg_ontology.checks.rule import Chapter
from ecg_ontology.drafts import Draft

STRUCTURE: Chapter[Draft] = Chapter("Structure", CONCEPTS, RELATIONS)
