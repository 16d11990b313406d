//! Writes results to standard output, or to a file or object that appears atomically.
//!
//! A file is written under a temporary name in the same folder and renamed at the end, so a failed run leaves the
//! previous file. A pipe or device is written to directly. Output for an address is written to a temporary file and
//! sent at the end. On a terminal, outside names and addresses lose control characters; files and pipes get every
//! byte.

use crate::failure::Failure;
use crate::leftovers::Making;
use crate::readable::harmless_lines;
use comfy_table::{CellAlignment, Table, presets};
use hapax_remote::{Folder, is_address};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// An open output. It is complete only after [`finish`](Self::finish).
pub(crate) enum Output {
    /// Standard output; flushed after every write on a terminal.
    Standard { to: BufWriter<io::Stdout>, watched: bool },
    /// A file under a temporary name.
    Pending { to: BufWriter<NamedTempFile>, path: PathBuf, making: Making },
    /// A pipe or device.
    Direct { to: BufWriter<File>, path: PathBuf },
    /// A temporary file for an object.
    Remote { to: BufWriter<NamedTempFile>, target: Target, making: Making },
}

/// The object that a finished local file is sent to.
pub(crate) struct Target {
    folder: Folder,
    name: String,
}

impl Target {
    /// The object at a path that is an address; `None` for other paths.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, Failure> {
        let Some(address) = path.to_str().filter(|path| is_address(path)) else { return Ok(None) };
        let target = Folder::of_file(address).map(|(folder, name)| Some(Self { folder, name }));
        target.map_err(|error| Failure::io("write", path, error))
    }

    /// Whether the object exists.
    pub(crate) fn exists(&self) -> Result<bool, Failure> {
        self.folder.has(&self.name).map_err(|error| self.failed(error))
    }

    /// Sends a file, which appears atomically.
    fn send(&self, file: &Path) -> Result<(), Failure> {
        let sent = self.folder.send(file, &self.name, &mut |_| Ok(()), &mut |_| true);
        sent.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::io("write", Path::new(&self.folder.name(&self.name)), error)
    }
}

/// A file that a library writes by name: at its place, or in a temporary folder until it is sent.
pub(crate) struct Growing {
    path: PathBuf,
    sent: Option<(Target, TempDir, Making)>,
}

impl Growing {
    /// The file for a path or an address.
    pub(crate) fn of(out: &Path) -> Result<Self, Failure> {
        let Some(target) = Target::of(out)? else {
            return Ok(Self { path: out.to_owned(), sent: None });
        };
        let made = Making::of(tempfile::tempdir, |made| vec![made.path().to_owned()]);
        let (folder, making) = made.map_err(|error| Failure::io("write", out, error))?;
        Ok(Self { path: folder.path().join(&target.name), sent: Some((target, folder, making)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Sends a file for an address.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.sent.map_or(Ok(()), |(target, _folder, _making)| target.send(&self.path))
    }
}

impl Output {
    /// Opens `path`; without one, standard output.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            let to = io::stdout();
            return Ok(Self::Standard { watched: to.is_terminal(), to: BufWriter::new(to) });
        };
        if let Some(target) = Target::of(path)? {
            let made = Making::of(NamedTempFile::new, |made| vec![made.path().to_owned()]);
            let (temporary, making) = made.map_err(|e| Failure::io("write", path, e))?;
            return Ok(Self::Remote { to: BufWriter::new(temporary), target, making });
        }
        // Replaces the target of a link, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match path.metadata() {
            Ok(there) if there.is_dir() => {
                return Err(Failure::Run(anyhow::anyhow!(
                    "cannot write {}: it is a folder; name a file",
                    crate::readable::path(&path)
                )));
            }
            Ok(there) if !there.is_file() => {
                let to = File::options().write(true).open(&path);
                let to = to.map_err(|e| Failure::io("write", &path, e))?;
                return Ok(Self::Direct { to: BufWriter::new(to), path });
            }
            Ok(_) | Err(_) => {}
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let made = Making::of(|| temporary_in(folder), |made| vec![made.path().to_owned()]);
        let (temporary, making) = made.map_err(|e| Failure::io("write", &path, e))?;
        Ok(Self::Pending { to: BufWriter::new(temporary), path, making })
    }

    /// Whether results are printed on a terminal.
    pub(crate) fn on_screen(&self) -> bool {
        matches!(self, Self::Standard { watched: true, .. })
    }

    /// Writes all of `bytes`, without control characters on a terminal.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.on_screen() {
            return self.write_styled(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.write_styled(harmless_lines(&text).as_bytes())
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.write(format!("{text}\n").as_bytes())
    }

    /// Writes all of `bytes` unchanged, for text with the program's own colours.
    pub(crate) fn write_styled(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard { to, watched } => {
                let flushed = |to: &mut BufWriter<_>| if *watched { to.flush() } else { Ok(()) };
                to.write_all(bytes).and_then(|()| flushed(to)).map_err(standard_output)
            }
            Self::Pending { to, path, .. } => {
                to.write_all(bytes).map_err(|e| Failure::io("write", path, e))
            }
            Self::Direct { to, path } => {
                to.write_all(bytes).map_err(|e| Failure::io("write", path, e))
            }
            Self::Remote { to, target, .. } => to.write_all(bytes).map_err(|e| target.failed(e)),
        }
    }

    /// Flushes buffered output for a waiting reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Standard { to, .. } => to.flush().map_err(standard_output),
            Self::Pending { to, path, .. } => to.flush().map_err(|e| Failure::io("write", path, e)),
            Self::Direct { to, path } => to.flush().map_err(|e| Failure::io("write", path, e)),
            Self::Remote { to, target, .. } => to.flush().map_err(|e| target.failed(e)),
        }
    }

    /// Completes the output: renames or sends it.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        match self {
            Self::Standard { .. } | Self::Direct { .. } => self.flush(),
            Self::Remote { to, target, making } => {
                let file = to.into_inner().map_err(|e| target.failed(e.into_error()))?;
                let sent = target.send(file.path());
                drop(making);
                sent
            }
            Self::Pending { to, path, making } => {
                let complete = || {
                    let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
                    file.as_file().sync_all()?;
                    file.persist(&path).map_err(|e| e.error)
                };
                let completed = complete().map(drop);
                drop(making);
                completed.map_err(|e| Failure::io("write", &path, e))
            }
        }
    }
}

/// Writes a text to standard output at once.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = Output::open(None)?;
    output.write(text.as_bytes())?;
    output.finish()
}

/// A value as JSON on one line, without a newline.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(value).map_err(anyhow::Error::new)?)
}

/// Prints an answer: as JSON on one line, or as text without a final newline.
pub(crate) fn answer(as_json: bool, value: &impl Serialize, text: &str) -> Result<(), Failure> {
    let text = if as_json { json(value)? } else { text.to_owned() };
    print(&(text + "\n"))
}

/// Prints indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(serde_json::to_string_pretty(value).map_err(anyhow::Error::new)? + "\n"))
}

/// A table with a header; the first `left` columns are aligned to the left and the others to the
/// right.
pub(crate) fn table<R: IntoIterator<Item = String>>(
    header: &[&str],
    rows: impl IntoIterator<Item = R>,
    left: usize,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Names and values in two columns.
pub(crate) fn columns(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let rows: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:<width$}  {value}")).collect();
    rows.join("\n")
}

/// Writes a file atomically by renaming.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = Output::open(Some(path))?;
    output.write(bytes)?;
    output.finish()
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hapax-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // With the permissions of any new file instead of the private mode of temporary files.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn standard_output(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Run(anyhow::Error::new(error).context("cannot write to standard output")),
    }
}
