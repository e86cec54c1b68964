"""Controls for a GPU, a model and how many GPUs share it, on pages with a machine of their own."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from core.cost.gpus import GPUS
from core.cost.machine import Machine
from core.cost.models import MODELS
from core.faults import ScenarioError, faults_of

PARALLEL = (1, 2, 4, 8)


def machine_form(page: str, columns: list[Any], default: Machine, **more: Any) -> Machine:
    """Three controls, one in each column; their values stay with the session.

    Args:
        page: begins the keys.
        more: further fields of the machine.

    Raises:
        ScenarioError: if the model cannot be shared among so many GPUs.
    """
    gpus, models = list(GPUS), list(MODELS)
    gpu = columns[0].selectbox("GPU", gpus, gpus.index(default.gpu), key=f"{page}_gpu",
                               persist_state="session")
    model = columns[1].selectbox("Model", models, models.index(default.model),
                                 key=f"{page}_model", persist_state="session")
    parallel = columns[2].selectbox(
        "GPUs in parallel", PARALLEL, key=f"{page}_parallel", persist_state="session",
        help="vLLM's name: `tensor_parallel_size`. Every layer is shared among so many GPUs.")
    try:
        return Machine(gpu=gpu, model=model, tensor_parallel=parallel, **more)
    except ValidationError as error:
        raise ScenarioError(faults_of(error)) from None
