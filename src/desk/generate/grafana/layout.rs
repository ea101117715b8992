//! Places panels on Grafana's grid of 24 columns, in reading order.

use serde::Serialize;

use crate::check::{Panel, PanelKind};

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
    /// The next free line.
    pub y: u32,
    last_id: u32,
}

impl Grid {
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
            let (h, mut used) = (height(first.kind), 0);
            let fits = |panel: &&&Panel| {
                used += panel.width as u32;
                used <= COLUMNS && height(panel.kind) == h
            };
            // the first fits always: no panel is wider than the grid
            let (line, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let total: u32 = line.iter().map(|panel| panel.width as u32).sum();
            let (mut declared, mut x) = (0, 0);
            for panel in line {
                declared += panel.width as u32;
                let end = COLUMNS * declared / total;
                places.push(GridPos { h, w: end - x, x, y: self.y });
                x = end;
            }
            self.y += h;
            rest = after;
        }
        places
    }
}

fn height(kind: PanelKind) -> u32 {
    if kind == PanelKind::Stat { 4 } else { 8 }
}
