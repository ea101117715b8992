//! Places panels on Grafana's grid of 24 columns, in reading order.

use serde::Serialize;

use crate::check::{Panel, PanelKind, Width};

const COLUMNS: u32 = 24;

#[derive(Debug, Clone, Copy, Serialize)]
pub struct GridPos {
    h: u32,
    w: u32,
    x: u32,
    y: u32,
}

#[derive(Debug, Default)]
pub struct Grid {
    y: u32,
    last_id: u32,
}

impl Grid {
    /// The next id, unique in the dashboard.
    pub fn next_id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    pub fn row(&mut self) -> GridPos {
        let place = GridPos { h: 1, w: COLUMNS, x: 0, y: self.y };
        self.y += 1;
        place
    }

    /// The places of panels that follow each other. A line holds panels of one height, so that
    /// nothing overlaps, and is stretched to the whole width, so that nothing gapes.
    pub fn places(&mut self, panels: &[&Panel]) -> Vec<GridPos> {
        let mut places = Vec::with_capacity(panels.len());
        let mut rest = panels;
        while let Some(first) = rest.first() {
            let h = height(first.kind);
            let mut used = 0;
            let fits = |panel: &&&Panel| {
                used += columns(panel.width);
                used <= COLUMNS && height(panel.kind) == h
            };
            // the first fits always: no panel is wider than the grid
            let (line, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            places.extend(self.line(line, h));
            rest = after;
        }
        places
    }

    fn line(&mut self, line: &[&Panel], h: u32) -> Vec<GridPos> {
        let total: u32 = line.iter().map(|panel| columns(panel.width)).sum();
        let (mut declared, mut x) = (0, 0);
        let mut places = Vec::with_capacity(line.len());
        for panel in line {
            declared += columns(panel.width);
            let end = COLUMNS * declared / total;
            places.push(GridPos { h, w: end - x, x, y: self.y });
            x = end;
        }
        self.y += h;
        places
    }
}

fn columns(width: Width) -> u32 {
    match width {
        Width::Sixth => 4,
        Width::Quarter => 6,
        Width::Third => 8,
        Width::Half => 12,
        Width::Full => COLUMNS,
    }
}

fn height(kind: PanelKind) -> u32 {
    match kind {
        PanelKind::Stat => 4,
        PanelKind::TimeSeries | PanelKind::StateTimeline | PanelKind::Table | PanelKind::BarGauge => 8,
    }
}
