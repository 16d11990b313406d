//! Requirements of parts other than Rust: Debian packages and Python packages.
//!
//! A part lists its needs as text: `debian:PACKAGE=PROGRAM`, where the program proves that the package is installed
//! and can be omitted if it has the package's name; `python:FILE`, a requirement file of the repository that pins
//! every version; or `environment:FILE`, one that is installed apart from the others. Root installs missing Debian
//! packages, other users get the command in an error; Python packages go into virtual environments in the build
//! output. [`plan`] decides on commands without running them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::workspace::{self, Workspace};

/// The folder of the environment of `python:FILE`.
pub(crate) const SHARED_ENVIRONMENT: &str = "xtask-python";

/// Fetches the package lists, which a fresh container lacks.
const APT_UPDATE: [&str; 2] = ["apt-get", "update"];

/// Succeeds if the interpreter has every package of a requirement file in the stated version.
const INSTALLED: &str = "import importlib.metadata, sys\n\
    for line in open(sys.argv[1]):\n    \
        line = line.partition('#')[0].strip()\n    \
        if line:\n        \
            name, _, version = line.partition('==')\n        \
            assert importlib.metadata.version(name.partition('[')[0]) == version";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    manager: Manager,
    /// A Debian package, or a requirement file.
    package: String,
    /// The program that proves that a Debian package is installed.
    sign: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Debian,
    /// Into the environment whose programs every command finds.
    Python,
    /// Into an environment of its own.
    Environment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Root,
    User,
}

/// How to install missing packages.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// Commands to run in order; empty if nothing is missing.
    Run(Vec<Vec<String>>),
    /// The command that only root can run.
    Ask(String),
}

impl Need {
    /// Reads `debian:PACKAGE[=PROGRAM]`, `python:FILE` or `environment:FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (manager, rest) = match text.split_once(':') {
            Some(("debian", rest)) => (Manager::Debian, rest),
            Some(("python", rest)) => (Manager::Python, rest),
            Some(("environment", rest)) => (Manager::Environment, rest),
            Some(_) | None => {
                bail!("need `{text}` begins with none of `debian:`, `python:` and `environment:`")
            }
        };
        let (package, sign) = rest.split_once('=').unwrap_or((rest, rest));
        if package.is_empty() || sign.is_empty() {
            bail!("need `{text}` lacks the name of a package or its sign");
        }
        Ok(Self { manager, package: package.to_owned(), sign: sign.to_owned() })
    }

    fn is_met(&self, workspace: &Workspace) -> bool {
        let mut probe = match self.manager {
            Manager::Debian => {
                let mut probe = workspace.command("sh");
                probe.args(["-c", "command -v \"$0\"", &self.sign]);
                probe
            }
            Manager::Python | Manager::Environment => {
                let folder = self.folder(workspace.binaries());
                let mut probe = workspace.command(folder.join("bin/python3"));
                probe.args(["-c", INSTALLED, &self.package]);
                probe
            }
        };
        let probe = probe.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    }

    /// The virtual environment of Python packages.
    fn folder(&self, binaries: &Path) -> PathBuf {
        match self.manager {
            Manager::Environment => environment(binaries, &self.package),
            Manager::Python | Manager::Debian => binaries.join(SHARED_ENVIRONMENT),
        }
    }
}

/// The folder of the virtual environment that `environment:FILE` makes.
pub(crate) fn environment(binaries: &Path, file: &str) -> PathBuf {
    let stem = Path::new(file).file_stem().unwrap_or_default();
    binaries.join(format!("xtask-{}", stem.to_string_lossy()))
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.manager {
            Manager::Debian => write!(f, "Debian package {}", self.package),
            Manager::Python | Manager::Environment => write!(f, "what {} lists", self.package),
        }
    }
}

/// Installs what is missing. Only one process installs at a time.
pub(crate) fn provide(workspace: &Workspace, needs: &[Need]) -> Result<()> {
    if needs.is_empty() {
        return Ok(());
    }
    let lock = workspace.binaries().join("xtask-needs.lock");
    let lock = File::create(&lock).with_context(|| format!("cannot make {}", lock.display()))?;
    lock.lock().context("cannot wait for another process that installs")?;
    let missing: Vec<Need> = needs.iter().filter(|need| !need.is_met(workspace)).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let rights = if is_root(workspace) { Rights::Root } else { Rights::User };
    match plan(&missing, rights, workspace.binaries()) {
        Plan::Ask(what) => bail!(what),
        Plan::Run(commands) => {
            for words in commands {
                let (program, arguments) = words.split_first().context("an empty command")?;
                let mut command = workspace.command(program);
                // Prevents questions during installation.
                command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
                workspace::run(&mut command)?;
            }
        }
    }
    match missing.iter().find(|need| !need.is_met(workspace)) {
        Some(need) => bail!("{need} was installed, yet it is not found"),
        None => Ok(()),
    }
}

