//! Settings of the service from four layers: the embedded default with documentation, a file, the environment,
//! flags.
//!
//! Unknown names are errors, so that typos are not ignored. Token files are read when the service starts.
//! Guarantees that no error and no `Debug` output shows a token. Does not find the file or parse flags: the
//! caller passes the layers.

use hapax_client::client::TOKEN_VARIABLE;
use serde::Deserialize;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;
use toml::{Table, Value};

pub const DEFAULT: &str = include_str!("default.toml");
/// Prefix of environment variables.
pub const PREFIX: &str = "HAPAX_";

/// Variables of clients, which are not settings of the service.
const CLIENT_VARIABLES: [&str; 2] = [TOKEN_VARIABLE, "HAPAX_REMOTE_TIMEOUT"];

/// All settings; `default.toml` documents them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Config {
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    pub hosts: Vec<String>,
    #[serde(deserialize_with = "memory")]
    pub memory: Option<u64>,
    pub limits: Limits,
    pub tokens: Tokens,
    pub cors: Cors,
    pub texts: Texts,
    pub fetch: Fetch,
    pub search: Search,
    pub log: Log,
}

/// Limits on sizes, times and rates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Limits {
    pub body_bytes: usize,
    pub held_bytes: usize,
    pub requests: usize,
    pub client_share: f64,
    pub connections: usize,
    pub rate: f64,
    pub burst: u32,
    pub request_seconds: u64,
    pub idle_seconds: u64,
    pub rows: usize,
    pub cache_bytes: usize,
}

impl Limits {
    /// Maximum duration of a request.
    pub const fn request_time(&self) -> Duration {
        Duration::from_secs(self.request_seconds)
    }

    /// Maximum silence of a client.
    pub const fn idle_time(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Tokens {
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub read_files: Vec<String>,
    pub write_files: Vec<String>,
}

/// Minimum length of a token that is hard to guess.
const SHORTEST_TOKEN: usize = 16;

impl Tokens {
    /// The tokens for reading and those for writing, including those in files. A file has one token
    /// per line; blank lines and lines that begin with # are skipped.
    ///
    /// # Errors
    ///
    /// A file is unreadable or empty, or a token is easy to guess.
    pub fn gathered(&self) -> Result<(Vec<String>, Vec<String>), ConfigError> {
        let all = |given: &[String], files: &[String]| {
            let mut all = given.to_vec();
            for file in files {
                all.extend(tokens_in(file)?);
            }
            Ok(all)
        };
        Ok((all(&self.read, &self.read_files)?, all(&self.write, &self.write_files)?))
    }
}

impl std::fmt::Debug for Tokens {
    /// Shows the number of tokens, and the files.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("read", &self.read.len())
            .field("write", &self.write.len())
            .field("read_files", &self.read_files)
            .field("write_files", &self.write_files)
            .finish()
    }
}

fn tokens_in(file: &str) -> Result<Vec<String>, ConfigError> {
    let error = |what: String| ConfigError { place: file.to_owned(), what };
    let text = std::fs::read_to_string(file)
        .map_err(|cause| error(format!("the tokens cannot be read: {cause}")))?;
    if is_for_everybody(file) {
        tracing::warn!("every user of this machine can read the tokens in {file}");
    }
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    match tokens.iter().any(|token| token.len() < SHORTEST_TOKEN) {
        _ if tokens.is_empty() => Err(error("it holds no token".into())),
        true => Err(error(too_short())),
        false => Ok(tokens),
    }
}

#[cfg(unix)]
fn is_for_everybody(file: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_for_everybody(_: &str) -> bool {
    false
}

fn too_short() -> String {
    format!("a token needs at least {SHORTEST_TOKEN} characters to be hard to guess")
}

/// Other web origins that may call the API.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Cors {
    pub origins: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Texts {
    pub max_bytes: u64,
}

/// What may be fetched, and at which rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Fetch {
    pub enabled: bool,
    pub allow: Vec<String>,
    pub ports: Vec<u16>,
    pub redirects: u32,
    pub seconds: u64,
    pub body_bytes: u64,
    pub delay_seconds: f64,
    pub robots: bool,
    pub agent: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Search {
    pub index: String,
    pub policy: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every field")]
pub struct Log {
    pub level: String,
    pub format: LogFormat,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    /// One object per line.
    Json,
}

/// Parses a listen address: an IP address or a name, and a port.
///
/// # Errors
///
/// The text is malformed, or the name does not resolve.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let examples = "such as 127.0.0.1:8017, [::1]:8017, localhost:0 or 0.0.0.0:80";
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| format!("`{text}` is not an address and port, {examples} ({error})"))?;
    found.next().ok_or_else(|| format!("the name in `{text}` has no address; give one {examples}"))
}

/// Minimum memory that can be divided among the parts.
const LEAST_MEMORY: u64 = 256_000_000;

/// Parses bytes as a number, optionally with KB, MB, GB or TB; `None` if empty.
fn memory<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => Some(1.0),
        "KB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "TB" => Some(1e12),
        _ => None,
    };
    let bytes =
        number.parse::<f64>().ok().zip(factor).map(|(number, factor)| (number * factor) as u64);
    let wrong =
        || serde::de::Error::custom(format!("`memory` is a size such as \"2GB\", not \"{text}\""));
    match bytes.ok_or_else(wrong)? {
        bytes if bytes < LEAST_MEMORY => Err(serde::de::Error::custom(format!(
            "`memory` must be at least {} MB, not \"{text}\"",
            LEAST_MEMORY / 1_000_000
        ))),
        bytes => Ok(Some(bytes)),
    }
}

