//! One life of the repository: a process, operations, and its end.
//!
//! A life ends by SIGKILL at any time (before the first operation, between two, or during one), by a failing disk, by
//! a limit on the size of files, or normally. Returns the acknowledged operations with their answers; the others may
//! or may not have been executed.

use crate::child::{DiskFault, FAILED};
use crate::line::{comparable, hash, recipe, url};
use crate::operation::{Operation, Random};
use anyhow::{Context, Result, bail};
use hapax_client::client::{Client, ClientError, LineOutcome};
use hapax_client::wire::{PageInput, ReadySignature};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Normally.
    Clean,
    /// SIGKILL after this many answers.
    Killed { answers: usize },
    /// A disk fault from this access on.
    DiskFault(DiskFault, u64),
    /// A slow disk, then SIGKILL.
    Slow { answers: usize },
    /// Files may grow by this many kilobytes.
    Limited { kilobytes: u64 },
}

/// The outcome of the operations.
#[derive(Debug, Default)]
pub(crate) struct Lived {
    /// The answers to acknowledged operations, in order.
    pub(crate) answers: Vec<String>,
    /// The first failure.
    pub(crate) failure: Option<String>,
}

/// The command for a child process of this program, with a limit on files if there is one.
fn command(words: &[&str], folder: &Path, end: End) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = match end {
        End::Limited { kilobytes } => {
            let size = std::fs::metadata(folder.join("pages.redb"))?.len().div_ceil(1024);
            let mut command = Command::new("bash");
            // Without the trap, the limit would cause a signal instead of an error.
            let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", size + kilobytes);
            command.args(["-c", &limit]).arg(own);
            command
        }
        _ => Command::new(own),
    };
    command.args(words).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    Ok(command)
}

