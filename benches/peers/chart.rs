//! Cost against size as a picture: docs/images/cost.svg.

use std::fmt::Write;

use crate::peer::Figures;

/// Of a panel; the margin surrounds its lines.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 40.0;
const COLOURS: [&str; 2] = ["#b35900", "#1f6feb"];

/// A panel for each of these figures, with a line for each program. `runs` are by size.
pub fn svg(runs: &[(usize, Vec<Figures>)]) -> String {
    let panels = Figures::CHARTED;
    let (width, height) = (WIDTH * panels.len() as f64, HEIGHT + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (panel, (title, column)) in panels.into_iter().enumerate() {
        let left = WIDTH * panel as f64;
        push(
            &mut svg,
            format_args!("<text x=\"{}\" y=\"18\" font-weight=\"bold\">{title}</text>\n", left + MARGIN),
        );
        lines(&mut svg, left, runs, column);
    }
    let names = runs.first().map_or(&[][..], |(_, peers)| peers);
    for ((peer, colour), place) in names.iter().zip(COLOURS).zip(0..) {
        let x = MARGIN + 160.0 * f64::from(place);
        push(
            &mut svg,
            format_args!("<text x=\"{x}\" y=\"{}\" fill=\"{colour}\">{}</text>\n", HEIGHT + 22.0, peer.name),
        );
    }
    svg + "</svg>\n"
}

fn lines(svg: &mut String, left: f64, runs: &[(usize, Vec<Figures>)], column: usize) {
    let value =
        |peers: &[Figures], peer: usize| peers.get(peer).map_or(0.0, |figures| figures.values()[column]);
    let most = runs.iter().flat_map(|(_, peers)| [value(peers, 0), value(peers, 1)]).fold(0.0, f64::max);
    let largest = runs.iter().map(|(volumes, _)| *volumes).max().unwrap_or(1) as f64;
    let x = |volumes: usize| left + MARGIN + volumes as f64 / largest * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| HEIGHT - MARGIN - value / most * (HEIGHT - 2.5 * MARGIN);
    let (from, to, floor) = (x(0), left + WIDTH - MARGIN, y(0.0));
    push(svg, format_args!("<path d=\"M{from} {floor}H{to}\" stroke=\"#888\" fill=\"none\"/>\n"));
    for (volumes, _) in runs {
        let (x, y) = (x(*volumes), floor + 15.0);
        push(svg, format_args!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"middle\">{volumes}</text>\n"));
    }
    for (peer, colour) in COLOURS.into_iter().enumerate() {
        let mut path = String::new();
        for (volumes, peers) in runs {
            let (own, before) = (value(peers, peer), if path.is_empty() { 'M' } else { 'L' });
            let (x, point, other) = (x(*volumes), y(own), y(value(peers, 1 - peer)));
            push(&mut path, format_args!("{before}{x:.0} {point:.0}"));
            // of two that are close the lower one has its number under its line
            let is_under = point > other && point - other < 12.0;
            let (x, y, anchor) =
                if is_under { (x + 6.0, point + 8.0, "start") } else { (x, point - 6.0, "middle") };
            push(
                svg,
                format_args!(
                    "<text x=\"{x:.0}\" y=\"{y:.0}\" fill=\"{colour}\" text-anchor=\"{anchor}\">{}</text>\n",
                    short(own)
                ),
            );
        }
        push(
            svg,
            format_args!("<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"2\" fill=\"none\"/>\n"),
        );
    }
}

fn short(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("memory");
}
