//! A scene as SVG: plain paths and texts, which every viewer shows alike.

use std::fmt::Write as _;

use crate::{
    paint::{INCIDENT, TAKEN, TOKEN, VISIT},
    scene::{About, Anchor, Color, FAINT, INK, Mark, Path, RIM, Scene, Step, WHITE},
};

/// The fonts that are asked for. Their letters are about as wide as `text` says.
const FONTS: &str = "'Noto Sans', 'Segoe UI', Helvetica, Arial, 'Liberation Sans', sans-serif";

/// The scene as a document.
pub(crate) fn write(scene: &Scene) -> String {
    written(scene, Style::Plain)
}

/// The scene as a part of a page: its colours are variables of the page's style, and each element says what it is.
pub(crate) fn write_for_page(scene: &Scene) -> String {
    written(scene, Style::Page)
}

/// What the document is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Page,
}

fn written(scene: &Scene, style: Style) -> String {
    let mut out = String::new();
    put(&mut out, scene, style).expect("a string takes every text");
    out
}

fn put(out: &mut String, scene: &Scene, style: Style) -> std::fmt::Result {
    let bounds = scene.bounds;
    let (x, y) = (number(bounds.x), number(bounds.y));
    let (width, height) = (number(bounds.width), number(bounds.height));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{x} {y} {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"{FONTS}\" fill=\"none\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\">"
    )?;
    if style == Style::Plain {
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
        )?;
    }
    for mark in &scene.marks {
        put_mark(out, mark, style)?;
    }
    out.push_str("</svg>\n");
    Ok(())
}

fn put_mark(out: &mut String, mark: &Mark, style: Style) -> std::fmt::Result {
    let hex = |it: Color| color(it, style);
    match mark {
        Mark::Open { id, class, about } => {
            write!(out, "<g class=\"{}\" data-element=\"{}\"", escape(class), escape(id))?;
            if let (Some(about), Style::Page) = (about, style) {
                let About { label, tokens, visits, incidents } = about;
                write!(out, " role=\"button\" aria-label=\"{}\"", escape(label))?;
                write!(out, " data-tokens=\"{tokens}\" data-entered=\"{visits}\"")?;
                write!(out, " data-incidents=\"{incidents}\"")?;
            }
            writeln!(out, ">")
        }
        Mark::Close => writeln!(out, "</g>"),
        Mark::Path { path, fill, stroke } => {
            write!(out, "<path d=\"{}\"", data(path))?;
            if let Some(fill) = fill {
                write!(out, " fill=\"{}\"", hex(*fill))?;
            }
            if let Some(stroke) = stroke {
                let (color, width) = (hex(stroke.color), number(stroke.width));
                write!(out, " stroke=\"{color}\" stroke-width=\"{width}\"")?;
                let lengths: Vec<String> =
                    stroke.dash.lengths().iter().map(|it| number(*it)).collect();
                if !lengths.is_empty() {
                    write!(out, " stroke-dasharray=\"{}\"", lengths.join(" "))?;
                }
            }
            writeln!(out, "/>")
        }
        Mark::Text { text, at, size, color, anchor, bold, upwards, rim } => {
            let (x, y) = (number(at.x), number(at.y));
            write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", number(*size))?;
            write!(out, " fill=\"{}\"", hex(*color))?;
            match anchor {
                Anchor::Start => {}
                Anchor::Middle => write!(out, " text-anchor=\"middle\"")?,
            }
            if *bold {
                write!(out, " font-weight=\"bold\"")?;
            }
            if *rim {
                let paper = hex(WHITE);
                write!(out, " stroke=\"{paper}\" stroke-width=\"{RIM}\" paint-order=\"stroke\"")?;
            }
            if *upwards {
                write!(out, " transform=\"rotate(-90 {x} {y})\"")?;
            }
            writeln!(out, ">{}</text>", escape(text))
        }
    }
}

fn data(path: &Path) -> String {
    let mut data = String::new();
    for step in &path.0 {
        let (letter, points) = match step {
            Step::Move(to) => ('M', vec![to]),
            Step::Line(to) => ('L', vec![to]),
            Step::Curve(one, two, to) => ('C', vec![one, two, to]),
            Step::Close => ('Z', Vec::new()),
        };
        data.push(letter);
        let numbers: Vec<String> =
            points.iter().map(|it| format!("{} {}", number(it.x), number(it.y))).collect();
        data.push_str(&numbers.join(" "));
    }
    data
}

/// A number with two digits after the point, where they are needed.
fn number(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The colour; on a page a variable named after what it is for, so that pages can be dark.
fn color(it: Color, style: Style) -> String {
    let Color(red, green, blue) = it;
    let plain = format!("#{red:02x}{green:02x}{blue:02x}");
    if style == Style::Plain {
        return plain;
    }
    let name = match it {
        INK => "ink",
        WHITE => "paper",
        FAINT => "faint",
        TAKEN => "taken",
        TOKEN => "token",
        VISIT => "visit",
        INCIDENT => "incident",
        // The model says it.
        _ => return plain,
    };
    format!("var(--tv-{name}, {plain})")
}

/// The text as XML takes it. What XML cannot hold at all is left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(2.504), "2.5");
        assert_eq!(number(100.0), "100");
    }

    #[test]
    fn texts_cannot_break_out() {
        assert_eq!(escape("<a b=\"&\">\u{1}"), "&lt;a b=&quot;&amp;&quot;&gt;");
    }
}
