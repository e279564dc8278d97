r"""Model files: arrays plus a JSON header, versioned and checksummed. Loading runs no code from the file.

A model is a tree of parts (`badac.store.parts`). The header names the version of badac that wrote it, and of every part the
version of its schema: of what the file holds of it (`badac.registry.Entry.fields`). A file of an older version is read through
small migrations (`badac.store.migrations`), or refused with the version that wrote it. Only registered classes are written or
read. A function of yours (a parametric class) is stored by its name alone: whoever loads the model passes the function itself.
"""

from badac.store.files import FORMAT_VERSION
from badac.store.parts import ModelFileError
from badac.store.saving import load, save

__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "save"]
