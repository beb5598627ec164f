"""The errors of MindRecord's by MindSpore's names: those that graphc raises in their place."""

from __future__ import annotations

from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, GraphcError

MindRecordException = UnknownError = GraphcError
ParamTypeError = ArgumentTypeError
ParamValueError = ParamMissError = ArgumentValueError
#: A schema, or an index, is refused by its types or by its values.
MRMInvalidSchemaError = MRMBuildSchemaError = MRMDefineIndexError = MRMDefineCategoryError = GraphcError
MRMInvalidPageSizeError = MRMInvalidHeaderSizeError = ArgumentValueError
#: What is there already, cannot be read or is damaged.
PathNotExistsError = DbConnectionError = MRMOpenError = MRMOpenForAppendError = DataError
MRMSetHeaderError = MRMWriteDatasetError = MRMCommitError = MRMLaunchError = MRMFinishError = MRMCloseError = DataError
MRMAddSchemaError = MRMAddIndexError = MRMGetMetaError = MRMIndexGeneratorError = MRMGenerateIndexError = DataError
MRMInitSegmentError = MRMFetchCandidateFieldsError = MRMReadCategoryInfoError = MRMFetchDataError = DataError
MRMValidateDataError = MRMDefineBlobError = MRMUnsupportedSchemaError = DataError

__all__ = [
    "DbConnectionError", "MRMAddIndexError", "MRMAddSchemaError", "MRMBuildSchemaError", "MRMCloseError", "MRMCommitError",
    "MRMDefineBlobError", "MRMDefineCategoryError", "MRMDefineIndexError", "MRMFetchCandidateFieldsError", "MRMFetchDataError",
    "MRMFinishError", "MRMGenerateIndexError", "MRMGetMetaError", "MRMIndexGeneratorError", "MRMInitSegmentError",
    "MRMInvalidHeaderSizeError", "MRMInvalidPageSizeError", "MRMInvalidSchemaError", "MRMLaunchError", "MRMOpenError",
    "MRMOpenForAppendError", "MRMReadCategoryInfoError", "MRMSetHeaderError", "MRMUnsupportedSchemaError",
    "MRMValidateDataError", "MRMWriteDatasetError", "MindRecordException", "ParamMissError", "ParamTypeError",
    "ParamValueError", "PathNotExistsError", "UnknownError",
]  # fmt: skip
