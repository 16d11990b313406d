//! The largest groups: the kept document, the removed ones, and why.

use hapax::group::Outcome;
use serde::{Deserialize, Serialize};

use super::address;
use crate::decide::{Decision, Group};
use hapax_report::{counted, escape, grouped};

/// Groups shown.
pub(crate) const MOST: usize = 12;
/// Documents shown per group.
pub(crate) const MOST_DOCUMENTS: usize = 12;

/// The largest groups, and the number of further ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LargestGroups {
    shown: Vec<ShownGroup>,
    more: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ShownGroup {
    size: u64,
    /// Address of the kept document.
    winner: String,
    /// The winner and the best of the others.
    documents: Vec<ShownDocument>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ShownDocument {
    address: String,
    outcome: String,
    /// `None` for the winner.
    distance: Option<u8>,
    similarity: Option<f32>,
    /// Rule and explanation.
    reason: Option<String>,
}

impl LargestGroups {
    pub(super) fn of(decision: &Decision<'_>) -> Self {
        let mut groups: Vec<(usize, Group<'_, '_>)> =
            decision.groups().map(|group| (group.documents().count(), group)).collect();
        groups.sort_by_key(|(size, group)| (usize::MAX - size, group.winner()));
        let document = |page: u32| {
            let verdict = decision.verdict(page);
            let goes = match verdict.outcome {
                Outcome::Kept | Outcome::Redirect => false,
                Outcome::Exact | Outcome::Near => true,
            };
            ShownDocument {
                address: decision.pages().address(page).to_owned(),
                outcome: verdict.outcome.name().to_owned(),
                distance: goes.then_some(verdict.distance),
                similarity: goes.then_some(verdict.similarity),
                reason: decision.reason(page).map(|it| it.to_string()),
            }
        };
        let shown = groups.iter().take(MOST).map(|(size, group)| ShownGroup {
            size: *size as u64,
            winner: decision.pages().address(group.winner()).to_owned(),
            documents: group.documents().take(MOST_DOCUMENTS).map(document).collect(),
        });
        Self { shown: shown.collect(), more: groups.len().saturating_sub(MOST) as u64 }
    }

    pub(super) fn section(&self, out: &mut String) {
        out.push_str("<section>\n<h2>The largest groups</h2>\n");
        for (i, group) in self.shown.iter().enumerate() {
            let open = if i == 0 { " open" } else { "" };
            group.details(out, open);
        }
        if self.more > 0 {
            let more = counted(self.more, "more group");
            out.push_str(&format!("<p class=\"facts\">and {more}.</p>\n"));
        }
        out.push_str("</section>\n");
    }
}

impl ShownGroup {
    fn details(&self, out: &mut String, open: &str) {
        out.push_str(&format!(
            "<details class=\"group\"{open}><summary><b>{}</b> documents; kept: \
             <span>{}</span></summary>\n<div class=\"scroll\"><table><thead><tr>\
             <th class=\"text\">document</th><th></th><th>bits</th><th>similarity (estimate)</th>\
             <th class=\"text\">why the kept page was chosen</th></tr></thead><tbody>\n",
            grouped(self.size),
            escape(&self.winner),
        ));
        for document in &self.documents {
            let name = escape(&document.outcome);
            out.push_str(&format!(
                "<tr><td class=\"text\">{}</td><td><span class=\"tag {name}\">{name}</span></td>\
                 <td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n",
                address(&document.address),
                document.distance.map(|it| it.to_string()).unwrap_or_default(),
                document.similarity.map(|it| format!("{it:.3}")).unwrap_or_default(),
                escape(document.reason.as_deref().unwrap_or_default()),
            ));
        }
        out.push_str("</tbody></table></div>\n");
        let more = self.size.saturating_sub(self.documents.len() as u64);
        if more > 0 {
            out.push_str(&format!(
                "<p class=\"facts\">and {} more; groups.parquet has them all.</p>\n",
                grouped(more)
            ));
        }
        out.push_str("</details>\n");
    }
}
