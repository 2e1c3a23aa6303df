"""A review's project as a TOML file that says all of it, as `load_project` reads it."""

import tomli_w

from contrafact.review.project import Project

__all__ = ["project_toml"]


def project_toml(project: Project) -> str:
    """Return a project as TOML; reading it gives the same project. What is empty is left out."""
    plain = project.model_dump(mode="json", exclude_defaults=True)
    return tomli_w.dumps(plain, multiline_strings=True)
