"""Sessions: begun, spoken to, watched, answered, stopped."""

from fastapi import APIRouter

router = APIRouter(prefix="/api", tags=["sessions"])
