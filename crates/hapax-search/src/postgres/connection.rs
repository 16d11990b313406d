//! Connections to a database, their encryption, and the name under which one is stored.
//!
//! `sslmode` has the meaning of libpq. Without it, a connection to another machine uses `verify-full` and one
//! to this machine `prefer`, so nothing leaves a machine unencrypted, or to an unknown server, unless the
//! caller says so. Sockets are never encrypted.
//!
//! No error repeats a password. A missing password is taken from `PGPASSWORD`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use super::certificates::{self, Check, Identity, Roots};
use super::encrypted::{Disagreement, Encryption};
use super::error::Error;
use super::options::Parts;

/// Prefix that distinguishes a connection from a folder.
const NAMED: &str = "postgresql ";

pub(super) fn connect(connection: &str) -> Result<Client, Error> {
    let Plan { mut config, mode, check, identity } = Plan::of(connection)?;
    if config.get_password().is_none()
        && let Ok(password) = std::env::var("PGPASSWORD")
    {
        config.password(password);
    }
    let plain = |error: postgres::Error| match error.as_db_error() {
        Some(refused)
            if *refused.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                && refused.message().contains("no encryption") =>
        {
            Error::Wanted(error)
        }
        _ => Error::Connect(error),
    };
    if mode == Mode::Disable {
        return config.connect(NoTls).map_err(plain);
    }
    let encryption = Encryption(Arc::new(certificates::client(&check, identity.as_ref())?));
    config.connect(encryption).map_err(|error| match disagreement(&error) {
        Some(refused) => refused,
        None if not_offered(&error) => Error::NotOffered,
        None => Error::Connect(error),
    })
}

/// The refused certificate, if that is the cause.
fn disagreement(error: &postgres::Error) -> Option<Error> {
    let Disagreement { host, source } = std::error::Error::source(error)?.downcast_ref()?;
    let refused = source.get_ref()?.downcast_ref()?;
    let reason = certificates::reason(refused)?;
    Some(Error::Certificate { host: host.clone(), reason })
}