/// Plans the installation of missing packages. Always recreates an environment, which is fast and
/// repairs an incomplete one.
fn plan(missing: &[Need], rights: Rights, binaries: &Path) -> Plan {
    let mut debian = Vec::new();
    let mut python: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for need in missing {
        let packages = match need.manager {
            Manager::Debian => &mut debian,
            Manager::Python | Manager::Environment => {
                python.entry(need.folder(binaries)).or_default()
            }
        };
        packages.push(need.package.clone());
    }
    for packages in python.values_mut().chain([&mut debian]) {
        packages.sort();
        packages.dedup();
    }
    if !debian.is_empty() && rights == Rights::User {
        return Plan::Ask(format!(
            "missing Debian packages, and only root can install them; run\n  \
             sudo apt-get install {}",
            debian.join(" ")
        ));
    }
    let command = |fixed: &str, packages: &[String]| -> Vec<String> {
        fixed.split(' ').map(str::to_owned).chain(packages.iter().cloned()).collect()
    };
    let mut commands = Vec::new();
    if !debian.is_empty() {
        commands.push(APT_UPDATE.map(str::to_owned).to_vec());
        commands.push(command("apt-get install --yes --no-install-recommends", &debian));
    }
    for (folder, files) in python {
        let interpreter = folder.join("bin/python3").to_string_lossy().into_owned();
        commands.push(command("python3 -m venv", &[folder.to_string_lossy().into_owned()]));
        let mut install = vec![interpreter];
        install.extend(command("-m pip install --quiet --disable-pip-version-check", &[]));
        install.extend(files.iter().flat_map(|file| ["--requirement".to_owned(), file.clone()]));
        commands.push(install);
    }
    Plan::Run(commands)
}

fn is_root(workspace: &Workspace) -> bool {
    let answer = workspace.command("id").arg("-u").output();
    answer.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(texts: &[&str]) -> Vec<Need> {
        texts.iter().map(|text| Need::parse(text).unwrap()).collect()
    }

    fn commands(texts: &[&str], rights: Rights) -> Vec<String> {
        match plan(&needs(texts), rights, Path::new("out")) {
            Plan::Run(commands) => commands.iter().map(|words| words.join(" ")).collect(),
            Plan::Ask(what) => panic!("asked: {what}"),
        }
    }

    #[test]
    fn the_sign_of_a_need_is_its_package_unless_stated() {
        let signs = |text: &str| {
            let need = Need::parse(text).unwrap();
            (need.package, need.sign)
        };
        assert_eq!(signs("debian:chromium"), ("chromium".into(), "chromium".into()));
        assert_eq!(signs("debian:gcc=cc"), ("gcc".into(), "cc".into()));
    }

    #[test]
    fn an_invalid_need_is_named_in_the_error() {
        for wrong in ["chromium", "brew:chromium", "debian:", "debian:x=", "python:"] {
            let error = Need::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn root_updates_the_lists_and_installs_everything_together() {
        let found = commands(&["debian:openjdk-17-jre=java", "debian:chromium"], Rights::Root);
        assert_eq!(
            found,
            [
                "apt-get update",
                "apt-get install --yes --no-install-recommends chromium openjdk-17-jre",
            ]
        );
    }

    #[test]
    fn other_users_get_the_exact_command_and_nothing_runs() {
        let missing = needs(&["debian:chromium", "python:tests.txt"]);
        let Plan::Ask(what) = plan(&missing, Rights::User, Path::new("out")) else {
            panic!("would have run something");
        };
        assert!(what.contains("sudo apt-get install chromium"), "{what}");
    }

    #[test]
    fn python_packages_need_no_rights_and_stay_in_their_environment() {
        let found = commands(&["python:b.txt", "python:a.txt", "python:b.txt"], Rights::User);
        let install = "-m pip install --quiet --disable-pip-version-check";
        assert_eq!(
            found,
            [
                "python3 -m venv out/xtask-python".to_owned(),
                format!(
                    "out/xtask-python/bin/python3 {install} --requirement a.txt --requirement b.txt"
                ),
            ]
        );
    }

    #[test]
    fn an_environment_holds_the_packages_of_one_file() {
        let found = commands(&["python:a.txt", "environment:p/b.txt"], Rights::User);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "python3 -m venv out/xtask-b");
        assert!(found[1].starts_with("out/xtask-b/bin/python3 "), "{}", found[1]);
        assert!(found[1].ends_with(" --requirement p/b.txt"), "{}", found[1]);
        assert!(found[3].starts_with("out/xtask-python/bin/python3 "), "{}", found[3]);
    }

    #[test]
    fn only_the_stated_versions_satisfy_a_requirement_file() {
        let workspace = Workspace::locate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let is_met = |lines: &str| {
            let file = folder.path().join("requirements.txt");
            std::fs::write(&file, lines).unwrap();
            let python = workspace.command("python3").args(["-c", INSTALLED]).arg(&file).output();
            python.unwrap().status.success()
        };
        assert!(is_met("# Nothing.\n\n"));
        assert!(!is_met("no-such-package-anywhere==1.0\n"));
        assert!(!is_met("pip[extra]==0.0.0 # no release has this number\n"));
    }

    #[test]
    fn every_requirement_of_the_repository_is_pinned() {
        let workspace = Workspace::locate().unwrap();
        let files = workspace.files().unwrap();
        let lists: Vec<_> = files
            .iter()
            .filter(|file| file.ends_with(".txt") && file.contains("requirements"))
            .filter(|file| !file.starts_with("examples/"))
            .collect();
        assert!(lists.len() >= 4, "{lists:?}");
        for list in lists {
            for line in workspace.read(list).unwrap().lines() {
                let line = line.split('#').next().unwrap_or_default().trim();
                let pinned = line.split_once("==").is_some_and(|(_, version)| !version.is_empty());
                assert!(line.is_empty() || pinned, "{list}: {line}");
            }
        }
    }

    #[test]
    fn without_missing_packages_the_plan_is_empty() {
        assert_eq!(plan(&[], Rights::User, Path::new("out")), Plan::Run(Vec::new()));
    }

    #[test]
    fn a_shell_is_found_and_an_invented_program_is_not() {
        let workspace = Workspace::locate().unwrap();
        assert!(Need::parse("debian:dash=sh").unwrap().is_met(&workspace));
        assert!(!Need::parse("debian:no-such-program-anywhere").unwrap().is_met(&workspace));
    }
}
