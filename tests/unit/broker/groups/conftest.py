"""A world of groups for each test."""

import pytest
from support.groups import GroupWorld


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld()
