"""The strict base of every config model: unknown keys are errors, values are never coerced, nothing is edited later."""

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Unknown keys are errors because a misspelt key would otherwise be dropped in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