fn listen<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    listen_address(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// Settings are unusable. The message names the place and the setting.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ConfigError {
    /// The file, variable or flag.
    pub place: String,
    pub what: String,
}

/// Settings being merged, lowest priority first.
#[derive(Clone)]
pub struct Layers(Table);

impl std::fmt::Debug for Layers {
    /// Without values, because they include tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl Layers {
    /// The embedded default.
    ///
    /// # Errors
    ///
    /// Never fails; a test parses the default.
    pub fn new() -> Result<Self, ConfigError> {
        Ok(Self(parse("default settings", DEFAULT)?))
    }

    /// Overrides settings by the text of a file.
    ///
    /// # Errors
    ///
    /// It is not TOML, or has unknown settings.
    pub fn file(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        lay_over(&mut self.0, parse(name, text)?, name, "")
    }

    /// Overrides settings by environment variables. Ignores variables with other prefixes.
    ///
    /// # Errors
    ///
    /// A variable sets an unknown setting, or has an invalid value.
    pub fn environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (name, text) in variables {
            let Some(path) = name.strip_prefix(PREFIX) else { continue };
            if CLIENT_VARIABLES.contains(&&*name) {
                continue;
            }
            let path = path.to_ascii_lowercase();
            self.set(&name, &path.replace("__", "."), &text)?;
        }
        Ok(())
    }

    /// Sets one value by its dotted path, parsed with the type of the current value.
    ///
    /// # Errors
    ///
    /// The setting is unknown, or the value is invalid.
    pub fn set(&mut self, place: &str, path: &str, text: &str) -> Result<(), ConfigError> {
        let error = |what: String| ConfigError { place: place.to_owned(), what };
        let unknown = || error(format!("there is no setting `{path}`"));
        let mut table = &mut self.0;
        let (groups, name) = match path.rsplit_once('.') {
            Some((groups, name)) => (Some(groups), name),
            None => (None, path),
        };
        for group in groups.into_iter().flat_map(|groups| groups.split('.')) {
            let inner = table.get_mut(group).and_then(Value::as_table_mut);
            table = inner.ok_or_else(unknown)?;
        }
        let value = table.get_mut(name).filter(|value| !value.is_table()).ok_or_else(unknown)?;
        let kind = value.type_str();
        let wrong = || error(format!("`{text}` is not a valid {kind} for `{path}`"));
        *value = read_like(value, text).ok_or_else(wrong)?;
        Ok(())
    }

    /// The merged settings.
    ///
    /// # Errors
    ///
    /// A value has the wrong type or is out of range.
    pub fn finish(self) -> Result<Config, ConfigError> {
        let error = |what: String| ConfigError { place: "settings".into(), what };
        let mut config: Config =
            self.0.try_into().map_err(|e: toml::de::Error| error(e.message().to_owned()))?;
        if let Some(memory) = config.memory {
            let part = |share: u64| usize::try_from(memory / share).unwrap_or(usize::MAX);
            config.limits.cache_bytes = part(2);
            config.limits.held_bytes = part(16);
        }
        if !(0.0..=1.0).contains(&config.limits.client_share) {
            return Err(error("`limits.client_share` must be between 0 and 1".into()));
        }
        let Limits { body_bytes, requests, connections, rows, request_seconds, .. } = config.limits;
        let positive = [
            ("limits.body_bytes", body_bytes as u64),
            ("limits.requests", requests as u64),
            ("limits.connections", connections as u64),
            ("limits.rows", rows as u64),
            ("limits.request_seconds", request_seconds),
            ("limits.idle_seconds", config.limits.idle_seconds),
        ];
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(error(format!("`{name}` must be at least 1"))),
            None => {
                let mut tokens = config.tokens.read.iter().chain(&config.tokens.write);
                match tokens.any(|token| token.len() < SHORTEST_TOKEN) {
                    true => Err(error(too_short())),
                    false => Ok(config),
                }
            }
        }
    }
}

