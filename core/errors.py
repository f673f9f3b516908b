"""Everything that can go wrong, as one tree. A message is one sentence for the person who can act on it.

    FootnoteError
    ├── ConfigError               a setting, an option or an argument is wrong
    │   ├── UnknownNameError      no strategy of that name; the message lists the choices
    │   └── UnsupportedFeatureError   a model or a store can't do what it was asked for
    ├── MetadataError             a metadata key or value of the wrong type, or a conversion that would lose something
    ├── DocumentError             a file can't become a document; has .status and .file_name
    │   ├── PasswordError         it's encrypted and no (or a wrong) password was given
    │   └── UnsupportedFileError  nothing here reads this type
    ├── ModelError                a model is missing, damaged, too large, or failed
    │   └── ContextOverflowError  rules and question alone don't fit the model's context
    ├── StorageError              the data folder can't be read or written
    │   ├── NewerDatabaseError    written by a newer Footnote
    │   ├── PartsGoneError        parts of an unfinished document were taken away; it begins again
    │   └── NotFoundError         no document, segment, conversation or job with this id
    ├── RetrievalError            a retriever failed
    └── StoppedError              somebody pressed stop

Messages never hold a traceback or a path of the server; details go to the log.
"""

from __future__ import annotations


class FootnoteError(Exception):
    """The root. `str(error)` is shown to people as it stands."""


class ConfigError(FootnoteError, ValueError):
    pass


class UnknownNameError(ConfigError):
    pass


class FilterError(ConfigError):
    """A filter that can't be applied to the metadata it met; no retriever can do better."""


class UnsupportedFeatureError(ConfigError):
    pass


class MetadataError(FootnoteError, ValueError):
    pass


class DocumentError(FootnoteError):
    """A file can't become a document. `status` is the word that jobs and the command line show."""

    status = "failed"

    def __init__(self, message: str, *, file_name: str = "") -> None:
        super().__init__(message)
        self.file_name = file_name


class PasswordError(DocumentError):
    status = "needs_password"


class UnsupportedFileError(DocumentError):
    pass


class ModelError(FootnoteError):
    pass


class ContextOverflowError(ModelError):
    pass


class StorageError(FootnoteError):
    pass


class NewerDatabaseError(StorageError):
    pass


class PartsGoneError(StorageError):
    """What was kept of an unfinished document is gone: somebody who read the same bytes gave up. It begins again."""


class NotFoundError(StorageError):
    pass


class RetrievalError(FootnoteError):
    pass


class StoppedError(FootnoteError):
    pass
