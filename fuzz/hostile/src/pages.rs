//! Pages that are hard to read: 16 MB each, the maximum of a request, each targeting one step.
//!
//! Checks that each is read in linear time, or refused: a page that takes more than linear time would exceed the time
//! limit of a request. Does not cover pages made to match others: see `collisions`.

use crate::Attack;
use crate::server::Server;
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// Allowed memory in MB for a page of 16 MB: its bytes, JSON, text, folded words, and features.
const MEMORY: u64 = 512;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "HTML: 16 MB of tags that never end",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: tags,
    },
    Attack {
        name: "HTML: 16 MB of nesting",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: nesting,
    },
    Attack {
        name: "HTML: 16 MB of attributes",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: attributes,
    },
    Attack {
        name: "HTML: 16 MB of entities",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: entities,
    },
    Attack {
        name: "HTML: 16 MB of addresses",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: addresses,
    },
    Attack {
        name: "Unicode: one word of 16 MB",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: one_word,
    },
    Attack {
        name: "Unicode: 16 MB of marks on one letter",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: marks,
    },
    Attack {
        name: "Unicode: letters that fold into eighteen",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: folding,
    },
    Attack {
        name: "Unicode: 16 MB of Thai without a space",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: thai,
    },
    Attack {
        name: "Unicode: 16 MB of Chinese without a space",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: chinese,
    },
    Attack {
        name: "Unicode: 16 MB of emoji joined to one",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: emoji,
    },
    Attack {
        name: "16 MB of different short words",
        settings: &[],
        megabytes: MEMORY,
        p99: Duration::MAX,
        run: words,
    },
];

const MOST: usize = 15_500_000;

/// Sends pages of a repeated piece; returns the slowest time, with its answer.
fn repeated(server: &Server, field: &str, pieces: &[&str]) -> Result<String> {
    let mut worst = (Duration::ZERO, "");
    for piece in pieces {
        let escaped = serde_json::Value::from(*piece).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        let body = escaped.repeat(MOST / escaped.len());
        let body = format!("{{\"url\":\"http://a/\",\"{field}\":\"{body}\"}}");
        let start = Instant::now();
        let (status, answer) = server.post("/v1/check", "application/json", body.as_bytes())?;
        ensure!(status == 200, "{piece:?}: {status} {}", String::from_utf8_lossy(&answer));
        worst = worst.max((start.elapsed(), piece));
    }
    Ok(format!("200; {} page(s), the slowest {:.1} s", pieces.len(), worst.0.as_secs_f64()))
}

fn tags(server: &Server) -> Result<String> {
    repeated(server, "html", &["<", "</", "<!--", "<![CDATA[", "<script>", "<title>", "<a href='"])
}

fn nesting(server: &Server) -> Result<String> {
    repeated(
        server,
        "html",
        &["<div>", "<b><table><tr><td>", "<svg><foreignObject>", "<template>x"],
    )
}

fn attributes(server: &Server) -> Result<String> {
    repeated(server, "html", &["<a b c=d e='f' g>", "<a href=x href=y>z</a>", "a=b "])
}

fn entities(server: &Server) -> Result<String> {
    repeated(server, "html", &["&", "&amp", "&#x41;", "&notin", "&NotEqualTilde;"])
}

fn addresses(server: &Server) -> Result<String> {
    repeated(server, "html", &["http://", "www.a ", "https://a.b/c?d=e#f ", "ww.WW.", "://"])
}

fn one_word(server: &Server) -> Result<String> {
    repeated(server, "text", &["a", "é", "1.1", "a'", "a_", "\u{200d}"])
}

fn marks(server: &Server) -> Result<String> {
    repeated(server, "text", &["\u{301}", "\u{302}\u{323}", "\u{5b0}\u{5bc}", "\u{1d165}"])
}

fn folding(server: &Server) -> Result<String> {
    repeated(server, "text", &["\u{fdfa}", "\u{3300}", "ﬃ", "İ"])
}

fn thai(server: &Server) -> Result<String> {
    repeated(server, "text", &["ภาษาไทย", "ก", "ພາສາລາວ", "မြန်မာ"])
}

fn chinese(server: &Server) -> Result<String> {
    repeated(server, "text", &["中", "数据库系统", "日本語テキスト", "한국어"])
}

fn emoji(server: &Server) -> Result<String> {
    repeated(server, "text", &["👨\u{200d}", "🇩🇪", "a\u{200d}\u{ad}"])
}

fn words(server: &Server) -> Result<String> {
    let mut text = String::with_capacity(MOST + 20);
    let mut number = 0u32;
    while text.len() < MOST {
        text.push_str(&format!("{number:x} "));
        number = number.wrapping_add(1);
    }
    let body = format!("{{\"url\":\"http://a/\",\"text\":\"{text}\"}}");
    let start = Instant::now();
    let (status, _) = server.post("/v1/check", "application/json", body.as_bytes())?;
    ensure!(status == 200, "{status}");
    Ok(format!("200; {number} words in {:.1} s", start.elapsed().as_secs_f64()))
}
