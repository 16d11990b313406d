//! Logs to standard error, as text or JSON.
//!
//! `info` reports starting, stopping and failures; `debug` adds a line per request, with the number that
//! clients get as `X-Request-Id`.

use crate::config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

/// Starts logging. Only the first call in a process has an effect.
pub fn start(log: &Log) -> Result<(), crate::ConfigError> {
    let filter = EnvFilter::try_new(&log.level).map_err(|error| crate::ConfigError {
        place: "log.level".into(),
        what: error.to_string(),
    })?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let lines = lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    // A second subscriber is refused; the first one stays.
    let _ = match log.format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
