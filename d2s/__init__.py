"""d2s: plain Python becomes a static graph on JAX."""

from d2s.api import convert as convert
from d2s.api import do_not_convert as do_not_convert
from d2s.api import explain as explain
from d2s.api import generated as generated
from d2s.api import set_cache as set_cache
from d2s.api import to_code as to_code
from d2s.api import to_static as to_static
from d2s.api import trace as trace
from d2s.backends import use_backend as use_backend
from d2s.deploy import Record as Record
from d2s.deploy import load as load
from d2s.deploy import save as save
from d2s.errors import ConversionError as ConversionError
from d2s.errors import Error as Error
from d2s.errors import IntegerOverflow as IntegerOverflow
from d2s.errors import LoopLimit as LoopLimit
from d2s.errors import NanFound as NanFound
from d2s.errors import SavedException as SavedException
from d2s.errors import SliceLength as SliceLength
from d2s.errors import StagingError as StagingError
from d2s.logs import configure as _configure_logs
from d2s.matching import match_class as match_class
from d2s.matching import match_mapping as match_mapping
from d2s.matching import match_sequence as match_sequence
from d2s.modes import mode as mode
from d2s.modes import set_mode as set_mode
from d2s.observing import History as History
from d2s.ops import and_ as and_
from d2s.ops import assert_ as assert_
from d2s.ops import at as at
from d2s.ops import certain as certain
from d2s.ops import compare as compare
from d2s.ops import concrete as concrete
from d2s.ops import cond as cond
from d2s.ops import delete as delete
from d2s.ops import fn as fn
from d2s.ops import for_loop as for_loop
from d2s.ops import items as items
from d2s.ops import manager as manager
from d2s.ops import not_ as not_
from d2s.ops import observe as observe
from d2s.ops import or_ as or_
from d2s.ops import percent as percent
from d2s.ops import power as power
from d2s.ops import quoted as quoted
from d2s.ops import read as read
from d2s.ops import ref as ref
from d2s.ops import switch as switch
from d2s.ops import text as text
from d2s.ops import try_except as try_except
from d2s.ops import try_finally as try_finally
from d2s.ops import unbound as unbound
from d2s.ops import while_loop as while_loop
from d2s.ops import window as window
from d2s.options import Options as Options
from d2s.report import Report as Report
from d2s.settings import options as options
from d2s.settings import roll as roll
from d2s.settings import unroll as unroll
from d2s.specs import Spec as Spec
from d2s.specs import spec as spec
from d2s.static import StaticFunction as StaticFunction

__version__ = "0.1.0"

_configure_logs()
