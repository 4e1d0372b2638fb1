"""Hypothesis: few examples by default, many with TIERCEL_HYPOTHESIS=soak; machines are too busy for deadlines."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("soak", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("TIERCEL_HYPOTHESIS", "default"))
