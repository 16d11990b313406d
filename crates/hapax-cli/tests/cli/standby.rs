//! A primary that is killed at random times under load, and the standby that replaces it.
//!
//! `STANDBY_KILLS=100` sets the number of kills; `STANDBY_SEED` repeats their times, as far as the scheduler allows.

use crate::folder::Folder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A service in its own process, killed on drop.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(folder: &Folder, store: &str, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(folder.path(store));
        let mut child = command.args(more).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("it did not start: {said}")).unwrap();
            said += &line;
            if let Some(address) = line.split("listening on http://").nth(1) {
                break address.trim_end_matches('/').to_owned();
            }
        };
        // Drains the log, so that the service does not block.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    headers: String,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.headers.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.strip_prefix(": "))
    }
}

/// `None` if the service is gone.
fn ask(address: &str, method: &str, path: &str, body: &Value) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    // An incomplete answer of a killed service counts as none.
    let body = match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        Some(length) => body.get(..length.parse().ok()?)?.to_owned(),
        None => unchunked(body)?,
    };
    let status = head.get(9..12)?.parse().ok()?;
    Some(Answer { status, headers: head.to_owned(), body: serde_json::from_str(&body).ok()? })
}

/// A chunked body; `None` if it is incomplete.
fn unchunked(mut rest: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        whole += after.get(..size)?;
        rest = after.get(size + 2..)?;
    }
}

