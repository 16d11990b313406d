//! Tests of the service from outside Rust: with a real browser, and with a tool that reads its API description.
//!
//! Both start the built program on a free port with a new repository, and stop it at the end. The browser is Debian's
//! Chromium, driven by playwright-core from npm; the tool is Schemathesis from PyPI. npm packages are installed in
//! the build output, not in the system.

use crate::parts::Tally;
use crate::workspace::{Workspace, run, run_watched};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Tested with Debian's Chromium.
const PLAYWRIGHT: &str = "playwright-core@1.65.0";

/// The data of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serving {
    Repository,
    SearchIndex,
    /// A repository with the pages of `examples/docs`, and an index of them.
    Sample,
}

/// A running server; stopped on drop.
pub(crate) struct Server {
    process: Child,
    /// `http://127.0.0.1:PORT`.
    pub(crate) address: String,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(workspace: &Workspace, with: Serving) -> Result<Self> {
        run(&mut workspace.cargo(["build", "--release", "--bin", "hapax"]))?;
        let folder = tempfile::tempdir()?;
        let program = workspace.binaries().join("hapax");
        let seen = folder.path().join("seen");
        if with == Serving::Sample {
            let mut fill = workspace.command(&program);
            run(fill.args(["dedup", "examples/docs", "--quiet", "--into"]).arg(&seen))?;
        }
        let mut command = workspace.command(&program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(seen);
        if with == Serving::SearchIndex {
            let index = folder.path().join("index");
            let mut build = workspace.command(&program);
            build.args(["search", "build", "examples/docs", "--quiet", "--out"]).arg(&index);
            run(&mut build)?;
            command.arg("--search-index").arg(index);
        }
        // The page of the test is fetched from this machine.
        command.env("HAPAX_FETCH__ALLOW", "127.0.0.1").env("HAPAX_FETCH__DELAY_SECONDS", "0.0");
        let mut process =
            command.stderr(Stdio::piped()).spawn().context("cannot start the server")?;
        let mut lines = BufReader::new(process.stderr.take().context("no output")?).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            Some(line.split_once("listening on ")?.1.trim_end_matches('/').to_owned())
        });
        // Unread output would block the server.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let Some(address) = address else {
            let _ = process.kill();
            bail!("the server did not say where it listens");
        };
        Ok(Self { process, address, _folder: folder })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Tests the web page in a real browser.
pub(crate) fn browser(workspace: &Workspace) -> Result<Tally> {
    let modules = workspace.binaries().join("xtask-node");
    if !modules.join("node_modules/playwright-core").exists() {
        let mut install = workspace.command("npm");
        install.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
        run(install.arg(&modules).arg(PLAYWRIGHT))?;
    }
    let server = Server::start(workspace, Serving::SearchIndex)?;
    let mut tally = Tally::default();
    let mut command = workspace.command("node");
    command.arg("crates/hapax-server/tests/browser.mjs").arg(&server.address);
    command.env("HAPAX_NODE_MODULES", modules.join("node_modules/"));
    let succeeded = run_watched(&mut command, |line| tally.add(Tally::of_plain(line)))?;
    if !succeeded && tally.failed == 0 || tally.passed == 0 {
        bail!("the browser test did not finish");
    }
    Ok(tally)
}

/// Tests the API against its description.
pub(crate) fn api(workspace: &Workspace) -> Result<Tally> {
    let server = Server::start(workspace, Serving::Repository)?;
    // An endless stream never completes; a Rust test covers it.
    let most = ["--exclude-path", "/v1/events/stream", "--exclude-path", "/v1/fetch"];
    run(&mut schemathesis(workspace, &server, &most, "positive_data_acceptance"))?;
    // The status 502 for an unreachable address is correct.
    let fetch = ["--include-path", "/v1/fetch"];
    let unfit = "positive_data_acceptance,not_a_server_error";
    run(&mut schemathesis(workspace, &server, &fetch, unfit))?;
    Ok(Tally { passed: 2, failed: 0 })
}

fn schemathesis(
    workspace: &Workspace,
    server: &Server,
    paths: &[&str],
    unfit: &str,
) -> std::process::Command {
    let mut command = workspace.command("schemathesis");
    // It writes files to its working directory.
    command.current_dir(workspace.binaries());
    // Serializes lines of JSON.
    let hooks = workspace.root().join("crates/hapax-server/tests/schemathesis_hooks.py");
    command.env("SCHEMATHESIS_HOOKS", hooks);
    command.arg("run").arg(format!("{}/openapi.json", server.address)).args(paths);
    command.args([
        "--phases",
        "examples,coverage,fuzzing",
        "--max-examples",
        "40",
        "--checks",
        "all",
    ]);
    // A schema cannot express which page is known, or which of several contents was meant.
    let unfit = format!("{unfit},negative_data_rejection");
    command.args(["--exclude-checks", &unfit, "--generation-deterministic", "--no-color"]);
    // A client may wait for events for up to a minute.
    command.args(["--max-response-time", "90", "--request-timeout", "90"]);
    command
}
