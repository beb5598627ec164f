"""Errors and warnings, and what they say: classes, codes, the user's line, what a wrong name may have meant.

The package hands on what is asked for everywhere. It needs nothing else of graphc.
"""

from graphc.errors.classes import (
    MOST_CHARACTERS as MOST_CHARACTERS,
)
from graphc.errors.classes import (
    MOST_LINES as MOST_LINES,
)
from graphc.errors.classes import (
    ArgumentTypeError as ArgumentTypeError,
)
from graphc.errors.classes import (
    ArgumentValueError as ArgumentValueError,
)
from graphc.errors.classes import (
    AssertFailedError as AssertFailedError,
)
from graphc.errors.classes import (
    CheckpointError as CheckpointError,
)
from graphc.errors.classes import (
    CompileError as CompileError,
)
from graphc.errors.classes import (
    CountError as CountError,
)
from graphc.errors.classes import (
    DataError as DataError,
)
from graphc.errors.classes import (
    DataKindError as DataKindError,
)
from graphc.errors.classes import (
    DisagreementError as DisagreementError,
)
from graphc.errors.classes import (
    DTypeError as DTypeError,
)
from graphc.errors.classes import (
    ExportError as ExportError,
)
from graphc.errors.classes import (
    GradientError as GradientError,
)
from graphc.errors.classes import (
    GraphcError as GraphcError,
)
from graphc.errors.classes import (
    GraphcWarning as GraphcWarning,
)
from graphc.errors.classes import (
    InternalError as InternalError,
)
from graphc.errors.classes import (
    KernelError as KernelError,
)
from graphc.errors.classes import (
    KindError as KindError,
)
from graphc.errors.classes import (
    LossScaleError as LossScaleError,
)
from graphc.errors.classes import (
    LossScaleWarning as LossScaleWarning,
)
from graphc.errors.classes import (
    LoweringError as LoweringError,
)
from graphc.errors.classes import (
    MissingPackageError as MissingPackageError,
)
from graphc.errors.classes import (
    NestingError as NestingError,
)
from graphc.errors.classes import (
    NoFormulaError as NoFormulaError,
)
from graphc.errors.classes import (
    NonFiniteError as NonFiniteError,
)
from graphc.errors.classes import (
    NonFiniteWarning as NonFiniteWarning,
)
from graphc.errors.classes import (
    OpByOpWarning as OpByOpWarning,
)
from graphc.errors.classes import (
    PaddingError as PaddingError,
)
from graphc.errors.classes import (
    ParseError as ParseError,
)
from graphc.errors.classes import (
    RecompileWarning as RecompileWarning,
)
from graphc.errors.classes import (
    RecordError as RecordError,
)
from graphc.errors.classes import (
    ShapeError as ShapeError,
)
from graphc.errors.classes import (
    SignatureError as SignatureError,
)
from graphc.errors.classes import (
    StateDictError as StateDictError,
)
from graphc.errors.classes import (
    StepMemoryError as StepMemoryError,
)
from graphc.errors.classes import (
    TraceAttributeError as TraceAttributeError,
)
from graphc.errors.classes import (
    TraceError as TraceError,
)
from graphc.errors.classes import (
    TraceTypeError as TraceTypeError,
)
from graphc.errors.classes import (
    TraceValueError as TraceValueError,
)
from graphc.errors.classes import (
    TransformError as TransformError,
)
from graphc.errors.classes import (
    UntrainedWarning as UntrainedWarning,
)
from graphc.errors.classes import (
    VerifyError as VerifyError,
)
from graphc.errors.classes import (
    in_words as in_words,
)
from graphc.errors.classes import (
    printable as printable,
)
from graphc.errors.classes import (
    stacklevel as stacklevel,
)
from graphc.errors.codes import (
    CODES as CODES,
)
from graphc.errors.locations import (
    ORIGINALS as ORIGINALS,
)
from graphc.errors.locations import (
    SKIPPED as SKIPPED,
)
from graphc.errors.locations import (
    SOURCE_MAPS as SOURCE_MAPS,
)
from graphc.errors.locations import (
    Loc as Loc,
)
from graphc.errors.locations import (
    Places as Places,
)
from graphc.errors.locations import (
    is_generated as is_generated,
)
from graphc.errors.locations import (
    is_hidden as is_hidden,
)
from graphc.errors.locations import (
    is_library as is_library,
)
from graphc.errors.locations import (
    loc_of as loc_of,
)
from graphc.errors.locations import (
    loc_of_definition as loc_of_definition,
)
from graphc.errors.locations import (
    maker_loc as maker_loc,
)
from graphc.errors.locations import (
    user_loc as user_loc,
)
