//! Builds all files of a release in one folder: `cargo xtask dist`.
//!
//! The program as an archive (with completions, manual pages, licences, unit file and settings), the Python wheel
//! that contains it, every crate as sent by `cargo publish`, and their checksums. Archives depend on the commit only,
//! not on the time. With `--check` the files are tried like a user would: the archive in a root folder with only the
//! C library, the wheel in a fresh environment without a compiler. Publishes nothing.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use crate::package::published;
use crate::wheel;
use crate::workspace::{Workspace, run};

/// What may be asked of it.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder for the files; what an earlier run left there is replaced
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,
    /// Build with this profile; `dist` is what is published, `release` is quicker
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Then install and run them as a user would
    #[arg(long)]
    check: bool,
}

/// Files that are copied into the archive.
const BESIDE: [&str; 6] = [
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "THIRD-PARTY.md",
    "deploy/hapax.service",
    "deploy/hapax.toml",
];

const SHELLS: [(&str, &str); 3] =
    [("bash", "hapax.bash"), ("zsh", "_hapax"), ("fish", "hapax.fish")];

pub(crate) fn dist(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let out = std::path::absolute(&arguments.out).context("not a folder that can be named")?;
    if out.exists() {
        let marked = out.join(CHECKSUMS).exists() || fs::read_dir(&out)?.next().is_none();
        ensure!(marked, "{} holds other files; name another folder", out.display());
        fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let program = built(workspace, &arguments.profile)?;
    let archive = archived(workspace, &program, &out)?;
    let wheel = wheel::build(workspace, &arguments.profile, &out)?;
    crates(workspace, &out)?;
    checksums(&out)?;
    if arguments.check {
        try_archive(workspace, &archive)?;
        wheel::try_out(workspace, &wheel)?;
    }
    Ok(())
}

const CHECKSUMS: &str = "SHA256SUMS";

fn built(workspace: &Workspace, profile: &str) -> Result<PathBuf> {
    run(&mut workspace.cargo(["build", "--locked", "--profile", profile, "--bin", "hapax"]))?;
    let target = workspace.binaries().parent().context("no target folder")?;
    Ok(target.join(profile).join("hapax"))
}

/// The target machine of the compiler, as in names of archives.
fn machine(workspace: &Workspace) -> Result<String> {
    let output = workspace.command("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it builds for")?.to_owned())
}

fn archived(workspace: &Workspace, program: &Path, out: &Path) -> Result<PathBuf> {
    let name = format!("hapax-{}-{}", env!("CARGO_PKG_VERSION"), machine(workspace)?);
    let place = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = place.path().join(&name);
    let (completions, manual) = (folder.join("completions"), folder.join("man"));
    fs::create_dir_all(&completions)?;
    fs::create_dir_all(&manual)?;
    fs::copy(program, folder.join("hapax"))
        .with_context(|| format!("cannot copy {}", program.display()))?;
    // Profiles other than `dist` keep their symbols.
    run(workspace.command("strip").arg(folder.join("hapax")))?;
    for file in BESIDE {
        let last = Path::new(file).file_name().context("a file without a name")?;
        fs::copy(workspace.root().join(file), folder.join(last))
            .with_context(|| format!("cannot copy {file}"))?;
    }
    for (shell, file) in SHELLS {
        let script = workspace.command(program).args(["completions", shell]).output()?;
        ensure!(script.status.success(), "hapax completions {shell} failed");
        fs::write(completions.join(file), script.stdout)?;
    }
    run(workspace.command(program).args(["man", "--out"]).arg(&manual))?;
    let archive = out.join(format!("{name}.tar.gz"));
    let mut tar = workspace.command("tar");
    // The same bytes at any time and for any user.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"]);
    tar.args(["--mtime", &committed(workspace)?, "--create", "--gzip", "--file"]).arg(&archive);
    run(tar.arg("--directory").arg(place.path()).arg(&name).env("GZIP", "-n"))?;
    Ok(archive)
}

/// The time of the commit, for `tar --mtime`.
fn committed(workspace: &Workspace) -> Result<String> {
    let arguments = ["-c", "safe.directory=*", "log", "-1", "--format=@%ct"];
    let output = workspace.command("git").args(arguments).output().context("cannot start git")?;
    ensure!(output.status.success(), "a release is made from a git checkout");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn crates(workspace: &Workspace, out: &Path) -> Result<()> {
    let names = published(&workspace.root().join("crates"))?;
    let mut command = workspace.cargo(["package", "--quiet", "--locked", "--no-verify"]);
    command.arg("--allow-dirty");
    names.iter().for_each(|name| _ = command.args(["--package", name]));
    let target = workspace.binaries().parent().context("no target folder")?;
    run(command.env("CARGO_TARGET_DIR", target))?;
    for name in names {
        let file = format!("{name}-{}.crate", env!("CARGO_PKG_VERSION"));
        fs::copy(target.join("package").join(&file), out.join(&file))
            .with_context(|| format!("{file} was not made"))?;
    }
    Ok(())
}

fn checksums(out: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(out)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let mut lines = String::new();
    for file in &files {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().context("a file without a name")?.to_string_lossy();
        Sha256::digest(&bytes).iter().for_each(|byte| _ = write!(lines, "{byte:02x}"));
        _ = writeln!(lines, "  {name}");
        println!("{name}  {:.1} MB", bytes.len() as f64 / 1e6);
    }
    fs::write(out.join(CHECKSUMS), lines).context("cannot write the checksums")
}

/// Cleans the bundled sample in a root folder that contains only the archive, the sample and the
/// libraries that the program needs.
fn try_archive(workspace: &Workspace, archive: &Path) -> Result<()> {
    let place = tempfile::tempdir().context("cannot make a temporary folder")?;
    let root = place.path();
    run(workspace
        .command("tar")
        .args(["--strip-components=1", "-xzf"])
        .arg(archive)
        .arg("-C")
        .arg(root))?;
    let listed = workspace.command("ldd").arg(root.join("hapax")).output()?;
    for library in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
        if library.starts_with('/') {
            let there = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(there.parent().context("a library without a folder")?)?;
            fs::copy(library, there).with_context(|| format!("cannot copy {library}"))?;
        }
    }
    run(workspace.command("cp").args(["-r", "examples/docs"]).arg(root.join("docs")))?;
    fs::create_dir_all(root.join("tmp"))?;
    let mut chroot = workspace.command("chroot");
    chroot.arg(root).args(["/hapax", "dedup", "/docs", "--out", "/out"]);
    let output = chroot.output().context("cannot start chroot; it needs the rights of root")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the program does not run from its archive: {text}");
    if !text.contains(" kept · ") || !root.join("out/report.html").exists() {
        bail!("the program from the archive did not clean the sample: {text}");
    }
    println!("{}: cleans the sample in a root of its own", archive.display());
    Ok(())
}
