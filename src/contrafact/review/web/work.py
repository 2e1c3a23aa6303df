"""The annotator's pages."""

from fastapi import APIRouter

__all__ = ["router"]

router = APIRouter()
