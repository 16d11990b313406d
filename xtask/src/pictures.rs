//! The pictures of the documentation that show the program: made by it, never by hand.
//!
//! `report.png` is the top of the report that `hapax dedup examples/docs` writes, as Chromium shows
//! it; `report.json` is the summary of the same run. An example of `CONTRIBUTING.md` compares that
//! with a run of the present program, so a picture with other numbers is noticed.
//!
//! It does not make the service's page and the report of `query-dedup`, which need data or a hand.

use anyhow::{Context, Result};

use crate::needs::{self, Need};
use crate::workspace::{Workspace, run};

const PICTURE: &str = "docs/images/report.png";
const SUMMARY: &str = "docs/images/report.json";
const SIZE: &str = "--window-size=1100,1180";

pub(crate) fn pictures(workspace: &Workspace) -> Result<()> {
    needs::provide(workspace, &[Need::parse("debian:chromium")?])?;
    run(&mut workspace.cargo(["build", "--release", "--bin", "hapax"]))?;
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out");
    let mut job = workspace.command(workspace.binaries().join("hapax"));
    run(job.args(["dedup", "examples/docs", "--quiet", "--out"]).arg(&out))?;
    std::fs::copy(out.join("summary.json"), workspace.root().join(SUMMARY))
        .with_context(|| format!("cannot write {SUMMARY}"))?;
    let mut browser = workspace.command("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", SIZE]);
    browser.arg(format!("--screenshot={}", workspace.root().join(PICTURE).display()));
    run(browser.arg(format!("file://{}", out.join("report.html").display())))
}
