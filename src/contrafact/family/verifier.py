"""The provider of verifiers: ``verifier/NAME`` is a family's."""

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
                f"a verifier takes no '{next(iter(model_args))}'", hint="leave --judge-arg out"
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
        """Return the decision on what the last message is about, as `decision_by` reads it."""
        asked = (input[-1].metadata or {}).get(METADATA)
        if not asked:
            raise InputError(
                "a verifier judges what it is handed as data, not what a prompt says",
                hint="use a verifier as a judge only",
            )
        decision = self.decide(asked["criterion"], asked["subject"])
        verdict: dict[str, Any] = {"passed": decision.passed, "reason": decision.reason}
        if decision.probability is not None:
            verdict["probability"] = decision.probability
        reply = json.dumps(verdict, ensure_ascii=False)
        return ModelOutput.from_content(self.model_name, reply)
