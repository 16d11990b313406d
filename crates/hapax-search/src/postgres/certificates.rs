//! Trusted certificates, and how much of a server's certificate is verified.
//!
//! As in libpq: `require` verifies nothing unless a root is given, `verify-ca` verifies the chain of
//! signatures, `verify-full` also the name. A server's own certificate may be in the file of roots, which is
//! how self-signed ones are used.
//!
//! Does not use revocation lists, and does not take a name from a subject (CN): names are in the extension
//! `subjectAltName`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};

use super::error::Error;

/// Where systems store trusted roots: Debian, Fedora, and others including macOS.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// How a server's certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    Nothing,
    /// It chains to one of the roots.
    Chain(Roots),
    /// It also is for the requested host.
    ChainAndName(Roots),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Roots {
    /// The system's roots, or those of browsers if there are none.
    System,
    File(PathBuf),
}

/// The client certificate, for servers that request one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

pub(super) fn client(check: &Check, identity: Option<&Identity>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trusted = match check {
        Check::Nothing => None,
        Check::Chain(roots) | Check::ChainAndName(roots) => Some(Trusted::read(roots)?),
    };
    let name = matches!(check, Check::ChainAndName(_));
    let verifier = Arc::new(Verifier { trusted, name, provider: provider.clone() });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::Encryption)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(Identity { certificate, key }) => {
            let what = "private key that is not encrypted";
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|source| Error::Pem {
                path: key.clone(),
                what,
                source,
            })?;
            builder
                .with_client_auth_cert(certificates(certificate)?, secret)
                .map_err(Error::Encryption)?
        }
    };
    // Servers from version 17 require this of clients that connect without announcing encryption
    // first.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(|certificates| certificates.collect());
    match found {
        Ok(found) if found.is_empty() => Err(no_certificate(path, pem::Error::NoItemsFound)),
        found => found.map_err(|source| no_certificate(path, source)),
    }
}

fn no_certificate(path: &Path, source: pem::Error) -> Error {
    Error::Pem { path: path.to_owned(), what: "certificate", source }
}

#[derive(Debug)]
struct Trusted {
    store: RootCertStore,
    /// The same certificates in their original encoding.
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn read(roots: &Roots) -> Result<Self, Error> {
        let file = match roots {
            Roots::File(file) => Some(file.clone()),
            Roots::System => {
                let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
                let usual = || SYSTEM.iter().map(PathBuf::from).find(|file| file.exists());
                named.or_else(usual)
            }
        };
        let Some(file) = file else { return Ok(Self::of_browsers()) };
        let certificates = certificates(&file)?;
        let mut store = RootCertStore::empty();
        let (taken, _) = store.add_parsable_certificates(certificates.iter().cloned());
        if taken == 0 {
            return Err(no_certificate(&file, pem::Error::NoItemsFound));
        }
        Ok(Self { store, certificates })
    }

    /// Mozilla's list.
    fn of_browsers() -> Self {
        let store = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        Self { store, certificates: Vec::new() }
    }
}

#[derive(Debug)]
struct Verifier {
    trusted: Option<Trusted>,
    name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(Trusted { store, certificates }) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let chain = verify_server_cert_signed_by_trust_anchor(
            &parsed,
            store,
            intermediates,
            now,
            algorithms,
        );
        match chain {
            Ok(()) => {}
            // Self-signed certificates usually claim to be authorities, which servers must not be.
            // This is exactly the given certificate, and its dates are verified before.
            Err(TlsError::InvalidCertificate(CertificateError::Other(_)))
                if certificates.iter().any(|root| root == certificate) => {}
            Err(error) => return Err(error),
        }
        if self.name {
            verify_server_name(&parsed, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match self.trusted {
            // Without verification of the certificate, verifying its signature is pointless.
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => verify_tls12_signature(message, certificate, signature, algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match self.trusted {
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => verify_tls13_signature(message, certificate, signature, algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a certificate is refused, with what to do.
pub(super) fn reason(error: &TlsError) -> Option<String> {
    let TlsError::InvalidCertificate(error) = error else { return None };
    Some(match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "none of the roots that are trusted has signed it; name the right one with \
             `sslrootcert=FILE`"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "it is for no host (`subjectAltName`); have it issued with the host's name, or check the \
             signature alone with `sslmode=verify-ca`"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "it is for {}; connect under such a name (`host`, with the number in `hostaddr`), or \
             check the signature alone with `sslmode=verify-ca`",
            presented.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ")
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its time is over".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; is the clock of this machine right?".to_owned()
        }
        other => format!("{other}"),
    })
}

/// A name without rustls' formatting, as in `DnsName("db.example")`.
fn plain(name: &str) -> &str {
    let inside = name.split_once('(').map_or(name, |(_, inside)| inside);
    inside.trim_end_matches(')').trim_matches('"')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Claims to be an authority, as `openssl req -x509` makes it.
    const SELF_SIGNED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/self-signed.pem");

    fn verdict(roots: Option<&str>, name: bool, host: &str, year: u64) -> Result<(), String> {
        let trusted = match roots {
            Some(file) => Trusted::read(&Roots::File(file.into())).unwrap(),
            None => Trusted::of_browsers(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier { trusted: Some(trusted), name, provider };
        let certificate = CertificateDer::from_pem_file(SELF_SIGNED).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600));
        let host = ServerName::try_from(host).unwrap();
        let verdict = verifier.verify_server_cert(&certificate, &[], &host, &[], now);
        verdict.map(drop).map_err(|error| reason(&error).unwrap())
    }

    #[test]
    fn a_self_signed_certificate_is_trusted_if_it_is_given_for_its_host_and_its_time() {
        let named = Some(SELF_SIGNED);
        assert_eq!(verdict(named, true, "db.test", 2030), Ok(()));
        assert_eq!(verdict(named, false, "other.test", 2030), Ok(()));
        let refused = |roots, host, year| verdict(roots, true, host, year).unwrap_err();
        assert!(refused(named, "other.test", 2030).starts_with("it is for db.test;"));
        assert_eq!(refused(named, "db.test", 2200), "its time is over");
        assert!(refused(named, "db.test", 2020).starts_with("it is not valid yet"));
        assert!(verdict(None, false, "db.test", 2030).is_err(), "nobody has named it");
    }
}
