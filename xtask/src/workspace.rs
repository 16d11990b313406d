//! Locates the repository, lists its files, and starts commands in it.
//!
//! Children get an environment in which results depend on the repository alone, without outside compiler flags (which
//! would replace those of `.cargo/config.toml` and rebuild everything), the variables that cargo set for this
//! program, and a service's settings (`HAPAX_...`).

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::needs::SHARED_ENVIRONMENT;

/// Folders that are skipped if git is not available.
const NEVER_LISTED: [&str; 4] = [".git", "target", ".venv", "__pycache__"];

/// A checkout of this repository.
pub(crate) struct Workspace {
    root: PathBuf,
    /// The folder of the release binaries, including this program.
    binaries: PathBuf,
}

impl Workspace {
    /// The repository this program was built from.
    pub(crate) fn locate() -> Result<Self> {
        // Read at run time, because a binary in a shared target folder may come from another clone.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .context("CARGO_MANIFEST_DIR is not set; start this program as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().context("the xtask folder has no parent")?;
        let own = env::current_exe().context("cannot find the path of this program")?;
        // Test programs are one folder deeper than programs.
        let binaries = own
            .ancestors()
            .skip(1)
            .find(|folder| !folder.ends_with("deps"))
            .context("this program lies in no folder")?;
        Ok(Self { root: root.to_owned(), binaries: binaries.to_owned() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The output folder of `cargo build --release`.
    pub(crate) fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// A virtual environment for the Python packages of parts, outside of the tree.
    pub(crate) fn python_environment(&self) -> PathBuf {
        self.binaries.join(SHARED_ENVIRONMENT)
    }

    /// The cargo that started this program.
    pub(crate) fn cargo_path(&self) -> OsString {
        env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
    }

    /// A cargo command in the root of the repository.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.command(self.cargo_path());
        command.args(arguments);
        command
    }

    /// Any command in the root of the repository. The Python environment, once it exists, comes
    /// first on the search path.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(must_not_reach_children) {
                command.env_remove(name);
            }
        }
        command.env("PATH", self.search_path(&[]));
        command
    }

    /// The search path of commands, with some folders in front.
    pub(crate) fn search_path(&self, front: &[PathBuf]) -> OsString {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let python = Some(self.python_environment().join("bin")).filter(|folder| folder.is_dir());
        let folders = front.iter().cloned().chain(python).chain(env::split_paths(&inherited));
        // Joining fails only for a folder with the separator in its name, which a search path
        // cannot contain anyway.
        env::join_paths(folders).unwrap_or(inherited)
    }

    /// Every file that is tracked or that `git add` would track, as sorted paths from the root with
    /// `/` as separator.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        // The owner of a checkout in a container often differs from the user, which must not
        // prevent listing it.
        let listing = self
            .command("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"])
            .stderr(Stdio::null())
            .output();
        let mut files = match listing {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
                .split('\0')
                // A deleted file stays in git's index until the deletion is committed.
                .filter(|path| !path.is_empty() && self.root.join(path).is_file())
                .map(str::to_owned)
                .collect(),
            Ok(_) | Err(_) => {
                let mut found = Vec::new();
                walk(&self.root, "", &mut found)?;
                found
            }
        };
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    /// The text of a file of the repository.
    pub(crate) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }
}

/// The command as typed by a user.
pub(crate) fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(program.to_string_lossy()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Prints the command and runs it with its output passed through; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let spelled = spelled(command);
    println!("$ {spelled}");
    let status = command.status().with_context(|| format!("cannot start `{spelled}`"))?;
    if !status.success() {
        bail!("`{spelled}` failed ({status})");
    }
    Ok(())
}

/// Like [`run`], but passes each line of standard output to `see` as well; returns whether the
/// command succeeded.
pub(crate) fn run_watched(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let spelled = spelled(command);
    println!("$ {spelled}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{spelled}`"))?;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            see(text.trim_end());
            line.clear();
        }
    }
    Ok(child.wait().with_context(|| format!("cannot wait for `{spelled}`"))?.success())
}

fn must_not_reach_children(variable: &str) -> bool {
    matches!(
        variable,
        "RUSTFLAGS" | "CARGO_ENCODED_RUSTFLAGS" | "CARGO_BUILD_RUSTFLAGS" | "CARGO_BIN_NAME"
    ) || variable.starts_with("CARGO_MANIFEST_")
        || variable.starts_with("CARGO_PKG_")
        || variable.starts_with("HAPAX_")
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<()> {
    let here = root.join(folder);
    let entries = fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !NEVER_LISTED.contains(&name.as_str()) {
            walk(root, &path, found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_flags_are_kept_from_cargo_and_its_own_settings_are_not() {
        for hidden in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PKG_NAME", "HAPAX_TOKEN"] {
            assert!(must_not_reach_children(hidden), "{hidden}");
        }
        for kept in ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO", "PATH", "RUSTUP_TOOLCHAIN"] {
            assert!(!must_not_reach_children(kept), "{kept}");
        }
    }

    #[test]
    fn a_command_is_spelled_without_the_folder_of_its_program() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["fmt", "--check"]);
        assert_eq!(spelled(&command), "cargo fmt --check");
    }

    #[test]
    fn a_walk_lists_files_with_slashes_and_leaves_build_output_alone() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/b", "target", ".git"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for path in ["top.md", "a/b/deep.rs", "target/built", ".git/HEAD"] {
            fs::write(folder.path().join(path), "x").unwrap();
        }
        let mut found = Vec::new();
        walk(folder.path(), "", &mut found).unwrap();
        found.sort();
        assert_eq!(found, ["a/b/deep.rs", "top.md"]);
    }

    #[test]
    fn watched_output_arrives_line_by_line_with_the_outcome() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two; exit 3"]);
        let succeeded = run_watched(&mut command, |line| lines.push(line.to_owned())).unwrap();
        assert!(!succeeded);
        assert_eq!(lines, ["one", "two"]);
    }
}