fn text(seed: u64) -> String {
    let word =
        |n: u64| format!("w{:x}", (seed * 1_000_003 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..40).map(word).collect::<Vec<_>>().join(" ")
}

/// Writes until the service is gone; records when each address was acknowledged.
fn load(address: &str, thread: u64, acknowledged: &Mutex<Vec<(String, Instant)>>) {
    for n in 0.. {
        let url = format!("http://{thread}.example/{n}");
        // Every third page has the text of another one, of any thread.
        let seed = if n % 3 == 2 { n / 2 } else { thread * 1_000_000 + n };
        let page = json!({"url": url, "text": text(seed)});
        match ask(address, "POST", "/v1/pages", &page) {
            Some(answer) if answer.status == 200 => {
                acknowledged.lock().unwrap().push((url, Instant::now()));
            }
            _ => return,
        }
        if n % 7 == 6 {
            let path = format!("/v1/pages/http%3A%2F%2F{thread}.example%2F{}", n - 3);
            match ask(address, "PUT", &format!("{path}/score"), &json!({"score": n})) {
                Some(answer) if answer.status == 200 => {}
                _ => return,
            }
        }
    }
}

/// Follows events on either service.
#[derive(Default)]
struct Follower {
    seen: Vec<Value>,
    after: u64,
    epoch: Option<String>,
}

impl Follower {
    /// Reads the next events; `false` if the service is gone.
    fn next(&mut self, address: &str, wait: u64) -> bool {
        let epoch = self.epoch.as_ref().map(|epoch| format!("&epoch={epoch}")).unwrap_or_default();
        let path = format!("/v1/events?after={}&wait={wait}{epoch}", self.after);
        let Some(answer) = ask(address, "GET", &path, &Value::Null) else { return false };
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.epoch = answer.header("hapax-epoch").map(str::to_owned).or(self.epoch.take());
        for event in answer.body["rows"].as_array().unwrap() {
            let sequence = event["sequence"].as_u64().unwrap();
            assert_eq!(sequence, self.after + 1, "neither a gap nor a repetition");
            self.after = sequence;
            self.seen.push(event.clone());
        }
        true
    }
}

fn all_events(address: &str) -> Vec<Value> {
    let mut all = Follower::default();
    loop {
        let before = all.after;
        assert!(all.next(address, 0));
        if all.after == before {
            return all.seen;
        }
    }
}

fn known(address: &str, url: &str) -> bool {
    let path = url.replace(':', "%3A").replace('/', "%2F");
    ask(address, "GET", &format!("/v1/pages/{path}"), &Value::Null).unwrap().status == 200
}

fn round(number: u64, after: Duration) -> (usize, usize) {
    let folder = Folder::new();
    let mut primary = Service::start(&folder, "primary", &[]);
    let source = format!("http://{}", primary.address);
    let mut standby = Service::start(&folder, "standby", &["--standby-of", &source]);
    let (acknowledged, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let mut follower = Follower::default();
    std::thread::scope(|scope| {
        let (address, acknowledged) = (primary.address.clone(), &acknowledged);
        for thread in 0..3 {
            let address = address.clone();
            scope.spawn(move || load(&address, thread, acknowledged));
        }
        let (follower, over) = (&mut follower, &over);
        scope.spawn(move || while !over.load(Ordering::Relaxed) && follower.next(&address, 1) {});
        std::thread::sleep(after);
        primary.kill();
        over.store(true, Ordering::Relaxed);
    });
    let acknowledged = acknowledged.into_inner().unwrap();

    // The standby answers, reports its lag, and refuses writes.
    let stats = ask(&standby.address, "GET", "/v1/stats", &Value::Null).unwrap();
    let behind: f64 = stats.header("hapax-behind-seconds").unwrap().parse().unwrap();
    assert!((0.0..60.0).contains(&behind));
    let page = json!({"url": "http://new.example/", "text": text(77)});
    let refused = ask(&standby.address, "POST", "/v1/pages", &page).unwrap();
    assert_eq!((refused.status, &refused.body["error"]["code"]), (409, &json!("not_primary")));

    let asked = Instant::now();
    let promoted = ask(&standby.address, "POST", "/v1/promote", &Value::Null).unwrap();
    assert_eq!(promoted.status, 200, "{}", promoted.body);
    let behind = Duration::from_secs_f64(promoted.body["behind_seconds"].as_f64().unwrap());
    let bound = asked.checked_sub(behind).unwrap();
    let mut lost = 0;
    for (url, at) in &acknowledged {
        let there = known(&standby.address, url);
        assert!(there || *at > bound, "round {number}: {url} is older than the bound, and lost");
        lost += usize::from(!there);
    }
    let taken = ask(&standby.address, "POST", "/v1/pages", &page).unwrap();
    assert_eq!(taken.status, 200, "{}", taken.body);
    assert_eq!(taken.header("hapax-behind-seconds"), None, "it follows nobody");

    // Whoever followed the events of the primary can continue here.
    let shown = follower.seen.len();
    while follower.seen.len() < all_events(&standby.address).len() {
        assert!(follower.next(&standby.address, 1));
    }
    let all = all_events(&standby.address);
    assert_eq!(follower.seen, all, "round {number}: {shown} events were of the first primary");

    // The old primary starts again, answers, and refuses writes until it is promoted.
    let old = Service::start(&folder, "primary", &[]);
    let refused = ask(&old.address, "POST", "/v1/pages", &page).unwrap();
    assert_eq!((refused.status, &refused.body["error"]["code"]), (409, &json!("not_primary")));
    let ready = ask(&old.address, "GET", "/readyz", &Value::Null).unwrap();
    assert_eq!((ready.status, &ready.body["role"]), (200, &json!("waiting")));
    drop(old);

    standby.kill();
    let check = folder.output(&[
        "inspect",
        &folder.path("standby").display().to_string(),
        "--check",
        "--json",
    ]);
    let check: BTreeMap<String, Value> = serde_json::from_str(&check).unwrap();
    assert_eq!(check["problems"], json!(0), "{check:?}");
    (acknowledged.len(), lost)
}

#[test]
fn a_standby_takes_over_from_a_primary_that_is_killed_at_any_time() {
    let number = |name, otherwise: u64| -> u64 {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (rounds, mut random) = (number("STANDBY_KILLS", 3), number("STANDBY_SEED", 20_261_116));
    println!("STANDBY_SEED={random}");
    let (mut all, mut lost) = (0, 0);
    for n in 0..rounds {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let (acknowledged, missing) = round(n, Duration::from_millis(50 + (random >> 33) % 900));
        all += acknowledged;
        lost += missing;
    }
    println!(
        "{rounds} kills, {all} writes acknowledged, {lost} lost, all of them younger than the bound"
    );
    assert!(all > 0);
}

#[test]
fn a_service_is_backed_up_while_it_runs_and_restored_by_name() {
    let folder = Folder::new();
    let service = Service::start(&folder, "seen", &[]);
    let server = format!("http://{}", service.address);
    let add = |n: u64| {
        let page = json!({"url": format!("http://a/{n}"), "text": text(n)});
        assert_eq!(ask(&service.address, "POST", "/v1/pages", &page).unwrap().status, 200);
    };
    let place = folder.path("backups").display().to_string();
    let back_up = |name: &str| {
        let arguments = ["store", "backup", "--server", &server, "--to", &place, "--name", name];
        crate::folder::stderr(&folder.hapax(&arguments).assert().success())
    };
    (0..20).for_each(add);
    assert!(back_up("one").contains("one: everything up to commit 20"));
    add(20);
    let said = back_up("two");
    assert!(said.contains("two: changes since commit 20 up to commit 21"), "{said}");
    let listed = folder.output(&["store", "list", &place]);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["one", "two"]);
    for (name, pages) in [("one", 20), ("two", 21)] {
        let to = folder.path(name).display().to_string();
        let arguments = ["store", "restore", &place, "--to", &to, "--name", name];
        let said = crate::folder::stderr(&folder.hapax(&arguments).assert().success());
        assert!(said.contains(&format!("{pages} pages of backup {name} restored")), "{said}");
        let arguments = ["page", "show", &to, "http://a/19"];
        assert!(folder.output(&arguments).contains("http://a/19"));
    }
    // A standby can follow the backups.
    let standby = Service::start(&folder, "standby", &["--standby-of", &place]);
    let until = Instant::now() + Duration::from_secs(30);
    while !known(&standby.address, "http://a/20") {
        assert!(Instant::now() < until, "it never caught up");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Including texts.
    let pair = json!({"left": {"url": "http://a/1"}, "right": {"url": "http://a/2"}});
    let compared = ask(&standby.address, "POST", "/v1/compare", &pair).unwrap();
    assert_eq!(compared.status, 200, "{}", compared.body);
    let said = folder.hapax(&["store", "promote", &format!("http://{}", standby.address)]);
    let said = crate::folder::stderr(&{ said }.assert().success());
    assert!(said.contains("takes writes after commit 21"), "{said}");
}

#[test]
fn events_after_a_restart_are_of_the_history_that_the_epoch_names() {
    let folder = Folder::new();
    let place = folder.path("backups").display().to_string();
    let first = Service::start(&folder, "seen", &[]);
    let page = |service: &Service, n: u64| {
        let page = json!({"url": format!("http://a/{n}"), "text": text(n)});
        assert_eq!(ask(&service.address, "POST", "/v1/pages", &page).unwrap().status, 200);
    };
    let address = |service: &Service| format!("http://{}", service.address);
    (0..3).for_each(|n| page(&first, n));
    let server = address(&first);
    let last_of = |server: &str| -> Value {
        let lines = folder.output(&["events", "--server", server, "--json"]);
        serde_json::from_str(lines.lines().last().unwrap()).unwrap()
    };
    let common = last_of(&server)["sequence"].to_string();
    folder.hapax(&["store", "backup", "--server", &server, "--to", &place]).assert().success();
    (3..6).for_each(|n| page(&first, n));
    let lost = last_of(&server);
    drop(first);
    let restored = folder.path("restored").display().to_string();
    folder.hapax(&["store", "restore", &place, "--to", &restored]).assert().success();
    let second = Service::start(&folder, "restored", &[]);
    (10..20).for_each(|n| page(&second, n));
    let server = address(&second);
    let after = lost["sequence"].to_string();
    let epoch = lost["epoch"].as_str().unwrap();
    let asked = ["events", "--server", &server, "--after", &after];
    for more in [&[][..], &["--follow"], &["--epoch", epoch]] {
        let said = folder.refusal(1, &[&asked[..], more].concat());
        assert!(said.contains(&format!("go on after {common}")), "{said}");
    }
    let present = last_of(&server);
    let epoch = present["epoch"].as_str().unwrap();
    assert!(!folder.output(&[&asked[..], &["--epoch", epoch]].concat()).is_empty());
    let refused = folder.refusal(2, &["events", "seen", "--after", "3", "--epoch", epoch]);
    assert!(refused.contains("of a service"), "{refused}");
}
