"""A model and its card on the Hugging Face hub."""

from pathlib import Path

from huggingface_hub import get_token
from huggingface_hub.errors import HFValidationError, HTTPError  # type: ignore[attr-defined]  # its http library's

from marecg.base.errors import OutputError, UsageError
from marecg.model.mar_ecg import MarEcg
from marecg.use.classifier_folder import is_classifier


def upload(model: str | Path, name: str) -> str:
    """Upload a model with its card; the repository is made if there is none.

    Args:
        model: as for `MarEcg.from_pretrained`.
        name: of the repository, `owner/name`.

    Returns:
        The address of the upload.

    Raises:
        UsageError: there is no token, the name isn't `owner/name`, or the model is a classifier's folder.
        OutputError: the hub refuses, or can't be reached.
        CheckpointError: the model can't be loaded.
    """
    if is_classifier(model):
        remedy = f"Name its encoder, {Path(model) / 'model'}, or export the classifier as ONNX"
        raise UsageError("is a classifier, whose head the hub would not get", where=model, remedy=remedy)
    if get_token() is None:
        remedy = "Set HF_TOKEN to a token that may write, or run `hf auth login`"
        raise UsageError("an upload needs a token of the hub", where=name, remedy=remedy)
    loaded = MarEcg.from_pretrained(model)
    try:
        return str(loaded.push_to_hub(name))
    except HFValidationError as error:
        raise UsageError("isn't owner/name", where=name, remedy="Name the repository to upload to") from error
    except (HTTPError, OSError) as error:
        reason = str(error).partition("\n")[0]
        remedy = "Check the token, the name and the network, and upload again"
        raise OutputError(f"can't be uploaded ({reason})", where=name, remedy=remedy) from error
