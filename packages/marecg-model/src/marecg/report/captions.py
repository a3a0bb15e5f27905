"""Captions of the pages' pictures and tables."""

AGAIN = "To be read as that of record 1."

SEEN = "The encoder was trained on this record."

ECG = """\
{seconds:.1f} s at 25 mm/s and {gain}: a small square is 40 ms by {square:g} mV, a large one
200 ms by {large:g} mV, in the limb leads."""

STACKED = "The leads over 10 s, to be scrolled through; gain and speed stand at the foot."

LAYOUT = """\
The pulse at the left is 1 mV high and 200 ms long. The four columns follow each other in time, 2.5 s
each; lead II runs through below. Each lead stands around its own median. Printed at 100 % the
millimetres are true; on a screen the sheet may be scaled to fit."""

CONCEPTS = """\
How near h_rhythm lies to the prototype of each concept (q of eq. gscl-pred; all {count} together make
100 %). A node's area grows with its q, the largest node being the most probable; its colour and shape are
its family's. Red rings mark what the record's own codes name. Lines are the graph's edges, by kind. q
isn't a probability of disease and is not calibrated."""

NO_CONCEPTS = "The run was trained without GSCL: it knows no concepts, so there are no probabilities to show."

NEIGHBOURS = """\
Each row begins with a record; beside it stand the {nearest} whose h_rhythm is nearest, with the cosine,
among {records} records of the corpus. {seconds:g} s of lead {lead}; a large square is 200 ms by 0.5 mV.
Leaves that a neighbour shares with the record are bold."""

SHARING = """\
{near:.0f} % of a record's {nearest} nearest share a leaf with it; of {nearest} drawn at random
{chance:.0f} % would."""

NO_LEAVES = "The records name no leaves, so there is nothing to compare neighbours by."

PROBE = """\
A linear classifier was trained on the frozen features of each row, with the share of training records
that is named. The macro AUC is in percent, 50 being chance and 100 perfect; ± is the standard
deviation over seeds, which differ in the training records that they draw. The interval says
how far another sample of test records might move the number (95 %, bootstrap)."""

CURVES = """\
Macro AUC by the share of training records, with the 95 % interval; ROC curves at {share}: of each method,
the mean over the classes, and of the encoder those of the most frequent classes."""

CONFUSION = """\
Of the test records that have the row's family or class, as what the likeliest class at {share} would have
them, in per cent; a record whose likeliest class it has counts as right. Classes stand family by family."""

MAP = """\
The same {records} records by t-SNE of the cosine of h_rhythm, coloured by the family of the primary leaf.
Near points are alike; distances between clouds and their sizes mean nothing."""

NO_PROBE = "The run was not probed yet. `marecg probe RUN --task TASK --root DATA` adds a table here."

TRAINING = """\
Each loss against the optimiser step, on its own scale. Where a run is longer than the picture is wide,
the line is the mean of a stretch of steps and the shade its range. The loss is the weighted sum of the
others (eq. total-loss); lr is the learning rate. {losses}."""

COLLAPSE = """\
The spread (std) and the effective rank of h_rhythm over a batch: both fall towards nothing when every
record gets the same embedding. The entropy of q is near {entropy:.1f} nats where no concept is told
from another. Each grad is the gradient that one loss alone sends into the encoder's output, before its
weight: one that towers over the others rules the training."""

PROTOTYPES = """\
First, how alike the learned prototypes of two concepts are; second, how near they are on the graph.
The darker, the nearer, each on its own scale, which is written below it. The concepts stand family by
family, so a graph that was learned shows the same blocks in both."""

CLASSIFIER = """\
AUC with its 95 % interval over records. ECE is the expected calibration error, of ten bins with equally many
records: of the sigmoid, as calibrated, and what so many records show by chance where every probability is
true."""

CLASSIFIER_CURVES = "ROC and precision by recall on test; the dot is where the class is called."

RELIABILITY = """\
The calibrated probability and the share that has the class, before (grey) and after; a bar is the 95 %
interval of a share (Wilson)."""

CALIBRATION = """\
Logits stay as they are (none) unless another kind lowers the log loss of validation, cross-validated, by more
than its standard error."""

CLASSIFIER_CONFUSION = """\
Of the test records with the row's class, the share that is called as the column, in per cent; a record may
have, and be called, several. Leaves stand in the order of the graph."""
