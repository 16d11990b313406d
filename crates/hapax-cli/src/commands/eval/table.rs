//! A report for the terminal.

use crate::readable::count;
use comfy_table::{CellAlignment, Table, presets};
use hapax_eval::figure6::{ALIKE, Figure};
use hapax_eval::{Report, Run, Score};

/// All of it.
pub(super) fn table(report: &Report, cosine: Option<&Figure>) -> String {
    let truth = &report.truth;
    let mut out = format!(
        "{} documents · {} pairs of duplicates · {} of others{}\n\n",
        count(report.documents),
        count(truth.duplicates),
        count(truth.others),
        match truth.missing {
            0 => String::new(),
            some => format!(" · {} entries name no document", count(some)),
        }
    );
    out.push_str(&scores(report));
    let labels = labels(report);
    if !labels.is_empty() {
        out.push_str("\nin one group, by label\n");
        out.push_str(&labels);
    }
    if let Some(figure) = cosine {
        out.push_str(&format!(
            "\nall pairs of {} documents, {} with a cosine of {ALIKE} or more\n",
            count(figure.documents),
            count(figure.duplicates)
        ));
        out.push_str(&cosines(figure));
    }
    out
}

type Column = (&'static str, fn(&Run) -> Option<Score>);

const COLUMNS: [Column; 9] = [
    ("precision", |run| run.pairs.map(|it| it.precision)),
    ("recall", |run| run.pairs.map(|it| it.recall)),
    ("duplicates settled", |run| Some(run.settled)),
    ("F1", |run| run.pairs.map(|it| it.f1)),
    ("removed pairs >= 0.8", |run| run.removed_pairs.map(|it| it.from_80)),
    ("ARI", |run| run.group_scores.map(|it| it.adjusted_rand)),
    ("B-cubed precision", |run| run.group_scores.map(|it| it.b_cubed_precision)),
    ("B-cubed recall", |run| run.group_scores.map(|it| it.b_cubed_recall)),
    ("exact sets", |run| run.group_scores.map(|it| it.exact_sets)),
];

/// A block for each answer: scores below each other are compared more easily than side by side.
fn scores(report: &Report) -> String {
    let mut table = plain();
    let mut header = vec![String::new()];
    header.extend(report.runs.iter().map(Run::title));
    table.set_header(header);
    for (name, score) in COLUMNS {
        let cells: Vec<Option<Score>> =
            report.runs.iter().map(|run| score(run).filter(|it| it.of > 0)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.iter().map(|it| it.map_or("-".to_owned(), |it| it.to_string()));
            table.add_row(std::iter::once(name.to_owned()).chain(cells));
        }
    }
    let mut row = |name: &str, cell: &dyn Fn(&Run) -> String| {
        table.add_row(std::iter::once(name.to_owned()).chain(report.runs.iter().map(cell)));
    };
    row("removed", &|run| count(run.removed));
    row("removed pairs < 0.5", &|run| {
        run.removed_pairs.map_or("-".to_owned(), |it| count(it.below_half))
    });
    row("largest group", &|run| count(run.largest_group));
    row("member pairs beyond the bound", &|run| {
        run.beyond_bound.map_or("-".to_owned(), |it| format!("{:.2} %", 100.0 * it))
    });
    lines(table)
}

fn labels(report: &Report) -> String {
    let Some(first) = report.runs.first().filter(|run| run.labels.len() > 1) else {
        return String::new();
    };
    let mut table = plain();
    for (row, label) in first.labels.iter().enumerate() {
        let shares = report.runs.iter().map(|run| {
            let label = run.labels.get(row);
            label.map_or(String::new(), |it| {
                format!("{:.2} %", 100.0 * it.together as f64 / it.pairs.max(1) as f64)
            })
        });
        table.add_row([label.label.clone(), count(label.pairs)].into_iter().chain(shares));
    }
    lines(table)
}

fn cosines(figure: &Figure) -> String {
    let mut table = plain();
    table.set_header(["bits", "pairs", "mean cosine", "precision within", "recall within"]);
    for row in figure.rows.iter().filter(|row| row.distance <= 24) {
        table.add_row([
            row.distance.to_string(),
            count(row.pairs),
            format!("{:.3}", row.mean_cosine),
            format!("{:.3}", row.precision),
            format!("{:.3}", row.recall),
        ]);
    }
    lines(table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn lines(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}