fn parse(name: &str, text: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>().map_err(|error| {
        // The library's message quotes the line, which may contain a token.
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        let what = format!("line {line}: {}", error.message());
        ConfigError { place: name.to_owned(), what }
    })
}

/// Sets known settings only.
fn lay_over(base: &mut Table, over: Table, place: &str, path: &str) -> Result<(), ConfigError> {
    for (key, value) in over {
        let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => {
                lay_over(below, above, place, &name)?;
            }
            (Some(below), above) if !below.is_table() => {
                if !is_like(below, &above) {
                    // Without the value, which may be a token.
                    let wanted = match below {
                        Value::Array(items) if of_numbers(items) => "list of whole numbers",
                        Value::Array(_) => "list of strings",
                        other => other.type_str(),
                    };
                    let what = format!("`{name}` must be a {wanted}");
                    return Err(ConfigError { place: place.to_owned(), what });
                }
                *below = above;
            }
            (Some(_) | None, _) => {
                let what = format!("there is no setting `{name}`");
                return Err(ConfigError { place: place.to_owned(), what });
            }
        }
    }
    Ok(())
}

/// Whether this is a list of integers; other lists are of strings.
fn of_numbers(items: &[Value]) -> bool {
    items.first().is_some_and(Value::is_integer)
}

/// Whether the types fit; an integer is a valid number.
fn is_like(present: &Value, given: &Value) -> bool {
    match (present, given) {
        (Value::Float(_), Value::Integer(_)) => true,
        (Value::Array(present), Value::Array(items)) if of_numbers(present) => {
            items.iter().all(Value::is_integer)
        }
        (Value::Array(_), Value::Array(items)) => items.iter().all(Value::is_str),
        _ => present.same_type(given),
    }
}

