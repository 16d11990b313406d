//! Separates the encryption options of a connection from the rest.
//!
//! The client library supports neither `sslrootcert` nor `verify-full`, so these options are extracted from the
//! connection before the library sees it, in both of its forms: `key=value` pairs and addresses. Of a repeated
//! option the last counts, as in libpq. Does not validate the rest: what cannot be split is left for the
//! library to refuse.

use std::collections::BTreeMap;
use std::ops::Range;

use url::form_urlencoded;

use super::error::Error;

/// The extracted options.
const TAKEN: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

/// Options of libpq that would be ignored, and what to do instead.
const REFUSED: [(&str, &str); 4] = [
    ("sslpassword", "decrypt the key first: `openssl pkey -in KEY -out PLAIN`"),
    ("sslcrl", "certificates are not looked up in revocation lists; leave the option out"),
    ("sslcrldir", "certificates are not looked up in revocation lists; leave the option out"),
    ("requiressl", "use `sslmode=require`"),
];

/// A connection in two parts.
pub(super) struct Parts {
    /// The connection without the extracted options.
    pub(super) rest: String,
    options: BTreeMap<&'static str, String>,
}

impl Parts {
    pub(super) fn of(connection: &str) -> Result<Self, Error> {
        let stated = if is_address(connection) { of_address } else { of_pairs }(connection);
        let mut rest = connection.to_owned();
        let mut options = BTreeMap::new();
        for option in &stated {
            let refused = REFUSED.iter().find(|(name, _)| *name == option.name);
            if let Some(&(name, help)) = refused {
                return Err(Error::Option { name, what: format!("is not supported: {help}") });
            }
            if let Some(&name) = TAKEN.iter().find(|name| **name == option.name) {
                options.insert(name, option.value.clone());
            }
        }
        for option in stated.iter().rev().filter(|it| options.contains_key(it.name.as_str())) {
            rest.replace_range(option.place.clone(), "");
        }
        Ok(Self { rest, options })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }
}

/// An option and its byte range, including the separator after it.
struct Stated {
    name: String,
    value: String,
    place: Range<usize>,
}

fn is_address(connection: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| connection.starts_with(scheme))
}

/// Options follow the question mark, and that follows the password.
fn of_address(connection: &str) -> Vec<Stated> {
    let host = connection.find('@').unwrap_or(0);
    let Some(mark) = connection[host..].find('?') else { return Vec::new() };
    let mut at = host + mark + 1;
    let mut found = Vec::new();
    for text in connection[at..].split_inclusive('&') {
        let place = at..at + text.len();
        at = place.end;
        // A plus is literal here, unlike in a form.
        let pair = text.trim_end_matches('&').replace('+', "%2B");
        if let Some((name, value)) = form_urlencoded::parse(pair.as_bytes()).next() {
            found.push(Stated { name: name.into_owned(), value: value.into_owned(), place });
        }
    }
    found
}

/// `key = value` pairs; a value may be quoted, and a backslash escapes the next character.
fn of_pairs(connection: &str) -> Vec<Stated> {
    let mut found = Vec::new();
    let mut signs = connection.char_indices().peekable();
    loop {
        while signs.next_if(|(_, sign)| sign.is_whitespace()).is_some() {}
        let Some(&(start, _)) = signs.peek() else { return found };
        let mut name = String::new();
        while let Some((_, sign)) = signs.next_if(|(_, it)| *it != '=' && !it.is_whitespace()) {
            name.push(sign);
        }
        while signs.next_if(|(_, sign)| sign.is_whitespace()).is_some() {}
        if signs.next_if(|(_, sign)| *sign == '=').is_none() {
            return found;
        }
        while signs.next_if(|(_, sign)| sign.is_whitespace()).is_some() {}
        let quoted = signs.next_if(|(_, sign)| *sign == '\'').is_some();
        let ends = |sign: char| if quoted { sign == '\'' } else { sign.is_whitespace() };
        let mut value = String::new();
        while let Some((_, sign)) = signs.next_if(|(_, sign)| !ends(*sign)) {
            let taken = if sign == '\\' { signs.next().map(|(_, next)| next) } else { Some(sign) };
            value.extend(taken);
        }
        if quoted && signs.next().is_none() {
            return found;
        }
        let end = signs.peek().map_or(connection.len(), |&(end, _)| end);
        found.push(Stated { name, value, place: start..end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postgres::Config;
    use proptest::prelude::*;

    #[test]
    fn options_of_encryption_are_taken_out_of_pairs() {
        let given = r"host=db.example sslmode = verify-full sslrootcert='/my certs/it\'s.pem' user=me sslkey=a\ b";
        let parts = Parts::of(given).unwrap();
        assert_eq!(parts.get("sslmode"), Some("verify-full"));
        assert_eq!(parts.get("sslrootcert"), Some("/my certs/it's.pem"));
        assert_eq!(parts.get("sslkey"), Some("a b"));
        assert_eq!(parts.get("sslcert"), None);
        assert_eq!(
            parts.rest.split_whitespace().collect::<Vec<_>>(),
            ["host=db.example", "user=me"]
        );
        let twice = Parts::of("sslmode=disable host=a sslmode=require").unwrap();
        assert_eq!((twice.get("sslmode"), twice.rest.trim()), (Some("require"), "host=a"));
    }

    #[test]
    fn options_of_encryption_are_taken_out_of_addresses() {
        let given = "postgresql://me:a?b%40@db.example:5433/web?sslmode=require&application_name=x&sslrootcert=%2Fa+b";
        let parts = Parts::of(given).unwrap();
        assert_eq!(parts.get("sslmode"), Some("require"));
        assert_eq!(parts.get("sslrootcert"), Some("/a+b"));
        assert_eq!(parts.rest, "postgresql://me:a?b%40@db.example:5433/web?application_name=x&");
        let config: Config = parts.rest.parse().unwrap();
        assert_eq!(
            (config.get_password(), config.get_application_name()),
            (Some(&b"a?b@"[..]), Some("x"))
        );
        let none = Parts::of("postgres://db.example/web").unwrap();
        assert_eq!(none.rest, "postgres://db.example/web");
    }

    #[test]
    fn an_option_that_would_be_ignored_is_refused() {
        for given in ["host=a sslpassword=secret", "postgres://a/b?sslcrl=secret", "requiressl=1"] {
            let Err(error) = Parts::of(given) else { panic!("{given} is taken") };
            assert!(matches!(error, Error::Option { .. }), "{given}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    proptest! {
        /// The remaining options keep their meaning, and invalid connections stay invalid.
        #[test]
        fn the_rest_of_a_connection_is_unchanged(
            user in "[ -~]{1,9}", place in 0usize..3, quote in any::<bool>(), any in "\\PC{0,40}",
        ) {
            let escaped = user.replace('\\', "\\\\").replace('\'', "\\'");
            let value = if quote { format!("'{escaped}'") } else { escaped.replace(' ', "\\ ") };
            let mut pairs = vec![format!("user={value}"), "host=a".to_owned()];
            pairs.insert(place, "sslmode='verify-ca'".to_owned());
            let parts = Parts::of(&pairs.join(" ")).unwrap();
            prop_assert_eq!(parts.get("sslmode"), Some("verify-ca"));
            let config: Config = parts.rest.parse().unwrap();
            prop_assert_eq!(config.get_user(), Some(user.as_str()));
            let _ = Parts::of(&any);
            let _ = Parts::of(&format!("postgres://{any}"));
        }
    }
}