/// The client library has no error kind for this.
fn not_offered(error: &postgres::Error) -> bool {
    let text = std::error::Error::source(error).map(ToString::to_string);
    text.is_some_and(|text| text.contains("server does not support TLS"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

struct Plan {
    config: Config,
    mode: Mode,
    check: Check,
    identity: Option<Identity>,
}

impl Plan {
    fn of(connection: &str) -> Result<Self, Error> {
        let parts = Parts::of(connection)?;
        let mut config: Config = parts.rest.parse().map_err(Error::Connect)?;
        let refused = |name, what: &str| Err(Error::Option { name, what: what.to_owned() });
        let roots = parts.get("sslrootcert").map(|value| match value {
            "system" => Roots::System,
            file => Roots::File(PathBuf::from(file)),
        });
        let stated = match parts.get("sslmode") {
            None => None,
            Some("disable") => Some(Mode::Disable),
            Some("prefer") => Some(Mode::Prefer),
            Some("require") => Some(Mode::Require),
            Some("verify-ca") => Some(Mode::VerifyCa),
            Some("verify-full") => Some(Mode::VerifyFull),
            Some(_) => {
                let what = "is none of disable, prefer, require, verify-ca and verify-full";
                return refused("sslmode", what);
            }
        };
        let near = roots.is_none() && is_near(&config);
        let mut mode = stated.unwrap_or(if near { Mode::Prefer } else { Mode::VerifyFull });
        let check = match (mode, roots) {
            (Mode::Disable | Mode::Prefer, Some(_)) => {
                return refused("sslrootcert", "checks nothing without `sslmode=verify-full`");
            }
            (Mode::Require | Mode::VerifyCa, Some(Roots::System)) => {
                return refused(
                    "sslrootcert=system",
                    "needs `sslmode=verify-full`: anybody can have \
                    a certificate that some root of the system has signed",
                );
            }
            (Mode::Disable | Mode::Prefer | Mode::Require, None) => Check::Nothing,
            (Mode::Require | Mode::VerifyCa, Some(roots)) => Check::Chain(roots),
            (Mode::VerifyCa, None) => {
                return refused("sslmode=verify-ca", "needs `sslrootcert=FILE`");
            }
            (Mode::VerifyFull, roots) => Check::ChainAndName(roots.unwrap_or(Roots::System)),
        };
        let identity = match (parts.get("sslcert"), parts.get("sslkey")) {
            (None, None) => None,
            (Some(_), Some(_)) if mode == Mode::Disable => {
                return refused("sslcert", "is shown to nobody with `sslmode=disable`");
            }
            (Some(certificate), Some(key)) => {
                Some(Identity { certificate: certificate.into(), key: key.into() })
            }
            (None, Some(_)) => return refused("sslkey", "needs `sslcert=FILE` beside it"),
            (Some(_), None) => return refused("sslcert", "needs `sslkey=FILE` beside it"),
        };
        if !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_socket) {
            mode = Mode::Disable;
        }
        config.ssl_mode(match mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        // The library needs a name to verify certificates, and has none if only addresses are
        // given.
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(&address.to_string());
            }
        }
        Ok(Self { config, mode, check, identity })
    }
}

fn is_socket(host: &Host) -> bool {
    !matches!(host, Host::Tcp(_))
}

/// Whether all its hosts are this machine.
fn is_near(config: &Config) -> bool {
    if !config.get_hostaddrs().is_empty() {
        return config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    }
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|it: IpAddr| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// The stored form of a connection: database, user and encryption, without the password.
///
/// # Errors
///
/// It is not a connection.
pub fn name_of(connection: &str) -> Result<String, Error> {
    let stated = Parts::of(connection)?;
    let config: Config = stated.rest.parse().map_err(Error::Connect)?;
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(folder) => folder.to_string_lossy().into_owned(),
        })
        .collect();
    let addresses: Vec<String> = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    let ports: Vec<String> = config.get_ports().iter().map(ToString::to_string).collect();
    let option = |name| stated.get(name).unwrap_or_default().to_owned();
    // Absolute, because the name may be used from another folder.
    let file = |name| match stated.get(name) {
        None => String::new(),
        Some("system") => "system".to_owned(),
        Some(file) => std::path::absolute(file)
            .map_or_else(|_| file.to_owned(), |full| full.to_string_lossy().into_owned()),
    };
    let parts = [
        ("host", hosts.join(",")),
        ("hostaddr", addresses.join(",")),
        ("port", ports.join(",")),
        ("user", config.get_user().unwrap_or_default().to_owned()),
        ("dbname", config.get_dbname().unwrap_or_default().to_owned()),
        ("sslmode", option("sslmode")),
        ("sslrootcert", file("sslrootcert")),
        ("sslcert", file("sslcert")),
        ("sslkey", file("sslkey")),
    ];
    let stated = parts.iter().filter(|(_, value)| !value.is_empty());
    let written: Vec<String> =
        stated.map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    Ok(format!("{NAMED}{}", written.join(" ")))
}

/// The connection in a name made by [`name_of`]; `None` for a folder.
pub fn named(name: &str) -> Option<&str> {
    name.strip_prefix(NAMED)
}