fn read_like(present: &Value, text: &str) -> Option<Value> {
    Some(match present {
        Value::String(_) => Value::String(text.to_owned()),
        Value::Integer(_) => Value::Integer(text.replace('_', "").parse().ok()?),
        Value::Float(_) => Value::Float(text.parse().ok()?),
        Value::Boolean(_) => Value::Boolean(text.parse().ok()?),
        Value::Array(present) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            let value = |item: &str| match of_numbers(present) {
                true => item.parse().ok().map(Value::Integer),
                false => Some(Value::String(item.to_owned())),
            };
            Value::Array(items.map(value).collect::<Option<_>>()?)
        }
        Value::Datetime(_) | Value::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn each_layer_wins_over_the_one_before_and_leaves_the_rest() {
        let mut layers = Layers::new().unwrap();
        layers.file("a.toml", "[limits]\nrows = 7\nrequests = 8").unwrap();
        let set = [("HAPAX_LIMITS__REQUESTS", "9"), ("PATH", "/bin")];
        layers.environment(variables(&set)).unwrap();
        layers.set("--listen", "listen", "127.0.0.1:0").unwrap();
        let config = layers.finish().unwrap();
        assert_eq!((config.limits.rows, config.limits.requests), (7, 9));
        assert_eq!(config.listen.port(), 0);
        assert_eq!(config.limits.connections, 1024);
    }

    #[test]
    fn one_number_divides_the_memory() {
        let with = |memory: &str| {
            let mut layers = Layers::new().unwrap();
            layers.set("HAPAX_MEMORY", "memory", memory).unwrap();
            layers.finish().map(|config| (config.limits.cache_bytes, config.limits.held_bytes))
        };
        assert_eq!(with("2GB").unwrap(), (1_000_000_000, 125_000_000));
        assert_eq!(with("1.6 gb").unwrap(), (800_000_000, 100_000_000));
        assert_eq!(with("").unwrap(), (1_000_000_000, 128_000_000));
        for (wrong, why) in [("much", "such as"), ("2GiB", "such as"), ("1MB", "at least 256 MB")] {
            let error = with(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn lists_in_the_environment_are_separated_by_commas() {
        let mut layers = Layers::new().unwrap();
        let set = [("HAPAX_TOKENS__WRITE", "0123456789abcdef, fedcba9876543210")];
        layers.environment(variables(&set)).unwrap();
        let config = layers.finish().unwrap();
        assert_eq!(config.tokens.write, ["0123456789abcdef", "fedcba9876543210"]);
        let mut layers = Layers::new().unwrap();
        layers.environment(variables(&[("HAPAX_FETCH__PORTS", "80, 8000")])).unwrap();
        assert_eq!(layers.finish().unwrap().fetch.ports, [80, 8000]);
        assert!(
            Layers::new().unwrap().environment(variables(&[("HAPAX_FETCH__PORTS", "a")])).is_err()
        );
    }

    #[test]
    fn unknown_settings_are_refused_with_their_place() {
        let mut layers = Layers::new().unwrap();
        let wrong = layers.file("a.toml", "[limits]\nrow = 7").unwrap_err().to_string();
        assert_eq!(wrong, "a.toml: there is no setting `limits.row`");
        let set = variables(&[("HAPAX_LIMITS__ROWS", "many")]);
        let wrong = layers.environment(set).unwrap_err().to_string();
        assert_eq!(wrong, "HAPAX_LIMITS__ROWS: `many` is not a valid integer for `limits.rows`");
        layers.set("--x", "limits.rows", "0").unwrap();
        assert!(layers.finish().unwrap_err().to_string().contains("at least 1"));
    }

    #[test]
    fn tokens_are_read_from_files_and_an_empty_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name).display().to_string()
        };
        let good = file("good", "# ours\n\n0123456789abcdef\n fedcba9876543210 \r\n");
        let mut layers = Layers::new().unwrap();
        layers.environment(variables(&[("HAPAX_TOKENS__WRITE_FILES", &good)])).unwrap();
        let (read, write) = layers.finish().unwrap().tokens.gathered().unwrap();
        assert_eq!(
            (read.len(), write),
            (0, vec!["0123456789abcdef".into(), "fedcba9876543210".into()])
        );
        for (name, text, why) in
            [("empty", "# none\n", "no token"), ("short", "secret", "16 characters")]
        {
            let read_files = vec![file(name, text)];
            let error = Tokens { read_files, ..Tokens::default() }.gathered().unwrap_err();
            assert!(error.to_string().contains(why) && !error.to_string().contains("secret"));
        }
        let write_files = vec![folder.path().join("missing").display().to_string()];
        assert!(Tokens { write_files, ..Tokens::default() }.gathered().is_err());
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused() {
        let mut layers = Layers::new().unwrap();
        layers.file("a.toml", "[tokens]\nread = ['secret']").unwrap();
        assert!(layers.finish().unwrap_err().to_string().contains("16 characters"));
    }
}
