//! A PostgreSQL server for the test, on a free loopback port.
//!
//! Runs as a user other than root, and stops on drop.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that lives as long as the test.
pub(super) struct Server {
    process: Child,
    user: Unprivileged,
    port: u16,
    folder: TempDir,
}

impl Server {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = Unprivileged::find();
        user.own(folder.path());
        let data = folder.path().join("data");
        let mut made = user.command(&program("initdb"));
        made.args([
            "--auth=trust",
            "--username=hapax",
            "--no-sync",
            "--locale=C",
            "--encoding=UTF8",
        ]);
        made.arg("-D").arg(&data).stdout(Stdio::null());
        assert!(made.status().unwrap().success(), "initdb failed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = user.command(&program("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        server.args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        server.args(["-c", "fsync=off"]).stdout(Stdio::null()).stderr(Stdio::null());
        let process = server.spawn().unwrap();
        let mut server = Self { process, user, port, folder };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&mut self) {
        let started = Instant::now();
        while postgres::Client::connect(&self.socket(), postgres::NoTls).is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "the server has ended");
            assert!(started.elapsed() < Duration::from_secs(60), "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The server's data folder.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Makes a file readable by the server only, as required for keys.
    pub(super) fn give(&self, file: &Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
        self.user.own(file);
    }

    /// A connection that no setting forbids.
    fn socket(&self) -> String {
        let folder = self.folder.path().display();
        format!("host={folder} port={} user=hapax dbname=postgres", self.port)
    }

    /// Executes SQL as the owner of the server.
    pub(super) fn execute(&self, sql: &str) {
        let mut client = postgres::Client::connect(&self.socket(), postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap();
    }

    /// Reloads the settings, and waits until they apply to new connections.
    pub(super) fn reload(&self) {
        let loaded = || -> std::time::SystemTime {
            let mut client = postgres::Client::connect(&self.socket(), postgres::NoTls).unwrap();
            client.query_one("SELECT pg_conf_load_time()", &[]).unwrap().get(0)
        };
        let before = loaded();
        self.execute("SELECT pg_reload_conf()");
        let started = Instant::now();
        while loaded() == before {
            assert!(started.elapsed() < Duration::from_secs(60), "the server does not reload");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn database(&self, name: &str) -> String {
        format!("host=127.0.0.1 port={} user=hapax dbname={name}", self.port)
    }

    pub(super) fn create(&self, name: &str) -> String {
        self.execute(&format!("CREATE DATABASE {name}"));
        self.database(name)
    }
}

impl Drop for Server {
    /// Requests a fast shutdown by signal, as in the server's manual.
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// The path of a server program: where Debian installs it, or on the search path.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut there: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin").join(name))
        .filter(|program| program.exists())
        .collect();
    there.sort();
    there.pop().unwrap_or_else(|| PathBuf::from(name))
}

/// A user other than root to run the server as, because it refuses root.
enum Unprivileged {
    Myself,
    Other { user: u32, group: u32 },
}

impl Unprivileged {
    fn find() -> Self {
        let id = |arguments: &[&str]| -> Option<u32> {
            let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().parse().ok()
        };
        if id(&["-u"]) != Some(0) {
            return Self::Myself;
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| {
                Some(Self::Other { user: id(&["-u", name])?, group: id(&["-g", name])? })
            })
            .expect("neither `postgres` nor `nobody` is a user")
    }

    fn own(&self, folder: &Path) {
        if let Self::Other { user, group } = self {
            std::os::unix::fs::chown(folder, Some(*user), Some(*group)).unwrap();
        }
    }

    fn command(&self, program: &Path) -> Command {
        match self {
            Self::Myself => Command::new(program),
            Self::Other { user, group } => {
                let mut command = Command::new("setpriv");
                let ids = [format!("--reuid={user}"), format!("--regid={group}")];
                command.args(ids).arg("--clear-groups").arg(program).current_dir("/");
                command
            }
        }
    }
}
