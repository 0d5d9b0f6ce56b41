"""What the converters need to know about a function, computed by the runner on the current tree."""

from d2s.analysis.flow import Block as Block
from d2s.analysis.flow import Flow as Flow
from d2s.analysis.scopes import Scopes as Scopes
