//! A temporary folder, and the program running in it.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An article that is long enough for comparisons.
pub(crate) const ARTICLE: &str = "<html><head><title>Cranes</title></head><body><h1>The old \
    crane</h1><p>The city council voted on Tuesday to restore the old harbour crane, which has \
    stood unused for many years and is thought to be the last of its kind on this coast.</p>\
    </body></html>";

/// A folder that is deleted at the end of a test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and creates its folders.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// A result file of a job without what differs between runs: date and command of the report,
    /// and the hash of its content.
    pub(crate) fn result(&self, name: &str) -> Vec<u8> {
        if !name.ends_with("report.html") {
            return self.read(name);
        }
        let page = String::from_utf8(self.read(name)).unwrap();
        let nonce = page.split("nonce-").nth(1).unwrap().split('\'').next().unwrap();
        let mut page = page.replace(nonce, "");
        for line in ["made", "command"] {
            let start = page.find(&format!("<dt>{line}</dt>")).unwrap();
            let end = start + page[start..].find("</dd>").unwrap();
            page.replace_range(start..end, "");
        }
        page.into_bytes()
    }

    /// The program with arguments, running in this folder.
    pub(crate) fn hapax(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
        command.current_dir(self.0.path()).args(arguments).env_remove("NO_COLOR");
        command
    }

    /// Runs the program, which must succeed; returns its standard output.
    pub(crate) fn output(&self, arguments: &[&str]) -> String {
        stdout(&self.hapax(arguments).assert().code(0))
    }

    /// Runs the program, which must fail with this code; returns its standard error.
    pub(crate) fn refusal(&self, code: i32, arguments: &[&str]) -> String {
        stderr(&self.hapax(arguments).assert().code(code))
    }

    /// Names of all files in the folder, including hidden ones.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Path::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

pub(crate) fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}
