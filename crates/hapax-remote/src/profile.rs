//! Keys, region and endpoint from the profile files of AWS, which `object_store` does not read.
//!
//! Used if the environment has no key and names no other source of one. Refuses profiles that assume roles, sign in
//! through a browser or start a program.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, io};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

use crate::cloud::credentials;
use crate::parse::{Cloud, invalid};

/// Variables that name a source of keys.
const DECIDED: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

/// Adds settings of the profile that the environment does not have.
pub(crate) fn apply(mut builder: AmazonS3Builder) -> io::Result<AmazonS3Builder> {
    let named = env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
    let name = named.as_deref().unwrap_or("default");
    let read = |variable: &str, file: &str| {
        let path = env::var_os(variable).map(PathBuf::from).or_else(|| {
            let home = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"))?;
            Some(PathBuf::from(home).join(".aws").join(file))
        });
        path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    };
    let mut found =
        section(&read("AWS_CONFIG_FILE", "config"), &[&format!("profile {name}"), name]);
    found.extend(section(&read("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &[name]));
    if !DECIDED.iter().any(|variable| env::var_os(variable).is_some()) {
        let keys = ["aws_access_key_id", "aws_secret_access_key"].map(|it| found.contains_key(it));
        if keys != [true, true] && (named.is_some() || keys != [false, false]) {
            return Err(invalid(format!(
                "the profile {name} of ~/.aws/credentials has no access key; profiles with roles, single sign-on or \
                 a program are not read: export the keys with `aws configure export-credentials --format env`"
            )));
        }
        if keys == [false, false] && !has_instance_role() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("there are no credentials; {}", credentials(Cloud::S3)),
            ));
        }
        let settings = [
            ("aws_access_key_id", Key::AccessKeyId),
            ("aws_secret_access_key", Key::SecretAccessKey),
            ("aws_session_token", Key::Token),
        ];
        for (name, key) in settings {
            if let Some(value) = found.get(name) {
                builder = builder.with_config(key, value);
            }
        }
    }
    for (name, key) in [("region", Key::Region), ("endpoint_url", Key::Endpoint)] {
        if let Some(value) = found.get(name).filter(|_| builder.get_config_value(&key).is_none()) {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

/// Whether the cloud gives credentials to this machine. Elsewhere a request for them would take
/// minutes to fail.
fn has_instance_role() -> bool {
    let disabled =
        env::var("AWS_EC2_METADATA_DISABLED").is_ok_and(|it| it.eq_ignore_ascii_case("true"));
    let elsewhere = env::var_os("AWS_METADATA_ENDPOINT").is_some();
    let answers = || {
        let service = SocketAddr::from(([169, 254, 169, 254], 80));
        TcpStream::connect_timeout(&service, Duration::from_secs(1)).is_ok()
    };
    !disabled && (elsewhere || answers())
}

/// The settings of the first of these sections that exists.
fn section(text: &str, names: &[&str]) -> BTreeMap<String, String> {
    let mut sections: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    let mut current = "";
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            current = name.trim();
            sections.entry(current).or_default();
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().to_owned());
            sections.entry(current).or_default().insert(key, value);
        }
    }
    names.iter().find_map(|name| sections.remove(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_from_its_section() {
        let text = "# keys\n[default]\naws_access_key_id = A\n\n[ other ]\naws_access_key_id=B\n; no\nregion = eu-x\n";
        let of = |name: &str| section(text, &[name]);
        assert_eq!(of("default").get("aws_access_key_id").map(String::as_str), Some("A"));
        assert_eq!(of("other").get("region").map(String::as_str), Some("eu-x"));
        assert!(of("third").is_empty());
    }
}
