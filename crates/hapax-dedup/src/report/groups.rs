//! The largest groups: who stays, who goes, and why.

use hapax::group::Outcome;

use super::address;
use crate::decide::{Decision, Group};
use crate::html::{escape, grouped};
use crate::outputs::outcome_name;

/// Groups that are shown.
const MOST: usize = 12;
/// Documents of a group that are shown.
const MOST_DOCUMENTS: usize = 12;

pub(super) fn section(out: &mut String, decision: &Decision<'_>) {
    let mut groups: Vec<(usize, Group<'_, '_>)> =
        decision.groups().map(|group| (group.documents().count(), group)).collect();
    groups.sort_by_key(|(size, group)| (usize::MAX - size, group.winner()));
    out.push_str("<section>\n<h2>The largest groups</h2>\n");
    for (i, (size, group)) in groups.iter().take(MOST).enumerate() {
        let open = if i == 0 { " open" } else { "" };
        let pages = decision.pages();
        out.push_str(&format!(
            "<details class=\"group\"{open}><summary><b>{}</b> documents, of which stays \
             <span>{}</span></summary>\n<div class=\"scroll\"><table><thead><tr>\
             <th class=\"text\">document</th><th></th><th>bits</th><th>similarity</th>\
             <th class=\"text\">the winner stays because</th></tr></thead><tbody>\n",
            grouped(*size as u64),
            escape(pages.address(group.winner())),
        ));
        for page in group.documents().take(MOST_DOCUMENTS) {
            let verdict = decision.verdict(page);
            let reason = decision.reason(page).map(|it| it.to_string()).unwrap_or_default();
            let (distance, similarity) = match verdict.outcome {
                Outcome::Kept | Outcome::Redirect => (String::new(), String::new()),
                Outcome::Exact | Outcome::Near => {
                    (verdict.distance.to_string(), format!("{:.2}", verdict.similarity))
                }
            };
            let name = outcome_name(verdict.outcome);
            out.push_str(&format!(
                "<tr><td class=\"text\">{}</td><td><span class=\"tag {name}\">{name}</span></td>\
                 <td>{distance}</td><td>{similarity}</td><td class=\"text\">{}</td></tr>\n",
                address(pages.address(page)),
                escape(&reason),
            ));
        }
        out.push_str("</tbody></table></div>\n");
        if *size > MOST_DOCUMENTS {
            out.push_str(&format!(
                "<p class=\"facts\">and {} more; groups.parquet has them all.</p>\n",
                grouped((*size - MOST_DOCUMENTS) as u64)
            ));
        }
        out.push_str("</details>\n");
    }
    if groups.len() > MOST {
        let more = grouped((groups.len() - MOST) as u64);
        out.push_str(&format!("<p class=\"facts\">and {more} more groups.</p>\n"));
    }
    out.push_str("</section>\n");
}
