//! Places panels on Grafana's grid of 24 columns, in reading order.

use super::model::GridPos;
use crate::check::{Panel, PanelKind, Width};

const COLUMNS: u32 = 24;

/// The next free place.
#[derive(Debug, Default)]
pub struct Grid {
    x: u32,
    y: u32,
    line_height: u32,
    last_id: u32,
}

impl Grid {
    /// The next id, unique in the dashboard.
    pub fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    /// A heading over the whole width.
    pub fn row(&mut self) -> GridPos {
        self.break_line();
        let place = GridPos { h: 1, w: COLUMNS, x: 0, y: self.y };
        self.y += 1;
        place
    }

    /// The place of a panel.
    pub fn place(&mut self, panel: &Panel) -> GridPos {
        let (w, h) = (columns(panel.width), height(panel.kind));
        // panels of different heights do not share a line, so that nothing overlaps or gapes
        if self.x + w > COLUMNS || (self.x > 0 && h != self.line_height) {
            self.break_line();
        }
        let place = GridPos { h, w, x: self.x, y: self.y };
        self.x += w;
        self.line_height = h;
        place
    }

    fn break_line(&mut self) {
        if self.x > 0 {
            self.y += self.line_height;
        }
        (self.x, self.line_height) = (0, 0);
    }
}

fn columns(width: Width) -> u32 {
    match width {
        Width::Sixth => 4,
        Width::Quarter => 6,
        Width::Third => 8,
        Width::Half => 12,
        Width::Full => 24,
    }
}

fn height(kind: PanelKind) -> u32 {
    match kind {
        PanelKind::Stat => 4,
        PanelKind::TimeSeries | PanelKind::StateTimeline | PanelKind::Table | PanelKind::BarGauge => 8,
    }
}
