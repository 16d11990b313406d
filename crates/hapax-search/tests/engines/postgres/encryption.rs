//! Encrypted connections to a server that accepts no others, with certificates made as in its manual.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hapax_search::postgres::{Error, Loader, PostgresIndex, name_of, named};

use super::server::Server;
use crate::corpus;

/// Part of every connection, and of no error.
const PASSWORD: &str = "correct-horse";

/// Certificates and keys in a separate folder.
struct Authority {
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn openssl(&self, arguments: &[&str]) {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        let output = command.output().expect("openssl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A self-signed certificate: NAME.pem and NAME.key.
    fn signs_itself(&self, name: &str, subject: &str, extension: Option<&str>) -> PathBuf {
        let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
        let mut arguments = vec!["req", "-new", "-x509", "-days", "2", "-nodes", "-text"];
        arguments.extend(["-newkey", "rsa:2048", "-subj", subject]);
        arguments.extend(["-out", &certificate, "-keyout", &key]);
        arguments.extend(extension.iter().flat_map(|it| ["-addext", it]));
        self.openssl(&arguments);
        self.path(&certificate)
    }

    /// A certificate signed by ROOT.pem: NAME.pem and NAME.key.
    fn signed(&self, name: &str, root: &str, subject: &str, extension: &str) -> PathBuf {
        let (request, key) = (format!("{name}.csr"), format!("{name}.key"));
        let (certificate, extensions) = (format!("{name}.pem"), format!("{name}.ext"));
        std::fs::write(self.path(&extensions), extension).unwrap();
        let mut arguments = vec!["req", "-new", "-nodes", "-text", "-newkey", "ec"];
        arguments.extend(["-pkeyopt", "ec_paramgen_curve:P-256"]);
        arguments.extend(["-subj", subject, "-out", &request, "-keyout", &key]);
        self.openssl(&arguments);
        let (root, root_key) = (format!("{root}.pem"), format!("{root}.key"));
        let mut arguments = vec!["x509", "-req", "-in", &request, "-days", "2", "-text"];
        arguments.extend(["-CA", &root, "-CAkey", &root_key, "-CAcreateserial"]);
        arguments.extend(["-extfile", &extensions, "-out", &certificate]);
        self.openssl(&arguments);
        self.path(&certificate)
    }
}

/// Makes the server use this certificate.
fn show(server: &Server, certificate: &Path) {
    let (to, key) = (server.data().join("server.crt"), server.data().join("server.key"));
    std::fs::copy(certificate, &to).unwrap();
    std::fs::copy(certificate.with_extension("key"), &key).unwrap();
    [&to, &key].iter().for_each(|file| server.give(file));
    server.execute("ALTER SYSTEM SET ssl = on");
    server.reload();
}

/// Requires encryption over the network, and of `certain` also a certificate.
fn close(server: &Server, root: &Path) {
    let believed = server.data().join("root.crt");
    std::fs::copy(root, &believed).unwrap();
    let rules = server.data().join("pg_hba.conf");
    let lines = "local all all trust\nhostssl all certain all cert\nhostssl all all all trust\n";
    std::fs::write(&rules, lines).unwrap();
    [&believed, &rules].iter().for_each(|file| server.give(file));
    server.execute("ALTER SYSTEM SET ssl_ca_file = 'root.crt'");
    server.reload();
}

fn refusal(connection: &str) -> (Error, String) {
    let Err(error) = PostgresIndex::open(connection) else { panic!("{connection} is taken") };
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    assert!(!format!("{text} {error:?}").contains(PASSWORD), "{text}");
    (error, text)
}

#[test]
fn connections_are_encrypted_and_servers_are_who_they_should_be() {
    let (server, authority) = (Server::start(), Authority::new());
    let root = authority.signs_itself("root", "/CN=root", None);
    let other = authority.signs_itself("other", "/CN=root", None);
    let shown = authority.signed("server", "root", "/CN=db.test", "subjectAltName=DNS:db.test");
    server.create("web");
    close(&server, &root);
    show(&server, &shown);
    let to = |host: &str, options: &str| {
        let port = server.port();
        format!(
            "host={host} hostaddr=127.0.0.1 port={port} user=hapax password={PASSWORD} dbname=web {options}"
        )
    };
    let rooted = |mode: &str, root: &Path| format!("sslmode={mode} sslrootcert={}", root.display());

    let full = to("db.test", &rooted("verify-full", &root));
    let recipe = corpus::fingerprinter().recipe_id().clone();
    let mut loader = Loader::create(&full, &recipe).unwrap();
    corpus::pages().iter().for_each(|page| loader.put(page).unwrap());
    loader.finish().unwrap();
    assert_eq!(PostgresIndex::open(&full).unwrap().totals().unwrap().documents, 30);
    let remembered = name_of(&full).unwrap();
    PostgresIndex::open(named(&remembered).unwrap()).unwrap();
    let address = format!(
        "postgresql://hapax@db.test:{}/web?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={}",
        server.port(),
        root.display()
    );
    PostgresIndex::open(&address).unwrap();
    for accepted in [
        to("localhost", ""),
        to("localhost", "sslmode=prefer"),
        to("localhost", "sslmode=require"),
        to("localhost", &rooted("require", &root)),
        to("localhost", &rooted("verify-ca", &root)),
        to("db.test", &rooted("verify-ca", &root)),
    ] {
        PostgresIndex::open(&accepted).unwrap();
    }

    for mode in ["require", "verify-ca", "verify-full"] {
        let (error, text) = refusal(&to("db.test", &rooted(mode, &other)));
        assert!(matches!(error, Error::Certificate { .. }), "{mode}: {text}");
        assert!(text.contains("db.test") && text.contains("`sslrootcert=FILE`"), "{text}");
    }
    for host in ["localhost", "127.0.0.1"] {
        let (error, text) = refusal(&to(host, &rooted("verify-full", &root)));
        assert!(matches!(error, Error::Certificate { .. }), "{host}: {text}");
        assert!(text.contains(&format!("of {host} is refused: it is for db.test;")), "{text}");
    }
    let (error, text) = refusal(&to("db.test", "sslmode=disable"));
    assert!(matches!(error, Error::Wanted(_)), "{text}");
    assert!(text.contains("leave out `sslmode=disable`"), "{text}");
    let (error, text) = refusal(&to("db.test", &rooted("verify-full", Path::new("/no/such.pem"))));
    assert!(matches!(error, Error::Pem { .. }), "{text}");
    assert!(text.contains("/no/such.pem"), "{text}");

    the_client_certificate_is_sent_to_a_server_that_requests_it(&server, &authority, &full);
    a_self_signed_certificate_is_its_own_root(&server, &authority, &to);
}

fn the_client_certificate_is_sent_to_a_server_that_requests_it(
    server: &Server,
    authority: &Authority,
    full: &str,
) {
    server.execute("CREATE ROLE certain SUPERUSER LOGIN");
    let mine = authority.signed("mine", "root", "/CN=certain", "extendedKeyUsage=clientAuth");
    let as_certain = full.replace("user=hapax", "user=certain");
    let (_, text) = refusal(&as_certain);
    assert!(text.contains("requires a valid client certificate"), "{text}");
    let key = mine.with_extension("key");
    let shown = format!("{as_certain} sslcert={} sslkey={}", mine.display(), key.display());
    PostgresIndex::open(&shown).unwrap();
    let swapped = format!("{as_certain} sslcert={} sslkey={}", key.display(), mine.display());
    assert!(matches!(refusal(&swapped).0, Error::Pem { .. }));
}

fn a_self_signed_certificate_is_its_own_root(
    server: &Server,
    authority: &Authority,
    to: &dyn Fn(&str, &str) -> String,
) {
    let rooted = |mode: &str, root: &Path| format!("sslmode={mode} sslrootcert={}", root.display());
    let named = authority.signs_itself("self", "/CN=x", Some("subjectAltName=IP:127.0.0.1"));
    show(server, &named);
    PostgresIndex::open(&to("127.0.0.1", &rooted("verify-full", &named))).unwrap();
    let (error, text) =
        refusal(&to("127.0.0.1", &rooted("verify-full", &authority.path("root.pem"))));
    assert!(matches!(error, Error::Certificate { .. }), "{text}");
    // As in the server's manual: the name is in the subject only.
    let unnamed = authority.signs_itself("unnamed", "/CN=db.test", None);
    show(server, &unnamed);
    PostgresIndex::open(&to("db.test", &rooted("verify-ca", &unnamed))).unwrap();
    let (error, text) = refusal(&to("db.test", &rooted("verify-full", &unnamed)));
    assert!(matches!(error, Error::Certificate { .. }), "{text}");
    assert!(text.contains("it is for no host (`subjectAltName`)"), "{text}");
}
