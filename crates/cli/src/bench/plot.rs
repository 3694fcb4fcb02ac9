//! Lines over time, one below the other.

use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 110.0;
const GAP: f64 = 24.0;

/// A number over time.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// Seconds, and what it was.
    pub(super) points: Vec<(f64, f64)>,
}

/// A picture of lines over the same time, with a mark at each of these seconds.
pub(super) fn draw(lines: &[Line], marks: &[f64]) -> String {
    let ends = lines.iter().flat_map(|it| &it.points).map(|(x, _)| *x);
    let end = ends.fold(1.0, f64::max);
    let height = lines.iter().fold(GAP, |sum, _| sum + HEIGHT + GAP);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{height}" font-family="sans-serif" font-size="12">
<rect width="{0}" height="{height}" fill="white"/>
"#,
        LEFT + WIDTH + GAP,
    );
    let x = |second: f64| LEFT + second / end * WIDTH;
    let mut top = GAP;
    for line in lines {
        let most = line.points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
        let scale = if most > 0.0 { most } else { 1.0 };
        let y = |value: f64| top + HEIGHT - value / scale * HEIGHT;
        for mark in marks {
            add(
                &mut svg,
                &format!(
                    r##"<line x1="{0:.1}" x2="{0:.1}" y1="{top}" y2="{1}" stroke="#d33" stroke-dasharray="2 3"/>"##,
                    x(*mark),
                    top + HEIGHT,
                ),
            );
        }
        add(
            &mut svg,
            &format!(
                r##"<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#bbb"/>"##,
            ),
        );
        add(&mut svg, &format!(r#"<text x="8" y="{}">{}</text>"#, top + 14.0, line.name));
        add(&mut svg, &format!(r#"<text x="8" y="{}">{most:.1} {}</text>"#, top + 30.0, line.unit));
        let points: Vec<String> =
            line.points.iter().map(|(at, it)| format!("{:.1},{:.1}", x(*at), y(*it))).collect();
        add(
            &mut svg,
            &format!(
                r##"<polyline fill="none" stroke="#26c" stroke-width="1.5" points="{}"/>"##,
                points.join(" "),
            ),
        );
        top += HEIGHT + GAP;
    }
    add(
        &mut svg,
        &format!(r#"<text x="{LEFT}" y="{}">{end:.0} seconds; red: killed</text>"#, top - 6.0),
    );
    svg + "</svg>\n"
}

fn add(svg: &mut String, line: &str) {
    writeln!(svg, "{line}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_scaled_to_its_most() {
        let line = Line { name: "rate", unit: "/s", points: vec![(0.0, 5.0), (10.0, 10.0)] };
        let svg = draw(&[line], &[5.0]);
        assert!(svg.contains(r#"points="110.0,79.0 1010.0,24.0""#), "{svg}");
        assert!(svg.contains(r#"<line x1="560.0""#), "{svg}");
    }
}