fn end_by_kill(child: &mut Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Runs a life of the library.
pub(crate) fn library(
    folder: &Path,
    operations: &[Operation],
    end: End,
    random: &mut Random,
) -> Result<Lived> {
    let mut command = command(&["library"], folder, end)?;
    match end {
        End::DiskFault(fault, at) => {
            command.args([
                "--fault",
                &format!("{fault:?}").to_lowercase().replace("shortwrite", "short-write"),
            ]);
            command.args(["--at", &at.to_string()]);
        }
        End::Slow { .. } => drop(command.args(["--fault", "slow"])),
        End::Clean | End::Killed { .. } | End::Limited { .. } => {}
    }
    let mut child = command.spawn().context("cannot start the library's process")?;
    let mut lines = String::new();
    for operation in operations {
        lines += &serde_json::to_string(operation)?;
        lines.push('\n');
    }
    // Writes all operations at once: the child is ahead of this reader, so that a kill hits work in
    // progress.
    let mut input = child.stdin.take().context("no input")?;
    // A child that has ended does not read.
    let _ = input.write_all(lines.as_bytes());
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let mut lived = Lived::default();
    if let End::Killed { answers } | End::Slow { answers } = end {
        while lived.answers.len() < answers && lived.failure.is_none() {
            if !lived.take(&mut output)? {
                bail!("the library's process ended by itself");
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(4000)));
        end_by_kill(&mut child)?;
    }
    drop(input);
    while lived.take(&mut output)? {}
    child.wait()?;
    Ok(lived)
}

impl Lived {
    /// Reads one line; returns false at the end, or if a line is incomplete.
    fn take(&mut self, output: &mut impl BufRead) -> Result<bool> {
        let mut line = String::new();
        output.read_line(&mut line)?;
        let Some(line) = line.strip_suffix('\n') else { return Ok(false) };
        match line.strip_prefix(FAILED) {
            Some(failure) => self.failure = Some(failure.to_owned()),
            None => self.answers.push(line.to_owned()),
        }
        Ok(true)
    }
}

/// Splits operations for HTTP, where a batch consists of lines that are operations of their own.
pub(crate) fn lines(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let each = |operation| match operation {
        Operation::Batch { pages, fetched } => pages
            .into_iter()
            .map(|(page, place)| Operation::Seen { page, place: Some(place), fetched })
            .collect(),
        other => vec![other],
    };
    operations.into_iter().map(each).collect()
}

fn page(number: u32, place: Option<u32>, fetched: u64) -> Result<PageInput> {
    let content = place.map(|place| comparable(number, place));
    let signature = ReadySignature {
        recipe: recipe()?.to_string(),
        fingerprint: content.as_ref().map(|content| content.fingerprint.to_string()),
        sketch: content.as_ref().map(|content| content.sketch.to_string()),
        content: match place {
            Some(place) => hash(number, place).to_string(),
            None => hapax::fingerprint::ContentHash::of("").to_string(),
        },
        words: 0,
        too_short: false,
    };
    let (signature, fetched) = (Some(signature), Some(fetched));
    Ok(PageInput { url: url(number), signature, fetched, ..PageInput::default() })
}

/// Sends one operation or the lines of a batch; adds one answer each.
fn ask(client: &Client, asked: &[Operation], answers: &mut Vec<String>) -> Result<(), ClientError> {
    let encoded = |operation: &Operation| match *operation {
        Operation::Seen { page: number, place, fetched } => page(number, place, fetched).ok(),
        _ => None,
    };
    if let [_, _, ..] = asked {
        let pages = asked.iter().filter_map(encoded);
        let lines: Vec<String> = pages.filter_map(|it| serde_json::to_string(&it).ok()).collect();
        for answer in client.batch(lines.join("\n").as_bytes()) {
            match answer?.outcome {
                LineOutcome::Done(verdict) => answers.push(verdict.verdict),
                LineOutcome::Failed { error } => {
                    let (code, message) = (error.code, error.message);
                    return Err(ClientError::Refused {
                        server: "soak".into(),
                        code,
                        status: 500,
                        message,
                    });
                }
            }
        }
        return Ok(());
    }
    for operation in asked {
        answers.push(match *operation {
            Operation::Redirect { from, to, fetched } => {
                client.redirect(&url(from), &url(to), Some(fetched))?.verdict
            }
            Operation::Forget { page } => client.forget(&url(page))?.to_string(),
            Operation::Score { page, score } => {
                client.score(&url(page), score.map(f64::from))?.is_some().to_string()
            }
            Operation::Expire { before } => client.expire(before)?.to_string(),
            Operation::Seen { .. } | Operation::Batch { .. } => match encoded(operation) {
                Some(page) => client.observe(&page)?.verdict,
                None => continue,
            },
        });
    }
    Ok(())
}

/// Runs a life of the service.
pub(crate) fn service(
    folder: &Path,
    requests: &[Vec<Operation>],
    end: End,
    random: &mut Random,
) -> Result<Lived> {
    let mut child =
        command(&["service"], folder, end)?.spawn().context("cannot start the service")?;
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let mut address = String::new();
    output.read_line(&mut address)?;
    let mut lived = Lived::default();
    if address.is_empty() {
        child.wait()?;
        lived.failure = Some("the service did not start".into());
        return Ok(lived);
    }
    let server = format!("http://{}", address.trim());
    let client = Client::new(&server, None, Duration::from_secs(60));
    let stop_at = match end {
        End::Killed { answers } | End::Slow { answers } => answers,
        End::Clean | End::DiskFault(..) | End::Limited { .. } => usize::MAX,
    };
    for (number, request) in requests.iter().enumerate() {
        let asked = if number < stop_at {
            ask(&client, request, &mut lived.answers)
        } else {
            // The kill races with the request.
            let pause = Duration::from_micros(random.below(3000));
            let killer = std::thread::scope(|scope| {
                let killed = scope.spawn(|| {
                    std::thread::sleep(pause);
                    end_by_kill(&mut child)
                });
                let asked = ask(&client, request, &mut lived.answers);
                match killed.join() {
                    Ok(killed) => killed.map(|()| asked),
                    Err(_) => bail!("a thread panicked"),
                }
            });
            drop(killer?);
            break;
        };
        if let Err(error) = asked {
            lived.failure = Some(error.to_string());
            break;
        }
    }
    match end {
        End::Clean => {
            // SIGTERM, as sent by an operator.
            let id = child.id().to_string();
            Command::new("kill").args(["-TERM", &id]).status().context("cannot send a signal")?;
            child.wait()?;
        }
        _ => end_by_kill(&mut child)?,
    }
    let _ = output.read_to_string(&mut String::new());
    Ok(lived)
}
