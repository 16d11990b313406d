//! Connections to a database, and the name under which one is remembered.
//!
//! Connections are not encrypted. So they go to this machine, by a socket or the loopback, unless the
//! caller says `sslmode=disable`; a caller who asks for encryption is refused, never served without.

use std::net::IpAddr;

use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};

use super::error::Error;

/// Before the connection in a name, to tell it from a folder.
const NAMED: &str = "postgresql ";

pub(super) fn connect(connection: &str) -> Result<Client, Error> {
    checked(connection)?.connect(NoTls).map_err(Error::Connect)
}

fn checked(connection: &str) -> Result<Config, Error> {
    let config: Config = connection.parse().map_err(Error::Connect)?;
    match config.get_ssl_mode() {
        SslMode::Disable => Ok(config),
        SslMode::Prefer => match far_host(&config) {
            None => Ok(config),
            Some(host) => Err(Error::Unencrypted { host }),
        },
        _ => Err(Error::Encryption),
    }
}

/// A host that is not this machine.
fn far_host(config: &Config) -> Option<String> {
    let far = |address: &IpAddr| !address.is_loopback();
    if !config.get_hostaddrs().is_empty() {
        return config.get_hostaddrs().iter().find(|it| far(it)).map(ToString::to_string);
    }
    config.get_hosts().iter().find_map(|host| match host {
        Host::Tcp(name) if name == "localhost" => None,
        Host::Tcp(name) => name.parse().map_or(true, |it| far(&it)).then(|| name.clone()),
        #[cfg(unix)]
        Host::Unix(_) => None,
    })
}

/// How a connection is remembered: where the database is and who asks, without the password.
///
/// # Errors
///
/// It is not a connection.
pub fn name_of(connection: &str) -> Result<String, Error> {
    let config: Config = connection.parse().map_err(Error::Connect)?;
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
    let disabled = matches!(config.get_ssl_mode(), SslMode::Disable).then_some("disable");
    let parts = [
        ("host", hosts.join(",")),
        ("hostaddr", addresses.join(",")),
        ("port", ports.join(",")),
        ("user", config.get_user().unwrap_or_default().to_owned()),
        ("dbname", config.get_dbname().unwrap_or_default().to_owned()),
        ("sslmode", disabled.unwrap_or_default().to_owned()),
    ];
    let stated = parts.iter().filter(|(_, value)| !value.is_empty());
    let written: Vec<String> =
        stated.map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    Ok(format!("{NAMED}{}", written.join(" ")))
}

/// The connection in a name that [`name_of`] gave; `None` for a folder.
pub fn named(name: &str) -> Option<&str> {
    name.strip_prefix(NAMED)
}

/// A value as connections are written.
fn quoted(value: &str) -> String {
    if value.contains([' ', '\'', '\\']) {
        return format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_without_encryption_stays_on_this_machine_unless_allowed() {
        for near in [
            "host=/run/postgresql dbname=web",
            "host=localhost",
            "postgresql://me@127.0.0.1/web",
            "host=::1",
            "host=db.example hostaddr=127.0.0.1",
            "host=db.example sslmode=disable",
        ] {
            assert!(checked(near).is_ok(), "{near}");
        }
        for far in
            ["host=db.example", "host=localhost,192.0.2.1", "host=localhost hostaddr=192.0.2.1"]
        {
            let error = checked(far).unwrap_err();
            assert!(matches!(error, Error::Unencrypted { .. }), "{far}: {error}");
        }
        let error = checked("host=localhost sslmode=require").unwrap_err();
        assert!(matches!(error, Error::Encryption), "{error}");
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
}
