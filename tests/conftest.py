"""Settings for all tests."""

from hypothesis import settings

# A test that is slow on a busy machine is not a failing test.
settings.register_profile("psidag", deadline=None)
settings.load_profile("psidag")
