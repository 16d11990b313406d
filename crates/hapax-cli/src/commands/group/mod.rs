//! `hapax group`: shows the duplicate groups of a repository and the rules that choose their winners.
//!
//! Lists groups by number, and the pages of a group with the winner first and then by address. The repository chooses
//! the winner.

use crate::failure::Failure;
use crate::output::{self, Output};
use crate::readable::{count, harmless};
use crate::repositories::answers::{failing_percent, sentence};
use crate::repositories::{PageQuestion, StoreArguments};
use clap::{Args, Subcommand};
use hapax::group::Rules;
use hapax_client::wire::Group;

/// Number of groups read at a time.
const PIECE: u64 = 1000;

/// Show duplicate groups, and the rules that choose the kept copy
#[derive(Args, Debug)]
#[command(after_help = "\
A market is a named list of rules that chooses other kept copies in the same groups. Setting one
changes no group; --market NAME shows its winners.

Examples:
  hapax group show seen https://example.org/tea
  hapax group list seen --least 3 --json
  hapax group list --server http://127.0.0.1:8017
  hapax group rules seen --set \"score, https, shortest-url\"
  hapax group rules seen --market uk --set \"prefer-tld:uk, score\"
  hapax group show seen https://example.org/tea --market uk")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Subcommand, Debug)]
enum GroupCommand {
    /// Show the group of a page: all its pages with their status
    #[command(after_help = "\
Examples:
  hapax group show seen https://example.org/tea
  hapax group show seen https://example.org/tea --market uk")]
    Show(PageQuestion),
    List(List),
    Rules(RulesArguments),
}

/// List all groups, by number
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  hapax group list seen --least 3 --json")]
struct List {
    #[command(flatten)]
    store: StoreArguments,

    /// Only groups with at least this many pages that do not redirect
    #[arg(long, value_name = "N", default_value_t = 2)]
    least: u32,

    /// Only groups after this number
    #[arg(long, value_name = "GROUP")]
    after: Option<u32>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,

    /// Under the rules of this market
    #[arg(long, value_name = "NAME")]
    market: Option<String>,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Show or change the rules of the repository, or of a market
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  hapax group rules seen
  hapax group rules seen --set \"score, https, shortest-url\"
  hapax group rules seen --market uk --set \"prefer-tld:uk, score\"")]
struct RulesArguments {
    #[command(flatten)]
    store: StoreArguments,

    /// The new rules, most important first; without --market every group chooses again
    #[arg(long, value_name = "RULES", value_parser = super::dedup::rules)]
    set: Option<Rules>,

    /// The market that the rules are for
    #[arg(long, value_name = "NAME")]
    market: Option<String>,

    /// Remove the market
    #[arg(long, requires = "market", conflicts_with = "set")]
    drop: bool,

    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        GroupCommand::Show(arguments) => show(arguments),
        GroupCommand::List(arguments) => list(arguments),
        GroupCommand::Rules(arguments) => rules(arguments),
    }
}

fn show(arguments: &PageQuestion) -> Result<(), Failure> {
    let store = arguments.store.open()?;
    let Some(mut found) = store.group(&arguments.url, arguments.market.as_deref())? else {
        return Err(arguments.store.unknown(&arguments.url));
    };
    if arguments.json {
        return output::answer(true, &found, "");
    }
    let group = &found.group;
    let mut text = format!(
        "group {}: {} pages, diameter {} bits, {:.0} % do not match the winner{}\n",
        group.id,
        count(found.pages.rows.len() as u64),
        group.diameter,
        failing_percent(group),
        if group.verified { "" } else { " as far as is known" }
    );
    let pages = &mut found.pages.rows;
    pages.sort_by(|a, b| (!a.is_winner, &a.url).cmp(&(!b.is_winner, &b.url)));
    for page in pages {
        text.push_str(&format!("  {}\n", sentence(page)));
    }
    output::print(&text)
}

fn list(arguments: &List) -> Result<(), Failure> {
    let store = arguments.store.open()?;
    let mut output = Output::open(None)?;
    // Printed with the first group, or when there is none.
    let mut heading =
        Some("  group    pages  diameter  failing  winner").filter(|_| !arguments.json);
    let mut print = |group: &Group| {
        let text = match arguments.json {
            true => output::json(group)?,
            false => format!(
                "{:>7} {:>8} {:>9} {:>6.0} %  {}",
                group.id,
                count(group.members.into()),
                group.diameter,
                failing_percent(group),
                harmless(&group.winner)
            ),
        };
        if let Some(heading) = heading.take() {
            output.line(heading)?;
        }
        output.line(&text)
    };
    let (mut after, mut left) = (arguments.after, arguments.limit);
    while left > 0 {
        let piece = left.min(PIECE) as usize;
        let market = arguments.market.as_deref();
        let found = store.groups(after, piece, arguments.least, market)?;
        let Some(last) = found.last() else { break };
        after = Some(last.id);
        left -= found.len() as u64;
        found.iter().try_for_each(&mut print)?;
    }
    if let Some(heading) = heading {
        output.line(heading)?;
    }
    output.finish()
}

fn rules(arguments: &RulesArguments) -> Result<(), Failure> {
    let mut store = arguments.store.open()?;
    if let (Some(name), None) = (&arguments.market, &arguments.set) {
        let markets = store.rules()?.markets;
        if !markets.contains_key(name) {
            let known: Vec<&str> = markets.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Failure::Run(anyhow::anyhow!(
                "there is no market `{name}`; it has {known}, and --set RULES makes one"
            )));
        }
    }
    match (&arguments.market, &arguments.set) {
        (Some(market), Some(rules)) => store.set_market(market, Some(rules.clone()))?,
        (Some(market), None) if arguments.drop => store.set_market(market, None)?,
        (None, Some(rules)) => store.set_rules(rules.clone())?,
        (Some(_) | None, None) => {}
    }
    let shown = store.rules()?;
    let only = arguments.market.as_deref();
    let mut lines = Vec::new();
    if only.is_none() {
        lines.push(format!("rules         {}", shown.rules));
    }
    let named = |name: &str| only.is_none_or(|only| only == name);
    let markets = shown.markets.iter().filter(|(name, _)| named(name));
    lines.extend(markets.map(|(name, rules)| format!("market {name:<6} {rules}")));
    output::answer(arguments.json, &shown, &lines.join("\n"))
}
