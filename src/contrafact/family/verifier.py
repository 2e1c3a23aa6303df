"""The Inspect provider of families' verifiers, named ``verifier/NAME``."""

import json
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from contrafact.errors import InputError
from contrafact.family import families, family_named
from contrafact.judges.verifier import METADATA, Decision, Subject

__all__ = ["VerifierAPI"]


class VerifierAPI(ModelAPI):
    """Verifiers as an Inspect provider; nothing is sent anywhere."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        names = sorted({name for family in families().values() for name in family.verifiers})
        if model_name not in names:
            raise InputError(f"there is no verifier '{model_name}'", hint=f"use {', '.join(names)}")
        if model_args:
            raise InputError(
                f"a verifier takes no argument '{next(iter(model_args))}'",
                hint="leave --judge-arg out",
            )

    def decide(self, criterion: str, subject: Subject) -> Decision:
        verifier = family_named(subject["family"]).verifiers[self.model_name].load()
        return verifier(criterion, subject)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the decision on the last message's subject, in the form read by `decision_by`."""
        asked = (input[-1].metadata or {}).get(METADATA)
        if not asked:
            raise InputError(
                "a verifier judges data that it is given, not the text of a prompt",
                hint="use a verifier as a judge only",
            )
        decision = self.decide(asked["criterion"], asked["subject"])
        verdict: dict[str, Any] = {"passed": decision.passed, "reason": decision.reason}
        if decision.probability is not None:
            verdict["probability"] = decision.probability
        reply = json.dumps(verdict, ensure_ascii=False)
        return ModelOutput.from_content(self.model_name, reply)
