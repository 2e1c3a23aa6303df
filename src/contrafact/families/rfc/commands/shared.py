"""Options that commands of the family share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.options import TRANSPORT, CallOptions, absolute, key_values, option

if TYPE_CHECKING:
    from contrafact.families.rfc.judging import JudgeSettings, Numerical

BANDS: Any = option(None, "Bands of length, as `rfc calibrate --out` writes them.", metavar="FILE")
"""The option ``--bands`` of several commands."""


class JudgeOptions(CallOptions):
    """Options of commands that have judges: how models and judges are asked."""

    judge: list[str] | None = option(None)
    each: bool = option(False, "Ask each criterion in a separate call.")
    structured: bool = option(True, "Ask providers for JSON by schema.")
    prompts: Path | None = option(None, "Another prompt pack.", metavar="DIR")
    judge_arg: list[str] | None = option(
        None, "Provider argument of the judges.", panel=TRANSPORT, metavar="KEY=VALUE"
    )
    estimate: bool = option(False, "Print the estimated calls, tokens and cost, and make no call.")
    yes: bool = option(
        False, "Make many paid calls without asking for confirmation.", flags=("--yes", "-y")
    )

    @property
    def calls(self) -> dict[str, Any]:
        """The settings of calls, as `JudgeSettings` and `RewriteStage` both take them."""
        return {
            "prompts": absolute(self.prompts),
            "max_connections": self.max_connections,
            "bounds": self.bounds,
        }

    def judging(self, numerical: "Numerical | None" = None) -> "JudgeSettings | None":
        """Return the settings of the judges; None without a judge."""
        if not self.judge:
            return None
        from contrafact.families.rfc.judging import JudgeSettings, check_judges

        arguments = key_values("--judge-arg", self.judge_arg)
        settings = (check_judges(self.judge), self.each, numerical, self.structured)
        return JudgeSettings(*settings, judge_args=arguments, **self.calls)
