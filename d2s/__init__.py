"""d2s: plain Python becomes a static graph on JAX."""

import sys

from d2s.api import convert as convert
from d2s.api import do_not_convert as do_not_convert
from d2s.api import exclude as exclude
from d2s.api import explain as explain
from d2s.api import generated as generated
from d2s.api import include as include
from d2s.api import register_form as register_form
from d2s.api import set_cache as set_cache
from d2s.api import to_code as to_code
from d2s.api import to_static as to_static
from d2s.api import trace as trace
from d2s.conversion import generated_code_calls as _generated_code_calls
from d2s.deploy.saving import Record as Record
from d2s.deploy.saving import load as load
from d2s.deploy.saving import save as save
from d2s.errors import ConversionError as ConversionError
from d2s.errors import Error as Error
from d2s.errors import IntegerOverflow as IntegerOverflow
from d2s.errors import LoopLimit as LoopLimit
from d2s.errors import NanFound as NanFound
from d2s.errors import NumberInDoubt as NumberInDoubt
from d2s.errors import SavedException as SavedException
from d2s.errors import SliceLength as SliceLength
from d2s.errors import StagingError as StagingError
from d2s.logs import configure as _configure_logs
from d2s.options.loop_options import options as options
from d2s.options.loop_options import roll as roll
from d2s.options.loop_options import unroll as unroll
from d2s.options.modes import mode as mode
from d2s.options.modes import set_mode as set_mode
from d2s.options.options import Options as Options
from d2s.options.specs import Spec as Spec
from d2s.options.specs import spec as spec
from d2s.report.report import Report as Report
from d2s.runtime.calls import fn as fn
from d2s.runtime.engines import use_backend as use_backend
from d2s.runtime.matching import match_class as match_class
from d2s.runtime.matching import match_mapping as match_mapping
from d2s.runtime.matching import match_sequence as match_sequence
from d2s.runtime.ops import all_ as all_
from d2s.runtime.ops import and_ as and_
from d2s.runtime.ops import any_ as any_
from d2s.runtime.ops import assert_ as assert_
from d2s.runtime.ops import at as at
from d2s.runtime.ops import certain as certain
from d2s.runtime.ops import compare as compare
from d2s.runtime.ops import concrete as concrete
from d2s.runtime.ops import cond as cond
from d2s.runtime.ops import delete as delete
from d2s.runtime.ops import for_loop as for_loop
from d2s.runtime.ops import in_ as in_
from d2s.runtime.ops import items as items
from d2s.runtime.ops import manager as manager
from d2s.runtime.ops import not_ as not_
from d2s.runtime.ops import observe as observe
from d2s.runtime.ops import or_ as or_
from d2s.runtime.ops import percent as percent
from d2s.runtime.ops import power as power
from d2s.runtime.ops import quoted as quoted
from d2s.runtime.ops import read as read
from d2s.runtime.ops import ref as ref
from d2s.runtime.ops import switch as switch
from d2s.runtime.ops import text as text
from d2s.runtime.ops import try_except as try_except
from d2s.runtime.ops import try_finally as try_finally
from d2s.runtime.ops import unbound as unbound
from d2s.runtime.ops import while_loop as while_loop
from d2s.runtime.ops import window as window
from d2s.runtime.watching import History as History
from d2s.static import StaticFunction as StaticFunction
from d2s.version import __version__ as __version__

_configure_logs()
_generated_code_calls(sys.modules[__name__])
