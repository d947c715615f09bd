"""The main job: a task becomes a change that is tried on the side, judged, and applied after a yes."""
