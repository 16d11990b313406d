//! The service in its own process, which can be queried, measured and killed.

use crate::pages;
use anyhow::{Context, Result};
use hapax_server::{Layers, Service};
use hapax_store::Repository;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The main function of the child process.
pub(crate) fn serve(store: &Path) -> Result<()> {
    hapax_server::pools::start_again();
    let by = pages::fingerprinter()?;
    let mut layers = Layers::new()?;
    layers.set("benchmark", "listen", "127.0.0.1:0")?;
    layers.environment(std::env::vars())?;
    let config = layers.finish()?;
    let cache = config.limits.cache_bytes;
    let repository = Repository::open_cached(store, Some(by.recipe_id()), cache)?;
    let service = Service::new(repository, by, config)?;
    hapax_server::run(service, |address| println!("{address}"))?;
    Ok(())
}

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the service with settings in environment variables.
    pub(crate) fn start(store: &Path, settings: &[(&str, String)]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("server").arg(store).stdout(Stdio::piped());
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().context("cannot start the server")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().parse().context("the server did not say where it listens")?;
        Ok(Self { child, address })
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
