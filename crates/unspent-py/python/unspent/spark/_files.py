"""The directory of a release, on any file system that Spark writes to.

All is written into `.NAME.unfinished-…`, beside what it is to be. Where a directory is renamed at once
(local disks, HDFS) it then appears whole. Elsewhere its files are moved one by one and its manifest last: a
directory without a manifest is not a release that was finished, and no reader takes it for one.
"""

import os
import secrets
from typing import Any

from pyspark.sql import functions as F

from unspent._native import UnspentError

#: File systems that rename a directory at once, and fail if there is something else.
AT_ONCE = ("file", "hdfs", "viewfs")
MANIFEST = "manifest.json"
OTHERS = "another run may have been faster; of this one nothing is left"


class Output:
    """A directory that is being made."""

    def __init__(self, spark: Any, out: str) -> None:
        self.spark, context = spark, spark.sparkContext
        self.gateway, self.jvm = context._gateway, context._jvm
        self.conf = context._jsc.hadoopConfiguration()
        try:
            path = self.jvm.org.apache.hadoop.fs.Path(out)
            self.fs = path.getFileSystem(self.conf)
            self.path = self.fs.makeQualified(path)
        except Exception as error:
            said = str(getattr(error, "java_exception", error)).splitlines()[0]
            raise _refused(
                f"`{out}` cannot be used: {said}", "a path of a file system that Spark has"
            ) from error
        self.scheme = str(self.path.toUri().getScheme())
        # Beside local files there would be others with checksums.
        self.raw = self.fs.getRawFileSystem() if self.scheme == "file" else self.fs
        self.name = self.path.getName()
        self.unfinished: Any = None
        #: Files that have their name already, where they are moved one by one.
        self.moved: list[Any] = []

    def __str__(self) -> str:
        return str(self.path.toUri().getPath() if self.scheme == "file" else self.path.toString())

    def check(self) -> None:
        """Fails if there is something, or what another run has left beside it."""
        parent = self.path.getParent()
        if parent is None or not self.name:
            raise _refused(f"`{self}` is not the name of a directory", "give a name that does not exist yet")
        if ":" in self.name:
            raise _refused(f"`{self}` has a colon, which Hadoop does not take", "choose another name")
        if self.fs.exists(self.path):
            raise _refused(
                f"`{self}` exists already",
                "choose another name; what was released stays released, and measuring again spends the "
                "budget again",
            )
        if self.scheme in AT_ONCE and not (
            self.fs.exists(parent) and self.fs.getFileStatus(parent).isDirectory()
        ):
            raise _refused(f"the directory of `{self}` does not exist", "make it, or choose another name")
        pattern = f".{_quoted(self.name)}.{{unfinished-*,*.tmp}}"
        left = self.fs.globStatus(self.jvm.org.apache.hadoop.fs.Path(parent, pattern))
        for status in left or []:
            raise _refused(
                f"`{status.getPath().toString()}` is of a run that is at work or was killed: part of a "
                "release, with its noise",
                "wait for it; or account for it as one more release of these records, or delete it if nobody "
                "has read it; then run again",
            )

    def begin(self) -> None:
        """Makes the directory, closed to others."""
        name = f".{self.name}.unfinished-{secrets.token_hex(8)}"
        self.unfinished = self.jvm.org.apache.hadoop.fs.Path(self.path.getParent(), name)
        permission = self.jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        if not self.fs.mkdirs(self.unfinished, permission):
            raise _refused(f"`{self.unfinished.toString()}` cannot be made", "may this user write there?")

    def inside(self, *names: str) -> Any:
        """A path of the unfinished directory."""
        return self.jvm.org.apache.hadoop.fs.Path(self.unfinished, "/".join(names))

    def take_in(self, rows: str, folders: dict[str, int]) -> dict[str, list[dict[str, Any]]]:
        """Names the files that Spark wrote as the command names them, and says what they have.

        ``folders`` says how many rows each unit has. Numbers of rows are those of the files' footers.
        """
        found: dict[str, list[dict[str, Any]]] = {folder: [] for folder in folders}
        for folder, queries in folders.items():
            written = self.inside(rows, f"folder={folder}")
            if not self.fs.exists(written):
                continue
            paths = sorted(
                (status.getPath() for status in self.fs.listStatus(written)), key=lambda path: path.getName()
            )
            self.fs.mkdirs(self.inside(folder))
            for path in paths:
                if not path.getName().endswith(".parquet"):
                    continue
                name = f"part-{len(found[folder]):05}.parquet"
                count = self._rows(path)
                if count % queries:
                    raise _refused(f"{folder}: a file ends within a unit", "this is a fault of unspent")
                found[folder].append({"file": f"{folder}/{name}", "rows": count, "units": count // queries})
                self._rename(path, self.inside(folder, name))
        self.fs.delete(self.inside(rows), True)
        return found

    def digest(self, found: dict[str, list[dict[str, Any]]]) -> None:
        """Says the SHA-256 of each file: one job, whose tasks have a file at a time in memory."""
        folders = [_quoted(self.inside(folder).toString()) for folder in found]
        files = self.spark.read.format("binaryFile").load(folders)
        digests = files.select("path", F.sha2("content", 256)).collect()
        # What comes before the name and its folder is not written alike everywhere.
        known = {"/".join(path.split("/")[-2:]): digest for path, digest in digests}
        for entries in found.values():
            for entry in entries:
                entry["sha256"] = known[entry["file"]]

    def write(self, name: str, text: str) -> None:
        """A file of the unfinished directory."""
        stream = self.raw.create(self.inside(name), False)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()

    def finish(self, files: list[str]) -> None:
        """Gives the directory its name."""
        at_once = self.scheme in AT_ONCE
        mask = self.jvm.org.apache.hadoop.fs.permission.FsPermission.getUMask(self.conf)
        everybody = self.jvm.org.apache.hadoop.fs.permission.FsPermission("777")
        if at_once:
            self.fs.setPermission(self.unfinished, everybody.applyUMask(mask))
        if not at_once:
            self._move(files)
        elif self.scheme == "file":
            try:
                # Fails if there is a directory with something in it; Hadoop would copy into it.
                os.rename(self.unfinished.toUri().getPath(), self.path.toUri().getPath())
            except OSError as error:
                raise _refused(f"`{self}` cannot be made: {error.strerror}", OTHERS) from error
        else:
            context = self.jvm.org.apache.hadoop.fs.FileContext.getFileContext(self.path.toUri(), self.conf)
            context.rename(self.unfinished, self.path, self._no_options())
        self.unfinished = None

    def _move(self, files: list[str]) -> None:
        """File by file, the manifest last."""
        path = self.jvm.org.apache.hadoop.fs.Path
        if self.fs.exists(self.path):
            raise _refused(f"`{self}` exists already", OTHERS)
        for name in sorted(files, key=lambda name: name == MANIFEST):
            target = path(self.path, name)
            self.fs.mkdirs(target.getParent())
            self._rename(self.inside(name), target)
            self.moved.append(target)
        self.fs.delete(self.unfinished, True)

    def abandon(self) -> None:
        """Removes what is not finished; of another run nothing."""
        if self.unfinished is None:
            return
        for path in reversed(self.moved):
            self.fs.delete(path, False)
        self.fs.delete(self.unfinished, True)
        self.unfinished = None

    def _no_options(self) -> Any:
        """That of two renames that does not overwrite."""
        rename = self.gateway.jvm.org.apache.hadoop.fs.Options.Rename
        options = self.gateway.new_array(rename, 1)
        options[0] = rename.NONE
        return options

    def _rename(self, old: Any, new: Any) -> None:
        if not self.raw.rename(old, new):
            raise _refused(f"`{new.toString()}` cannot be written", "is the file system full, or read-only?")

    def _rows(self, path: Any) -> int:
        """The number of rows that a file's footer says."""
        parquet = self.jvm.org.apache.parquet.hadoop
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, self.conf))
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()


def _quoted(name: str) -> str:
    """A name that a pattern of Hadoop means literally."""
    return "".join("\\" + letter if letter in "\\*?[]{}^," else letter for letter in name)


def _refused(cause: str, hint: str) -> UnspentError:
    return UnspentError(f"out: {cause}\nhint: {hint}")
