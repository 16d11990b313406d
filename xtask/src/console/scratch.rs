//! A folder to run examples in, so that they do not write to the repository.
//!
//! Contains links to the top level of the repository; `out/` is not linked and belongs to the example. `hapax` is the
//! program of this workspace. `cargo` is the real one with the path of the manifest, because through a link it would
//! build the workspace again. Does not prevent writes to a linked folder; the caller looks for new files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::workspace::Workspace;

/// Longer than any example of a document takes.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The output folder of examples.
const OUTPUT: &str = "out";

const CARGO: &str = r#"#!/bin/sh
task=$1
shift
case $task in
run) exec "$XTASK_CARGO" run --quiet --manifest-path "$XTASK_MANIFEST" "$@" ;;
xtask) exec "$XTASK_CARGO" run --quiet --manifest-path "$XTASK_MANIFEST" --release --package xtask -- "$@" ;;
bench | build | check | clippy | doc | test) exec "$XTASK_CARGO" "$task" --manifest-path "$XTASK_MANIFEST" "$@" ;;
*) exec "$XTASK_CARGO" "$task" "$@" ;;
esac
"#;

/// The folder; deleted on drop.
pub(super) struct Scratch {
    folder: TempDir,
}

#[derive(Debug)]
pub(super) struct Ran {
    /// `None` if a signal ended it, including ours after the time limit.
    pub(super) code: Option<i32>,
    /// Standard output and error, in the order they were written.
    pub(super) output: String,
}

impl Scratch {
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hapax-examples-").tempdir()?;
        let scratch = Self { folder };
        for part in ["bin", "work", "tmp"] {
            let folder = scratch.path(part);
            fs::create_dir(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let files = workspace.files()?;
        let top: BTreeSet<&str> = files
            .iter()
            .filter_map(|path| path.split('/').next())
            .filter(|n| *n != OUTPUT)
            .collect();
        for name in top {
            symlink(workspace.root().join(name), scratch.path("work").join(name))
                .with_context(|| format!("cannot link {name}"))?;
        }
        symlink(workspace.binaries().join("hapax"), scratch.path("bin/hapax"))?;
        let cargo = scratch.path("bin/cargo");
        fs::write(&cargo, CARGO)?;
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))?;
        Ok(scratch)
    }

    /// Runs a line of shell code and waits for its end.
    pub(super) fn run(&self, workspace: &Workspace, line: &str) -> Result<Ran> {
        let path = self.path("output");
        let output = File::create(&path)?;
        let mut command = workspace.command("sh");
        command
            .args(["-c", line])
            .current_dir(self.path("work"))
            .env("PATH", workspace.search_path(&[self.path("bin")]))
            .env("TMPDIR", self.path("tmp"))
            .env("XTASK_CARGO", workspace.cargo_path())
            .env("XTASK_MANIFEST", workspace.root().join("Cargo.toml"))
            // The output must not depend on the user's terminal.
            .env("NO_COLOR", "1")
            .env_remove("CARGO_TERM_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // A new process group, so that the time limit applies to all processes of the shell.
            .process_group(0);
        if let Some(target) = workspace.binaries().parent() {
            // A relative path in the environment would start at this folder.
            command.env("CARGO_TARGET_DIR", target);
        }
        let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        let code = wait(&mut child, TIME_LIMIT)?;
        let bytes = fs::read(&path)?;
        Ok(Ran { code, output: String::from_utf8_lossy(&bytes).into_owned() })
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }
}

/// The exit code; `None` if a signal ended the child or its time ran out.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<i32>> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if Instant::now() >= end {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> (Option<i32>, String) {
        let workspace = Workspace::locate().unwrap();
        let scratch = Scratch::new(&workspace).unwrap();
        let ran = scratch.run(&workspace, line).unwrap();
        (ran.code, ran.output)
    }

    #[test]
    fn output_and_errors_come_in_the_order_written_with_the_exit_code() {
        assert_eq!(run("echo a; echo b >&2; echo c; exit 3"), (Some(3), "a\nb\nc\n".into()));
    }

    #[test]
    fn a_command_sees_the_top_of_the_repository_and_keeps_its_output_to_itself() {
        let line = "test -f Cargo.toml && test -d crates && mkdir out && echo x > out/y && ls out";
        assert_eq!(run(line), (Some(0), "y\n".into()));
    }

    #[test]
    fn hapax_and_cargo_are_those_of_this_workspace() {
        let (code, output) = run("readlink ../bin/hapax; command -v cargo; cargo --version");
        assert_eq!(code, Some(0), "{output}");
        let lines: Vec<&str> = output.lines().collect();
        assert!(lines[0].ends_with("/release/hapax"), "{output}");
        assert!(lines[1].contains("hapax-examples-"), "{output}");
        assert!(lines[2].starts_with("cargo "), "{output}");
    }

    #[test]
    fn a_child_that_takes_too_long_is_ended_with_its_processes() {
        let mut child =
            Command::new("sh").args(["-c", "sleep 60 & wait"]).process_group(0).spawn().unwrap();
        assert_eq!(wait(&mut child, Duration::from_millis(50)).unwrap(), None);
    }
}
