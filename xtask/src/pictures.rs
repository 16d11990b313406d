//! Makes the documentation's screenshots with the program and Chromium.
//!
//! Each picture has its numbers in a JSON file of the same run. Examples in `CONTRIBUTING.md` compare these with runs
//! of the current program, so outdated numbers in a picture fail the tests. Times in a picture are those of the run
//! that made it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::needs::{self, Need};
use crate::service::{Server, Serving};
use crate::workspace::{Workspace, run};

const IMAGES: &str = "docs/images";
/// The query log of the guide for search engines.
const QUERIES: &str = "create index\nfull text search\nwal resource\nlocking\n";

pub(crate) fn pictures(workspace: &Workspace) -> Result<()> {
    needs::provide(workspace, &[Need::parse("debian:chromium")?])?;
    run(&mut workspace.cargo(["build", "--release", "--bin", "hapax"]))?;
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    let hapax = |arguments: &[&str]| {
        let mut command = workspace.command(workspace.binaries().join("hapax"));
        command.args(arguments);
        command
    };

    let report = place("report");
    run(hapax(&["dedup", "examples/docs", "--quiet", "--out"]).arg(&report))?;
    keep(workspace, "report.json", &std::fs::read(report.join("summary.json"))?)?;
    photograph(workspace, "report.png", "1100,1180", &file(&report.join("report.html")))?;

    let (index, log, results) = (place("index"), place("queries.txt"), place("results"));
    std::fs::write(&log, QUERIES)?;
    run(hapax(&["search", "build", "examples/docs", "--quiet", "--out"]).arg(&index))?;
    let mut replay = hapax(&["query-dedup", "--quiet", "--index"]);
    run(replay.arg(&index).arg("--log").arg(&log).arg("--out").arg(&results))?;
    keep(workspace, "query-dedup.json", &std::fs::read(results.join("summary.json"))?)?;
    photograph(workspace, "query-dedup.png", "1100,1085", &file(&results.join("report.html")))?;

    let server = Server::start(workspace, Serving::Sample)?;
    let groups = hapax(&["group", "list", "--json", "--server", &server.address]).output()?;
    anyhow::ensure!(groups.status.success(), "{}", String::from_utf8_lossy(&groups.stderr));
    keep(workspace, "service.json", &groups.stdout)?;
    photograph(workspace, "service.png", "1040,1000", &format!("{}/#/groups", server.address))
}

fn file(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn keep(workspace: &Workspace, name: &str, bytes: &[u8]) -> Result<()> {
    let path = workspace.root().join(IMAGES).join(name);
    std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// A screenshot of a page with this size, after its scripts have run.
fn photograph(workspace: &Workspace, name: &str, size: &str, address: &str) -> Result<()> {
    let mut browser: Command = workspace.command("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.arg("--virtual-time-budget=8000").arg(format!("--window-size={size}"));
    let path = workspace.root().join(IMAGES).join(name);
    browser.arg(format!("--screenshot={}", path.display()));
    run(browser.arg(address))
}
