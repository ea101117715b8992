//! The disks on a screen, in Markdown and on the page.

use std::io::{self, Write};

use super::{Capacity, DiskRoom};
use crate::check::{bytes, counted, plain};
use crate::facts::text::listed;
use crate::report::text::Style;

/// How many disks are shown where no one asked for all.
const MAX_DISKS: usize = 12;
/// What the columns say.
pub const HEAD: [&str; 6] = ["disk", "size", "free", "allocated", "limit", "can take"];

impl DiskRoom {
    /// Its row below [`HEAD`].
    pub fn row(&self) -> [String; 6] {
        let takes = match &self.refusal {
            Some(_) => "no".to_owned(),
            None => bytes(self.largest),
        };
        let name = format!("{}/{}", self.node, self.disk);
        [name, bytes(self.size), bytes(self.free), bytes(self.allocated), bytes(self.limit), takes]
    }
}

impl Capacity {
    /// What holds for all disks together, a sentence each.
    pub fn sums(&self) -> Vec<String> {
        let mut sums = Vec::new();
        if !self.replicas.is_empty() {
            let places: Vec<String> =
                self.replicas.iter().map(|place| format!("{}/{}", place.node, place.disk)).collect();
            sums.push(format!("Replicas can go to {}", listed(&places)));
        }
        let fits = self.largest.iter().filter(|one| one.size > 0);
        let largest: Vec<String> = fits
            .map(|one| format!("{} with {}", bytes(one.size), counted(one.replicas, "replica")))
            .collect();
        sums.push(match largest.as_slice() {
            [] => "No new volume fits".to_owned(),
            largest => format!("Largest new volume: {}", largest.join(", ")),
        });
        sums.extend(self.pace());
        sums
    }
}

/// A line a disk, and what they come to.
pub fn write(out: &mut dyn Write, capacity: &Capacity, style: Style, every: bool) -> io::Result<()> {
    writeln!(out)?;
    for sum in capacity.sums() {
        style.hang(out, "  ", "  ", &sum)?;
    }
    let shown = if every { capacity.disks.len() } else { MAX_DISKS };
    let rows: Vec<[String; 6]> = capacity.disks.iter().take(shown).map(DiskRoom::row).collect();
    let head = HEAD.map(str::to_owned);
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(&rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3, 4, 5].map(width);
    let line = |out: &mut dyn Write, row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{:<width$}", plain(cell)));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    line(out, &head)?;
    for (row, disk) in rows.iter().zip(&capacity.disks) {
        line(out, row)?;
        if let Some(refusal) = &disk.refusal {
            style.hang(out, "    ", "    ", refusal)?;
        }
    }
    match capacity.disks.len().checked_sub(rows.len()) {
        Some(more @ 1..) => writeln!(out, "  and {} (-v)", counted(more, "more disk")),
        _ => Ok(()),
    }
}