/// Quotes a value of a connection.
fn quoted(value: &str) -> String {
    if value.contains([' ', '\'', '\\']) {
        return format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(connection: &str) -> (Mode, Check) {
        let Plan { mode, check, .. } = Plan::of(connection).unwrap();
        (mode, check)
    }

    fn file() -> Roots {
        Roots::File("ca.pem".into())
    }

    #[test]
    fn connections_to_other_machines_are_encrypted_and_verified_by_default() {
        for far in [
            "host=db.example",
            "postgresql://me:secret@db.example/web",
            "host=localhost,192.0.2.1",
            "host=localhost hostaddr=192.0.2.1",
            "hostaddr=192.0.2.1",
            "host=localhost sslrootcert=system",
        ] {
            assert_eq!(plan(far), (Mode::VerifyFull, Check::ChainAndName(Roots::System)), "{far}");
        }
        for near in [
            "host=localhost",
            "postgresql://me@127.0.0.1/web",
            "host=::1",
            "hostaddr=::1",
            "host=db.example hostaddr=127.0.0.1",
        ] {
            assert_eq!(plan(near), (Mode::Prefer, Check::Nothing), "{near}");
        }
        for socket in ["host=/run/postgresql dbname=web", "host=/tmp sslmode=verify-full"] {
            assert_eq!(plan(socket).0, Mode::Disable, "{socket}");
        }
    }

    #[test]
    fn modes_mean_what_they_mean_to_libpq() {
        for (connection, wanted) in [
            ("sslmode=disable", (Mode::Disable, Check::Nothing)),
            ("sslmode=prefer", (Mode::Prefer, Check::Nothing)),
            ("sslmode=require", (Mode::Require, Check::Nothing)),
            ("sslmode=require sslrootcert=ca.pem", (Mode::Require, Check::Chain(file()))),
            ("sslmode=verify-ca sslrootcert=ca.pem", (Mode::VerifyCa, Check::Chain(file()))),
            (
                "sslmode=verify-full sslrootcert=ca.pem",
                (Mode::VerifyFull, Check::ChainAndName(file())),
            ),
            ("sslrootcert=ca.pem", (Mode::VerifyFull, Check::ChainAndName(file()))),
        ] {
            let connection = format!("host=db.example {connection}");
            assert_eq!(plan(&connection), wanted, "{connection}");
            let Plan { config, mode, .. } = Plan::of(&connection).unwrap();
            let plain = matches!(config.get_ssl_mode(), SslMode::Disable);
            assert_eq!(plain, mode == Mode::Disable, "{connection}");
        }
    }

    #[test]
    fn options_without_effect_are_refused() {
        for (options, named) in [
            ("sslmode=allow", "sslmode"),
            ("sslmode=verify-ca", "sslrootcert=FILE"),
            ("sslmode=prefer sslrootcert=ca.pem", "sslmode=verify-full"),
            ("sslmode=disable sslrootcert=ca.pem", "sslmode=verify-full"),
            ("sslmode=verify-ca sslrootcert=system", "sslmode=verify-full"),
            ("sslcert=me.pem", "sslkey=FILE"),
            ("sslkey=me.key", "sslcert=FILE"),
            ("sslmode=disable sslcert=me.pem sslkey=me.key", "sslmode=disable"),
        ] {
            let connection = format!("host=db.example password=secret {options}");
            let Err(error) = Plan::of(&connection) else { panic!("{options} is taken") };
            let text = error.to_string();
            assert!(text.contains(named) && !text.contains("secret"), "{options}: {text}");
        }
    }

    #[test]
    fn a_name_leads_back_to_the_database_and_holds_no_password() {
        let given = "host=/run/my\\ db port=5433 user='it''s me' password=secret dbname=web";
        let given = given.replace("''", "\\'");
        let name = name_of(&given).unwrap();
        assert!(!name.contains("secret"), "{name}");
        let connection = named(&name).unwrap();
        let (before, after): (Config, Config) =
            (given.parse().unwrap(), connection.parse().unwrap());
        assert_eq!(before.get_hosts(), after.get_hosts());
        assert_eq!(before.get_ports(), after.get_ports());
        assert_eq!(before.get_user(), after.get_user());
        assert_eq!(before.get_dbname(), after.get_dbname());
        assert_eq!(name_of(connection).unwrap(), name);
        assert_eq!(named("/srv/index"), None);
    }

    #[test]
    fn a_name_remembers_how_the_connection_is_encrypted() {
        let given = "postgres://me:secret@db.example/web?sslmode=require&sslrootcert=my%20ca.pem";
        let name = name_of(given).unwrap();
        let connection = named(&name).unwrap();
        let full = std::path::absolute("my ca.pem").unwrap();
        assert_eq!(plan(connection), (Mode::Require, Check::Chain(Roots::File(full))));
        assert_eq!(name_of(connection).unwrap(), name);
        assert!(!name.contains("secret"), "{name}");
    }
}
